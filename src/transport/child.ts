import type { Readable, Writable } from 'node:stream';
import { EngineError } from '../protocol/error.ts';
import { isGroupAlive, signalGroup } from './process-group.ts';
import { settlesWithin } from './settles-within.ts';
import { createStderrReader, type StderrLimits } from './stderr.ts';
import { describeSpawnFailure } from './spawn-failure.ts';

export interface ChildOptions {
  /** Absolute path, or a bare name that is looked up on the PATH of `env`. */
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the child; nothing is added. */
  readonly env: Readonly<Record<string, string>>;
  /** Every stderr line, without its end, cut at the limit; called from spawn until `closed`. */
  readonly onStderrLine?: (line: string) => void;
  readonly stderr?: Partial<StderrLimits>;
  /** How long output may still arrive after the exit, in milliseconds. Default 250 (plugin-protocol 4.6). */
  readonly drainMs?: number;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StopLimits {
  /** Wait for the exit before the group is signalled, in milliseconds. */
  readonly exitGraceMs: number;
  /** Between SIGTERM and SIGKILL, in milliseconds. */
  readonly termGraceMs: number;
  /** Called when SIGTERM did not help either. */
  readonly onKill?: () => void;
}

/** A running program with three pipes, in a process group of its own. */
export interface Child {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Settles when the program itself has ended, whoever still holds its pipes. Never rejects. */
  readonly exited: Promise<ChildExit>;
  /** Settles when the group is gone, the output is read (or `drainMs` passed) and all pipes are released. Never rejects. */
  readonly closed: Promise<ChildExit>;
  readonly exit: ChildExit | undefined;
  /** The last stderr lines, oldest first. */
  stderrTail(): readonly string[];
  /** SIGKILL to the group now; the rest follows as after any exit. */
  kill(): void;
  /**
   * Waits for the exit, then SIGTERM, then SIGKILL, both to the whole group; settles like `closed`. Asking or ending the
   * input beforehand is the caller's part. A second call joins the first.
   */
  stop(limits: StopLimits): Promise<ChildExit>;
}

/** How long a group may need to vanish after SIGKILL, in milliseconds. */
const sweepMs = 1_000;

/**
 * Starts a program (no shell) in its own process group. Its stderr is read from the first byte to the last, so that it
 * never blocks on it. stdin errors are swallowed here; who writes learns of them from the write callback.
 * @throws EngineError `plugin`, code `start_failed`; the message is the system's text with its code
 */
export async function openChild(options: ChildOptions): Promise<Child> {
  // why: execa costs more to load than everything else here, and an engine without plugins never needs it
  const { execa } = await import('execa');
  const subprocess = startOrThrow(() =>
    execa(options.program, [...options.args], {
      cwd: options.cwd,
      env: { ...options.env },
      extendEnv: false,
      detached: process.platform !== 'win32',
      // why: with `cleanup` execa would install process-wide signal handlers
      cleanup: false,
      buffer: false,
      reject: false,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
      encoding: 'buffer',
      stripFinalNewline: false,
      verbose: 'none',
      windowsHide: true,
    }),
  );
  const { pid, stdin, stdout, stderr } = subprocess;
  if (pid === undefined) throw startError(await failureOf(subprocess));
  return superviseChild({ pid, stdin, stdout, stderr, process: subprocess }, options);
}

function startOrThrow<T>(start: () => T): T {
  try {
    return start();
  } catch (cause) {
    throw startError(cause);
  }
}

function startError(cause: unknown): EngineError {
  return new EngineError('plugin', describeSpawnFailure(cause), { code: 'start_failed', cause });
}

async function failureOf(attempt: PromiseLike<{ readonly cause?: unknown }>): Promise<unknown> {
  const result = await attempt;
  return result.cause ?? result;
}

interface Parts {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly process: {
    once(event: 'exit', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  };
}

function superviseChild(parts: Parts, options: ChildOptions): Child {
  const { pid, stdin, stdout, stderr } = parts;
  const lines = createStderrReader(stderr, options.onStderrLine ?? (() => {}), options.stderr);
  let exit: ChildExit | undefined;
  let stopping: Promise<ChildExit> | undefined;

  // why: an `error` nobody listens to ends the host; a closed pipe surfaces through the write callback and the exit
  stdin.on('error', () => {});

  const exited = new Promise<ChildExit>((resolve) => {
    parts.process.once('exit', (code, signal) => {
      exit = { code, signal };
      // why: at once, while the group id still belongs to what the child left behind
      if (process.platform !== 'win32') signalGroup(pid, 'SIGKILL');
      resolve(exit);
    });
  });

  const closed = exited.then(async (status) => {
    await settlesWithin(Promise.all([outputEnd(stdout), outputEnd(stderr)]), options.drainMs ?? 250);
    lines.end();
    for (const stream of [stdin, stdout, stderr]) stream.destroy();
    await sweepGroup(pid);
    return status;
  });

  async function climb(limits: StopLimits): Promise<ChildExit> {
    if (await settlesWithin(exited, limits.exitGraceMs)) return closed;
    // why: Windows has no SIGTERM, ending the tree is the only step there
    if (process.platform !== 'win32') {
      signalGroup(pid, 'SIGTERM');
      if (await settlesWithin(exited, limits.termGraceMs)) return closed;
    }
    limits.onKill?.();
    signalGroup(pid, 'SIGKILL');
    return closed;
  }

  return {
    pid,
    stdin,
    stdout,
    exited,
    closed,
    get exit() {
      return exit;
    },
    stderrTail: () => lines.tail(),
    kill: () => {
      if (exit === undefined) signalGroup(pid, 'SIGKILL');
    },
    stop: (limits) => (stopping ??= climb(limits)),
  };
}

/** Resolves when a stream can give no more data; a stream that failed has ended too. */
function outputEnd(stream: Readable): Promise<void> {
  if (stream.readableEnded || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('end', () => resolve());
    stream.once('close', () => resolve());
  });
}

/** SIGKILL until nothing of the group is left: a member may have forked while the first signal was on its way. */
async function sweepGroup(pid: number): Promise<void> {
  const started = performance.now();
  let waitMs = 1;
  while (isGroupAlive(pid) && performance.now() - started < sweepMs) {
    signalGroup(pid, 'SIGKILL');
    await delay(waitMs);
    waitMs = Math.min(waitMs * 2, 50);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
