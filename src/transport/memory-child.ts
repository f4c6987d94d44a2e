import { PassThrough, type Readable, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { messageOf } from '../protocol/error.ts';
import type { Child, ChildExit } from './child.ts';
import { settlesWithin } from './settles-within.ts';

/** What a program is given that runs in this process: the two ends of its pipes. It has ended when it settles. */
export type ServeStreams = (streams: { readonly input: Readable; readonly output: Writable }) => Promise<void>;

/** Something at the other end of two pipes: a process, or a function in this one, which has no pid. */
export type PipedProgram = Omit<Child, 'pid' | 'kill'> & { readonly pid: number | undefined };

/**
 * Runs a function as if it were a program: what it rejects with becomes its last line on stderr and exit code 1. Nothing can
 * kill it: one that goes on after its time loses its pipes, and counts as ended by SIGKILL.
 */
export function openMemoryChild(serve: ServeStreams, onStderrLine: (line: string) => void): PipedProgram {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderrLines: string[] = [];
  let exit: ChildExit | undefined;
  let leave: (status: ChildExit) => void = () => {};
  const exited = new Promise<ChildExit>((resolve) => {
    leave = (status) => {
      exit ??= status;
      resolve(exit);
    };
  });
  // why: as with a real pipe, who writes learns of a broken one from the write callback
  stdin.on('error', () => {});

  async function run(): Promise<void> {
    try {
      await serve({ input: stdin, output: stdout });
      leave({ code: 0, signal: null });
    } catch (error) {
      const line = messageOf(error);
      stderrLines.push(line);
      onStderrLine(line);
      leave({ code: 1, signal: null });
    }
  }

  async function close(): Promise<ChildExit> {
    const status = await exited;
    if (status.signal === null && !stdout.destroyed) {
      stdout.end();
      await finished(stdout, { writable: false }).catch(() => {}); // a reader that is gone needs nothing more
    }
    stdin.destroy();
    stdout.destroy();
    return status;
  }

  const closed = close();
  void run(); // never rejects: a failure is an exit code
  return {
    pid: undefined,
    stdin,
    stdout,
    exited,
    closed,
    get exit() {
      return exit;
    },
    stderrTail: () => stderrLines,
    async stop({ exitGraceMs, onKill }) {
      if (!(await settlesWithin(exited, exitGraceMs))) {
        onKill?.();
        leave({ code: null, signal: 'SIGKILL' });
      }
      return await closed;
    },
  };
}
