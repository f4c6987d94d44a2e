import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buildCommandLine } from './built.ts';

export interface Finished {
  readonly code: number | null;
  readonly signal: string | null;
  readonly out: string;
  readonly err: string;
}

/** A project and a user folder of their own, and the real command line run in them. */
export interface Stage extends AsyncDisposable {
  readonly root: string;
  readonly configDir: string;
  /** Writes a file of the project, with its folders. */
  write(file: string, text: string): Promise<void>;
  /** The user's configuration. */
  configure(toml: string): Promise<void>;
  /** The command line, started. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): Started;
  /** The command line from start to end. */
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Finished>;
  /** Pids of processes a command of this stage started and that still run. */
  leftovers(): Promise<readonly string[]>;
}

export interface Started {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves when standard output and error together hold the text; rejects when the process ends without it. */
  said(text: string): Promise<void>;
}

export async function openStage(options: { readonly git?: boolean } = {}): Promise<Stage> {
  const main = await buildCommandLine();
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'cli-')));
  const root = path.join(folder, 'project');
  const configDir = path.join(folder, 'user');
  await mkdir(root);
  await mkdir(configDir);
  if (options.git !== false) await mkdir(path.join(root, '.git'));
  // inherited by everything that is started, so that whatever survives can be found
  const marker = randomUUID();

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: root,
      env: { ...cleanEnvironment(), VIBE_CONFIG_HOME: configDir, CLI_TEST_MARKER: marker, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return watch(child);
  }

  return {
    root,
    configDir,
    async write(file, text) {
      await mkdir(path.dirname(path.join(root, file)), { recursive: true });
      await writeFile(path.join(root, file), text);
    },
    configure: (toml) => writeFile(path.join(configDir, 'config.toml'), toml),
    start,
    run: async (args, env) => await start(args, env).finished,
    leftovers: async () => await findMarked(marker),
    async [Symbol.asyncDispose]() {
      for (const pid of await findMarked(marker)) process.kill(Number(pid), 'SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function watch(child: ChildProcess): Started {
  let out = '';
  let err = '';
  const waiting = new Set<() => void>();
  const check = (): void => {
    for (const look of waiting) look();
  };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    check();
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
    check();
  });
  const finished = once(child, 'close').then(([code, signal]): Finished => {
    return { code: code as number | null, signal: signal as string | null, out, err };
  });
  return {
    child,
    finished,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!out.includes(text) && !err.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
        void finished.then(() => reject(new Error(`ended without saying ${JSON.stringify(text)}:\n${out}\n${err}`)));
      }),
  };
}

/** The tests' own environment without what would change a command: keys, colours, levels. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) =>
      !/^(VIBE_|ANTHROPIC_|OPENAI_|NO_COLOR|FORCE_COLOR|NODE_OPTIONS|VITEST|CI$|TEAMCITY|TRAVIS|GITHUB_)/.test(name),
  );
  return Object.fromEntries(kept);
}

async function findMarked(marker: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^[0-9]+$/.test(pid)) continue;
    const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    if (environment.includes(marker)) found.push(pid);
  }
  return found;
}

/** A user configuration whose only model plays a script. */
export function scriptedConfig(script: readonly object[], more = ''): string {
  return `model = "scripted/script"
[providers.scripted]
kind = "mock"
extra = { script = ${toToml(script)} }
${more}`;
}

function toToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toToml).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${key} = ${toToml(item)}`)
    .join(', ')} }`;
}
