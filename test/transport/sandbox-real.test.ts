import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openChild } from '../../src/transport/child.ts';
import { toConfinedLine } from '../../src/transport/sandbox.ts';
import { createSandboxProbe } from '../../src/transport/sandbox-probe.ts';
import { type SandboxProfile, toCommandProfile, toServerProfile } from '../../src/transport/sandbox-profile.ts';

const env = { PATH: '/usr/local/bin:/usr/bin:/bin' };
const base = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-')));
const workspace = join(base, 'workspace');
const scratch = join(base, 'scratch');
const node = realpathSync(process.execPath);

for (const folder of [join(workspace, '.vibe'), join(workspace, '.git/hooks'), scratch, join(base, 'home')]) {
  mkdirSync(folder, { recursive: true });
}
const gitConfig = '[core]\n\tbare = false\n';
writeFileSync(join(workspace, '.git/config'), gitConfig);
writeFileSync(join(base, 'home/secret'), 'secret');

const home = join(base, 'home');
const server = toServerProfile({ scratch, home, programs: [node] });
const command = toCommandProfile({ workspace, cwd: workspace, home, network: false, programs: [node] });

const probe = createSandboxProbe({ platform: process.platform, env });
const availability = { server: await probe.check('server', server), command: await probe.check('command', command) };
for (const [kind, answer] of Object.entries(availability)) {
  if (!answer.isAvailable)
    process.stderr.write(`skipped: ${kind} cannot be confined (${answer.problem}: ${answer.detail})\n`);
}

afterAll(() => rmSync(base, { recursive: true, force: true }));

async function run(
  profile: SandboxProfile,
  script: string,
): Promise<{ code: number | null; output: string; errors: readonly string[] }> {
  const line = toConfinedLine('bwrap', profile, { program: '/bin/sh', args: ['-c', script] });
  const child = await openChild({ ...line, cwd: '/', env });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stdin.end();
  const { code } = await child.closed;
  return { code, output: output.trim(), errors: child.stderrTail() };
}

test('the probe asks the system once for each kind of profile', async () => {
  const first = probe.check('server', server);

  expect(probe.check('server', server)).toBe(first);
});

test('a backend that is not there is a missing backend', async () => {
  const answer = await createSandboxProbe({ platform: 'linux', env: { PATH: scratch } }).check('server', server);

  expect(answer).toMatchObject({ isAvailable: false, problem: 'backend_missing' });
});

test('a system without confinement says so', async () => {
  const answer = await createSandboxProbe({ platform: 'win32', env }).check('server', server);

  expect(answer).toMatchObject({ isAvailable: false, problem: 'unsupported_platform' });
});

