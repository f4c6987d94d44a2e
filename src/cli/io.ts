import { createInterface } from 'node:readline';
import type { Environment } from '../store/paths.ts';

/** What a command may touch of the process; a value so that commands can be called from elsewhere too. */
export interface CliIo {
  /** Standard output; swallowed once the reader has gone away. */
  out(text: string): void;
  /** Standard error: errors, warnings, questions. */
  err(text: string): void;
  /** Whether standard output is a terminal: live output, colours. */
  readonly isTerminal: boolean;
  /** Whether a question can be asked and answered. */
  readonly canAsk: boolean;
  readonly hasColors: boolean;
  /** Width of the terminal; 100 without one. */
  readonly columns: number;
  readonly env: Environment;
  readonly cwd: string;
  /** Asks on the terminal; the empty text when input ends, the question is interrupted or the signal takes it back. */
  ask(question: string, signal?: AbortSignal): Promise<string>;
  /** Calls `handler` for each Ctrl-C (or TERM) instead of ending the process; returns the way back. */
  onInterrupt(handler: () => void): () => void;
  /** Aborts when the reader of standard output has gone away: nobody waits for more. */
  readonly readerGone: AbortSignal;
}

/** The real thing. Call once per process. */
export function openProcessIo(): CliIo {
  const gone = new AbortController();
  const onPipeError = (error: NodeJS.ErrnoException): void => {
    // EPIPE: `vibe-bus … | head` is a normal end, not a failure
    gone.abort(error);
  };
  process.stdout.on('error', onPipeError);
  process.stderr.on('error', () => {}); // as above, but nobody waits for errors alone

  return {
    out(text) {
      if (!gone.signal.aborted) process.stdout.write(text);
    },
    err: (text) => void process.stderr.write(text),
    isTerminal: process.stdout.isTTY === true,
    canAsk: process.stdin.isTTY === true && process.stderr.isTTY === true,
    hasColors: hasColors(process.env, process.stdout),
    columns: process.stdout.columns ?? 100,
    env: process.env,
    cwd: process.cwd(),
    ask,
    onInterrupt(handler) {
      process.on('SIGINT', handler);
      process.on('SIGTERM', handler);
      return () => {
        process.off('SIGINT', handler);
        process.off('SIGTERM', handler);
      };
    },
    readerGone: gone.signal,
  };
}

function ask(question: string, signal?: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    let answer = '';
    const takeBack = (): void => lines.close();
    signal?.addEventListener('abort', takeBack, { once: true });
    lines.on('SIGINT', () => lines.close());
    lines.on('close', () => {
      signal?.removeEventListener('abort', takeBack);
      resolve(answer);
    });
    lines.question(question, (text) => {
      answer = text;
      lines.close();
    });
  });
}

/** NO_COLOR and FORCE_COLOR as everywhere; else what the terminal can do. */
function hasColors(env: Environment, stream: NodeJS.WriteStream): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  if ((env['FORCE_COLOR'] ?? '') !== '') return env['FORCE_COLOR'] !== '0';
  return stream.isTTY === true && stream.hasColors();
}
