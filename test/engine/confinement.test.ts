import { execFileSync } from 'node:child_process';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import { createScriptedProvider } from '../../src/testing.ts';

const isConfinable = canConfine();
if (!isConfinable) console.log('skipped: bwrap cannot confine programs here');

let root = '';
beforeEach(async () => void (root = await realpath(await mkdtemp(join(tmpdir(), 'vibe-confined-')))));
afterEach(async () => await rm(root, { recursive: true, force: true }));

function canConfine(): boolean {
  try {
    execFileSync('bwrap', ['--ro-bind', '/', '/', '--unshare-all', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function runCommand(command: string, sandbox: 'on' | 'auto', path = process.env['PATH']): Promise<string> {
  const provider = createScriptedProvider({
    script: [{ tool_calls: [{ id: '1', name: 'bash', input: { command } }] }, { text: 'done' }],
  });
  await using engine = await createEngine({
    root,
    provider,
    configDir: join(root, 'no-user-folder'),
    config: { security: { sandbox } },
    env: { ...process.env, PATH: path },
  });
  const { messages } = await engine.run('coder', 'go').outcome;
  const result = messages[2]?.content[0];
  return result?.type === 'tool_result' ? result.content : '';
}

describe.skipIf(!isConfinable)('with `security.sandbox = "on"`', () => {
  test('a command works in the workspace and sees no home folder', async () => {
    await writeFile(join(root, 'a.txt'), 'inside');

    const output = await runCommand('cat a.txt && echo new > b.txt && cat b.txt && ls -a ~ | wc -l', 'on');

    expect(output).toContain('inside');
    expect(output).toContain('new');
    expect(output).toMatch(/\n2\n/);
  });
});

test('without a backend `on` runs nothing and names the way out, `auto` runs unconfined', async () => {
  const empty = join(root, 'empty');

  expect(await runCommand('echo ran', 'on', empty)).toMatch(/cannot be confined here.*install bubblewrap/);
  expect(await runCommand('echo ran', 'auto', empty)).toContain('ran');
});
