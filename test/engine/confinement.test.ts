import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
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

  test('a script, which the policy does not read, writes nowhere else and reaches nobody', async () => {
    await using http = createServer((_, response) => response.end('reached')).listen(0, '127.0.0.1');
    await once(http, 'listening');
    const address = http.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const outside = await mkdtemp(join(tmpdir(), 'vibe-outside-'));
    await writeFile(
      join(root, 'x.cjs'),
      `const fs = require('node:fs');
      try { fs.writeFileSync(${JSON.stringify(join(outside, 'x'))}, 'x'); console.log('wrote'); } catch { console.log('refused'); }
      fetch('http://127.0.0.1:${port}').then(() => console.log('reached'), () => console.log('unreachable'));`,
    );

    const output = await runCommand(`${process.execPath} x.cjs`, 'on');

    expect(output).toContain('refused\nunreachable');
    expect(await readdir(outside)).toEqual([]);
    await rm(outside, { recursive: true });
  });

  test('commits work, and no hook can be planted in a repository that has none', async () => {
    execFileSync('git', ['init', '-q', '--template=', root]);
    execFileSync('git', ['-C', root, 'config', 'user.email', 'a@example.org']);
    execFileSync('git', ['-C', root, 'config', 'user.name', 'A']);
    await writeFile(
      join(root, 'x.sh'),
      `git add x.sh && git commit -qm one && git checkout -qb other && git log --oneline --all | wc -l
      mkdir -p .git/hooks; (echo x > .git/hooks/pre-commit) 2>/dev/null || echo refused`,
    );

    const output = await runCommand('sh x.sh', 'on');

    expect(output).toMatch(/1\nrefused/);
  });
});

test('without a backend `on` runs nothing and names the way out, `auto` runs unconfined', async () => {
  const empty = join(root, 'empty');

  expect(await runCommand('echo ran', 'on', empty)).toMatch(/cannot be confined here.*install bubblewrap/);
  expect(await runCommand('echo ran', 'auto', empty)).toContain('ran');
});
