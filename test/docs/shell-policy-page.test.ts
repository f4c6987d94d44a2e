import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { blockedPrograms } from '../../src/tools/shell-judge.ts';
import { checkCommand } from '../../src/tools/shell-policy.ts';
import { shellLimits } from '../../src/tools/shell-syntax.ts';
import { shellRules } from '../../src/tools/shell-types.ts';

const page = readFileSync(path.join(import.meta.dirname, '../../docs/reference/shell-policy.md'), 'utf8');

test('the page has a line for each rule and no other', () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);

  expect(new Set(rows)).toEqual(new Set(shellRules));
  expect(rows).toHaveLength(shellRules.length);
});

test('the page lists the blocked programs and the limits of the code', () => {
  const { commands, levels, bytes } = shellLimits;

  expect(page).toContain(`Blocked programs: \`${blockedPrograms.join(' ')}\``);
  expect(page).toContain(`more than ${commands} commands, ${levels} levels or ${bytes / 1024} KiB`);
});

test('the examples give what the page says', () => {
  const options = { root: '/srv/project', network: false };

  expect(checkCommand('npm test | tail', options)).toEqual({ allow: true, programs: ['npm', 'tail'] });
  expect(page).toContain(JSON.stringify(checkCommand('rm -rf ../x', options)).slice(27, -2));
});
