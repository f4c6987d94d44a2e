import { type Command, Option } from 'commander';
import type { CliIo } from './io.ts';

/** Options every command has. */
export interface CommonOptions {
  /** `-C`: the project's folder, relative to the current one. */
  readonly root?: string;
  /** Print data as JSON. */
  readonly json?: boolean;
}

/** A command with the options every one has. */
export function command(parent: Command, io: CliIo, name: string, description: string, args = ''): Command {
  const made = parent.command(args === '' ? name : `${name} ${args}`).description(description);
  made.addOption(new Option('-C, --root <folder>', 'the project, instead of the current folder'));
  made.option('--json', 'print JSON');
  apply(made, io);
  return made;
}

/** Its output goes where the command line's does, and nothing ends the process. */
export function apply(made: Command, io: CliIo): void {
  made.exitOverride();
  made.configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) });
}
