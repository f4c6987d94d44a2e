import { createHash } from 'node:crypto';
import { mkdir, readdir, realpath, rm } from 'node:fs/promises';
import path from 'node:path';
import { isProgramFile } from '../transport/program-file.ts';
import { isSandboxFailure, toConfinedLine } from '../transport/sandbox.ts';
import type { SandboxProbe } from '../transport/sandbox-probe.ts';
import { toServerProfile } from '../transport/sandbox-profile.ts';
import type { ServerCommand } from './command.ts';
import { isServerName } from './record.ts';
import type { Sandbox, SandboxNeeds, SandboxPlan } from './sandbox.ts';

export interface NativeSandboxOptions {
  /** Finds out once what the system allows. */
  readonly probe: SandboxProbe;
  /** Below it each server has its own writable folder; created with mode 0700 when needed. Absolute. */
  readonly scratchRoot: string;
  /** The person's home folder. */
  readonly home: string;
  /** The environment of this process; `VIBE_MCP_SANDBOX=0` switches confinement off. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What package runners keep in the home folder and need to start a server (mcp-host 13.3). */
const caches = ['.npm', '.cache/uv', '.local/share/uv'];
const interpreters = ['node', 'python3'];

/** Confines servers by the means of the platform (mcp-host 13.3): bwrap on Linux, sandbox-exec on macOS. */
export function createNativeSandbox(options: NativeSandboxOptions): Sandbox {
  const { env, home } = options;

  async function plan(command: ServerCommand, extra: SandboxNeeds): Promise<SandboxPlan> {
    if (env['VIBE_MCP_SANDBOX'] === '0') return { kind: 'unconfined', reason: 'switched_off' };
    const write = await Promise.all(extra.write.map(canonical));
    if (write.includes(undefined)) return { kind: 'unconfined', reason: 'bind_target_missing' };
    const [program, read, found] = await Promise.all([
      canonical(command.program),
      Promise.all(extra.read.map(canonical)),
      findInterpreters(command.env['PATH'] ?? ''),
    ]);
    const profile = toServerProfile({
      scratch: await openScratch(path.join(options.scratchRoot, scratchName(extra))),
      home,
      // why: a launcher such as npx is a link into the folder its files lie in, so both ends must be visible
      programs: [command.program, ...present([program]), ...found],
      toolchain: caches.map((folder) => path.join(home, folder)),
      read: present(read),
      write: present(write),
    });
    const availability = await options.probe.check('server', profile);
    if (!availability.isAvailable) return { kind: 'unconfined', reason: availability.problem };
    const line = toConfinedLine(availability.backend, profile, command);
    return { kind: 'confined', backend: availability.backend, command: { ...command, ...line } };
  }

  return {
    plan,
    failedToStart: (exit) => isSandboxFailure(exit.exit_code, exit.stderr_tail),
    async forget(server) {
      if (!isServerName(server)) return;
      const kept = await readdir(options.scratchRoot).catch(() => []);
      const own = kept.filter((name) => name === server || name.startsWith(`${server}${tenantMark}`));
      await Promise.all(own.map((name) => rm(path.join(options.scratchRoot, name), { recursive: true, force: true })));
    },
  };
}

/** Not part of any server's name. */
const tenantMark = '@';

/** A folder per server and tenant; the tenant's own name may be any text. */
function scratchName({ server, tenant }: SandboxNeeds): string {
  if (tenant === undefined) return server;
  return `${server}${tenantMark}${createHash('sha256').update(tenant).digest('hex').slice(0, 32)}`;
}

async function openScratch(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return await realpath(folder);
}

/** The interpreters a script may be run by, as their real files; what is not on the PATH is left out. */
async function findInterpreters(searchPath: string): Promise<readonly string[]> {
  const found = await Promise.all(interpreters.map((name) => findOnPath(name, searchPath)));
  return present(found);
}

async function findOnPath(name: string, searchPath: string): Promise<string | undefined> {
  for (const folder of searchPath.split(path.delimiter)) {
    const file = path.join(folder, name);
    if (path.isAbsolute(file) && (await isProgramFile(file))) return await canonical(file);
  }
  return undefined;
}

async function canonical(file: string): Promise<string | undefined> {
  return await realpath(file).catch(() => undefined);
}

function present(values: readonly (string | undefined)[]): readonly string[] {
  return values.filter((value) => value !== undefined);
}
