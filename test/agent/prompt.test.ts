import { describe, expect, test } from 'vitest';
import {
  appendAugmentations,
  placeholdersOf,
  readPromptFile,
  render,
  renderSystemPrompt,
  toPromptVariables,
} from '../../src/agent/prompt.ts';

describe('render', () => {
  test('inserts a value as it is, whatever it looks like', () => {
    const value = "{{other}} $& $` $' $$ }} {{";

    expect(render('[{{a}}]', { a: value, other: 'no' })).toBe(`[${value}]`);
  });

  test('knows own names only', () => {
    const vars = JSON.parse('{"__proto__": "own"}') as { [name: string]: string };

    expect(render('{{toString}}{{constructor}}', {})).toBe('');
    expect(render('{{__proto__}}', {})).toBe('');
    expect(render('{{__proto__}}', vars)).toBe('own');
  });

  test('reads a template of many open markers in one pass', () => {
    const template = '{{'.repeat(200_000);

    expect(render(template, {})).toBe(template);
    expect(placeholdersOf(template)).toEqual([]);
  });
});

describe('renderSystemPrompt', () => {
  test('strips the comment, fills in, trims', () => {
    expect(renderSystemPrompt('\n<!--\n- a: b\n-->\n\n {{a}} {{b}} \n', { a: ' x' })).toBe('x');
  });

  test('a comment that a value brings along is text', () => {
    expect(renderSystemPrompt('{{a}}', { a: '<!-- x --> y' })).toBe('<!-- x --> y');
  });
});

test('augmentations follow in order, trimmed, blank ones left out', () => {
  expect(appendAugmentations('S', [' a\n', '', null, undefined, '  ', 'b'])).toBe('S\n\na\n\nb');
});

test('every run has the four variables, and the caller wins', () => {
  const now = Date.UTC(2026, 0, 31, 23, 59);

  expect(toPromptVariables({ workspaceRoot: './w', now })).toEqual({
    task_title: '',
    task_description: '',
    workspace_root: './w',
    date: '2026-01-31',
  });
  expect(
    toPromptVariables({ task: { title: 't', description: 'd' }, workspaceRoot: '.', now }, { date: 'x', more: 'y' }),
  ).toEqual({ task_title: 't', task_description: 'd', workspace_root: '.', date: 'x', more: 'y' });
});

test('a prompt file that is missing names the role', () => {
  expect(() => readPromptFile('nobody')).toThrow(/^cannot read the prompt of `nobody`: ENOENT/);
});
