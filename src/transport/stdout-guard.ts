import { Writable } from 'node:stream';

export interface StdoutGuard {
  /** The real stdout. */
  readonly stream: Writable;
  /** Gives `process.stdout` back. */
  release(): void;
}

/**
 * Keeps stdout for a protocol: what anything else in the process writes to `process.stdout`, `console.log` included, goes
 * to stderr until it is released.
 */
export function takeOverStdout(): StdoutGuard {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string | Uint8Array, _encoding, done) => void write(chunk, done),
  });
  stdout.on('error', (error) => stream.destroy(error));
  stdout.write = stderr.write.bind(stderr);
  return {
    stream,
    release() {
      stdout.write = write;
    },
  };
}
