import type { CliIo } from '../../src/cli/io.ts';
import { createProgram, runCommandLine } from '../../src/cli/program.ts';
import type { Finished } from './command.ts';

/** The command line without a process of its own: for what needs no process, and many times faster. */
export async function callCommandLine(
  args: readonly string[],
  place: { readonly root: string; readonly configDir: string },
): Promise<Finished> {
  let out = '';
  let err = '';
  const io = createIo(
    place,
    (text) => void (out += text),
    (text) => void (err += text),
  );
  const code = await runCommandLine(args, io, '1.2.3');
  return { code, signal: null, out, err };
}

/** The commands as the table has them. */
export function commandTable(): ReturnType<typeof createProgram>['commands'] {
  const io = createIo(
    { root: '/', configDir: '/nonexistent' },
    () => {},
    () => {},
  );
  return createProgram(io, '1.2.3', () => {}).commands;
}

function createIo(
  place: { readonly root: string; readonly configDir: string },
  out: (text: string) => void,
  err: (text: string) => void,
): CliIo {
  return {
    out,
    err,
    isTerminal: false,
    canAsk: false,
    hasColors: false,
    columns: 100,
    env: { PATH: process.env['PATH'], HOME: '/nonexistent', VIBE_CONFIG_HOME: place.configDir },
    cwd: place.root,
    ask: () => Promise.resolve(''),
    onInterrupt: () => () => {},
    readerGone: new AbortController().signal,
  };
}