describe.skipIf(!availability.server.isAvailable)('an MCP server inside bwrap', () => {
  test('starts in its scratch folder, which is its home and writable', async () => {
    const { output } = await run(server, 'pwd; echo "$HOME $TMPDIR"; echo x > file');

    expect(output.split('\n')).toEqual([scratch, `${scratch} ${scratch}`]);
    expect(readFileSync(join(scratch, 'file'), 'utf8')).toBe('x\n');
  });

  test('sees neither the home folder nor the rest of /etc, and writes nowhere else', async () => {
    const { output } = await run(
      server,
      `cat '${home}/secret' 2>/dev/null || echo hidden; cat /etc/shadow 2>/dev/null || echo hidden; echo x 2>/dev/null > /usr/x || echo refused; echo x > /tmp/inside`,
    );

    expect(output.split('\n')).toEqual(['hidden', 'hidden', 'refused']);
    expect(existsSync('/tmp/inside')).toBe(false);
  });

  test('runs node and reaches the network', async () => {
    await using http = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    await once(http, 'listening');
    const address = http.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const script = `fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(console.log)`;

    const { output } = await run(server, `'${node}' -e "${script}"`);

    expect(output).toBe('hello');
  });

  test('a writable folder that is missing breaks the start before the program runs', async () => {
    const broken = toServerProfile({ scratch, home, programs: [], write: [join(base, 'missing')] });

    const answer = await createSandboxProbe({ platform: 'linux', env }).check('server', broken);

    expect(answer).toMatchObject({ isAvailable: false, problem: 'bind_target_missing' });
  });

  test('its descendants end with it, also those that left its group', async () => {
    const script = 'setsid sh -c "echo up; exec sleep 600" & wait';
    const line = toConfinedLine('bwrap', server, { program: '/bin/sh', args: ['-c', script] });
    const child = spawn(line.program, [...line.args], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');

    child.kill('SIGKILL');

    // The pipe ends when its last holder is gone, and that is the one that sleeps.
    await expect(once(child, 'close')).resolves.toEqual([null, 'SIGKILL']);
  });
});

describe.skipIf(!availability.command.isAvailable)('a command inside bwrap', () => {
  test('works in the workspace and nowhere else', async () => {
    const { output } = await run(
      command,
      `pwd; echo y > made; cat '${home}/secret' 2>/dev/null || echo hidden; echo x 2>/dev/null > '${base}/x' || echo refused`,
    );

    expect(output.split('\n').slice(0, 2)).toEqual([workspace, 'hidden']);
    expect(readFileSync(join(workspace, 'made'), 'utf8')).toBe('y\n');
    expect(existsSync(join(base, 'x'))).toBe(false);
  });

  test('cannot write to the engine’s files, to hooks or to what git obeys, nor put another folder in their place', async () => {
    const { output } = await run(
      command,
      `for f in .vibe/config.toml .git/hooks/pre-commit .git/config; do (echo x >> "$f") 2>/dev/null || echo refused; done
      for f in .git .vibe .git/hooks .git/config; do mv "$f" away 2>/dev/null || echo stays; rm -rf "$f" 2>/dev/null || echo stays; done`,
    );

    expect(output.split('\n')).toEqual([...Array<string>(3).fill('refused'), ...Array<string>(8).fill('stays')]);
    expect(readFileSync(join(workspace, '.git/config'), 'utf8')).toBe(gitConfig);
  });

  test('may still write what git writes with every commit', async () => {
    const { output } = await run(command, 'echo x > .git/index && mkdir -p .git/objects/aa && cat .git/index');

    expect(output).toBe('x');
  });

  test('reaches the network only when it is permitted', async () => {
    await using http = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    await once(http, 'listening');
    const address = http.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const script = `fetch('http://127.0.0.1:${port}').then((r) => r.text()).then(console.log, () => console.log('unreachable'))`;
    const open = toCommandProfile({ workspace, cwd: workspace, home, network: true, programs: [node] });

    const answers = [await run(command, `'${node}' -e "${script}"`), await run(open, `'${node}' -e "${script}"`)];

    expect(answers.map(({ output }) => output)).toEqual(['unreachable', 'hello']);
  });

  test('has a folder for temporary files of its own, and reads no secrets of the system', async () => {
    const { output } = await run(
      command,
      'echo x > /tmp/inside && cat /tmp/inside; cat /etc/shadow 2>/dev/null || echo hidden; ls -A /home /root 2>/dev/null | grep -v : | wc -l; echo $HOME',
    );

    expect(output.replaceAll(/ +/g, '').split('\n')).toEqual(['x', 'hidden', expect.any(String), '/tmp/home']);
    expect(existsSync('/tmp/inside')).toBe(false);
  });

  test('has no network of the machine, no capabilities and cannot make namespaces', async () => {
    const { output } = await run(
      command,
      'ls /sys/class/net 2>/dev/null; grep CapEff /proc/self/status; unshare -U true 2>/dev/null || echo refused',
    );

    expect(output).toMatch(/CapEff:\s+0{16}/);
    expect(output).toContain('refused');
    expect(output).not.toContain('eth0');
  });
});
