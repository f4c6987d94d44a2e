import { spawn } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cleanEnvironment, watch } from './cli/command.ts';

const root = path.join(import.meta.dirname, '..');

test('npm run demo shows a whole run without a key and leaves nothing behind', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', path.join('scripts', 'demo', 'main.ts')], {
    cwd: root,
    env: cleanEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { code, out, err } = await watch(child).finished;

  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('✗ bash rm -rf test src');
  expect(out).toMatch(/^what ran where\ncall +where +took +result\n/m);
  expect(out).toMatch(/^read_file src\/cart\.js +worker thread \d+ +\d+ ms +ok$/m);
  expect(out).toMatch(/^mcp__everything__get-sum .* process of mcp:everything +\d+ ms +ok$/m);
  expect(out).toMatch(/ 0 processes left running\n/);
}, 120_000);
