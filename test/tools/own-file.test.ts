import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { truncate, writeTrace } from '../../src/tools/output.ts';
import { createOwnFile } from '../../src/tools/own-file.ts';
import { createWorkspace } from './workspace.ts';

describe.skipIf(process.platform === 'win32')('PC7: files the engine writes itself follow no link', () => {
  const newUuid = (): string => '11111111-2222-4333-8444-555555555555';

  test.each(['.vibe', '.vibe/tool-output'])('when %s is a link, a full output is not saved', async (planted) => {
    using workspace = createWorkspace();
    mkdirSync(dirname(join(workspace.root, planted)), { recursive: true });
    workspace.link(planted, workspace.outside);

    const shown = await truncate('x'.repeat(50), 50, { maxChars: 10, workspaceRoot: workspace.root, newUuid });

    expect(shown).toMatch(/^x{10}\n\n\[Output truncated: .* could not be saved: `[^`]+` is not a directory\]$/);
    expect(readdirSync(workspace.outside)).toEqual(['secret.txt']);
  });

  test('nor a trace in a folder of the workspace, at whatever depth the link lies', async () => {
    using workspace = createWorkspace();
    mkdirSync(join(workspace.root, 'a'));
    workspace.link('a/b', workspace.outside);
    const trace = { dir: join(workspace.root, 'a', 'b', 'c'), reference: '', maxChars: 100 };

    const written = writeTrace(workspace.root, trace, { call: 'one', content: 'text', characters: 4 });

    await expect(written).rejects.toThrow('`b` is not a directory');
    expect(readdirSync(workspace.outside)).toEqual(['secret.txt']);
  });

  test('nor when the file itself is one, dangling, hard or not', async () => {
    using workspace = createWorkspace();
    workspace.link('here.txt', join(workspace.outside, 'secret.txt'));
    workspace.link('gone.txt', join(workspace.outside, 'new.txt'));
    linkSync(join(workspace.outside, 'secret.txt'), join(workspace.root, 'hard.txt'));

    for (const name of ['here.txt', 'gone.txt', 'hard.txt']) {
      await expect(createOwnFile(workspace.root, workspace.root, name, 'text')).rejects.toThrow(/EEXIST|ELOOP/);
    }

    expect(readFileSync(join(workspace.outside, 'secret.txt'), 'utf8')).toBe('secret');
    expect(existsSync(join(workspace.outside, 'new.txt'))).toBe(false);
  });
});

test('a trace outside of the workspace, which only the embedder can name, makes its folders', async () => {
  using workspace = createWorkspace();
  const trace = { dir: join(workspace.outside, 'traces', 'today'), reference: 'today/', maxChars: 3 };

  const name = await writeTrace(workspace.root, trace, { call: 'one', content: 'text', characters: 4 });

  expect(name).toBe('today/one.txt');
  expect(readFileSync(join(trace.dir, 'one.txt'), 'utf8')).toBe(
    'tex\n[vibe: output cut to the first 3 of 4 characters]\n',
  );
});

test('a workspace that is itself reached by a link is no planted one', async () => {
  using workspace = createWorkspace();
  const spelled = `${workspace.root}-spelled`;
  symlinkSync(workspace.root, spelled);

  await createOwnFile(spelled, join(spelled, 'a', 'b'), 'x.txt', 'text');

  expect(readFileSync(join(workspace.root, 'a', 'b', 'x.txt'), 'utf8')).toBe('text');
});
