import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { createEngine } from '../../src/engine.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createSandboxProbe } from '../../src/transport/sandbox-probe.ts';
import { toServerProfile } from '../../src/transport/sandbox-profile.ts';
import { fixtures, modernScript, type Script, scriptedServer, tempFolder } from '../mcp/support.ts';

const trial = toServerProfile({ scratch: os.tmpdir(), home: os.homedir(), programs: [] });
const probe = createSandboxProbe({ platform: process.platform, env: { PATH: process.env['PATH'] ?? '' } });
const { isAvailable } = await probe.check('server', { ...trial, hidden: [], cwd: '/' });

/** Obeys nothing, and has a descendant in its group and one outside of it. */
const stubborn: Script = {
  ...modernScript(),
  start: [{ child: 'plain' }, { child: 'detached', ignoreTerm: true, stayAlive: true }],
  ignoreEnd: true,
};

/** Processes that carry a text in their environment. */
function withText(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const state = readFileSync(`/proc/${name}/stat`, 'latin1');
        return readFileSync(`/proc/${name}/environ`, 'latin1').includes(text) && !/\) [ZX]/.test(state);
      } catch {
        return false; // ended, or not ours
      }
    })
    .map(Number);
}

async function untilNone(text: string, limitMs: number): Promise<readonly number[]> {
  const deadline = performance.now() + limitMs;
  while (withText(text).length > 0 && performance.now() < deadline) await wait(20);
  return withText(text);
}

/** Starts an engine with two such servers and kills it. */
async function killEngine(env: Readonly<Record<string, string>>) {
  const marker = `MARK=${randomUUID()}`;
  const configDir = tempFolder();
  const records = ['one', 'two'].map((name) => ({
    ...scriptedServer(stubborn, { name }).record,
    env: { MARK: marker.slice(5) },
  }));
  onTestFinished(() => {
    for (const pid of withText(marker)) process.kill(pid, 'SIGKILL');
  });
  const engine = spawn(
    process.execPath,
    ['--import', 'tsx', path.join(fixtures, 'doomed-engine.ts'), configDir, JSON.stringify(records)],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } },
  );
  const [said] = (await once(engine.stdout, 'data')) as [Buffer];
  const before = withText(marker).length;
  engine.kill('SIGKILL');
  await once(engine, 'exit');
  return { marker, configDir, before, sandboxes: said.toString().trim() };
}

test.runIf(process.platform === 'linux' && isAvailable)(
  'servers of a killed engine are gone within 5 s when they were confined',
  async () => {
    const { marker, before, sandboxes } = await killEngine({});

    expect(sandboxes).toBe('["bwrap","bwrap"]');
    expect(before).toBeGreaterThanOrEqual(6);
    expect(await untilNone(marker, 5_000)).toEqual([]);
  },
);

test.runIf(process.platform === 'linux')(
  'servers of a killed engine are gone after the next start when they were not',
  async () => {
    const { marker, configDir, before, sandboxes } = await killEngine({ VIBE_MCP_SANDBOX: '0' });
    expect(sandboxes).toBe('["off","off"]');
    expect(before).toBeGreaterThanOrEqual(6);
    expect(withText(marker).length).toBeGreaterThan(0);

    await using _engine = await createEngine({
      bare: true,
      configDir,
      provider: createScriptedProvider({ script: [] }),
    });

    expect(await untilNone(marker, 1_000)).toEqual([]);
  },
);
