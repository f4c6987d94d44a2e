import type { Command } from 'commander';
import type { ExitCode } from './failure.ts';
import type { CliIo } from './io.ts';
import type { FileFlags, RecordFlags } from './mcp-record.ts';
import { command, type CommonOptions } from './command.ts';
import { toInput } from './tool-input.ts';

type WriteFlags = CommonOptions & FileFlags & RecordFlags & { readonly test: boolean };

/** The commands of `vibe-bus mcp`. */
export function addMcpCommands(mcp: Command, io: CliIo, done: (code: ExitCode) => void): void {
  command(mcp, io, 'list', 'list them without starting any').action(async (options: CommonOptions) => {
    const { listServers } = await import('./mcp.ts');
    done(await listServers(io, options));
  });
  withRecord(command(mcp, io, 'add', 'try a server and write it down', '<name> [command...]')).action(
    async (name: string, words: string[], options: WriteFlags) => {
      const { addServer } = await import('./mcp.ts');
      done(await addServer(io, { name, command: words }, options));
    },
  );
  withRecord(command(mcp, io, 'edit', 'change the named fields of a server', '<name> [command...]'))
    .option('--enable', 'use it')
    .option('--unset <field>', 'remove a field, such as timeouts.probe_ms; may be repeated', collect)
    .action(async (name: string, words: string[], options: WriteFlags) => {
      const { editServer } = await import('./mcp.ts');
      done(await editServer(io, { name, command: words }, options));
    });
  inProject(command(mcp, io, 'remove', 'end a server and delete it with all that is stored for it', '<name>')).action(
    async (name: string, options: CommonOptions & FileFlags) => {
      const { removeServer } = await import('./mcp.ts');
      done(await removeServer(io, name, options));
    },
  );
  command(mcp, io, 'test', 'connect to a server, list its tools, end it', '<name>').action(
    async (name: string, options: CommonOptions) => {
      const { testServer } = await import('./mcp-use.ts');
      done(await testServer(io, name, options));
    },
  );
  command(mcp, io, 'tools', 'list the tools of a server', '<name>').action(
    async (name: string, options: CommonOptions) => {
      const { listServerTools } = await import('./mcp-use.ts');
      done(await listServerTools(io, name, options));
    },
  );
  command(mcp, io, 'call', 'call one tool of a server', '<name> <tool> [input]').action(
    async (name: string, tool: string, input: string | undefined, options: CommonOptions) => {
      const { callServerTool } = await import('./mcp-use.ts');
      done(await callServerTool(io, { name, tool, input: toInput(input) }, options));
    },
  );
  command(mcp, io, 'login', 'get a token for a server; the user agrees in a browser', '<name>')
    .option('--no-browser', 'only show the address')
    .action(async (name: string, options: CommonOptions & { readonly browser: boolean }) => {
      const { logIn } = await import('./mcp-auth.ts');
      done(await logIn(io, name, options));
    });
  command(mcp, io, 'logout', 'revoke and delete the token of a server', '<name>').action(
    async (name: string, options: CommonOptions) => {
      const { logOut } = await import('./mcp-auth.ts');
      done(await logOut(io, name, options));
    },
  );
  command(mcp, io, 'import-tokens', 'move plaintext tokens of an older version into the store', '<file>').action(
    async (file: string, options: CommonOptions) => {
      const { importTokens } = await import('./mcp-auth.ts');
      done(await importTokens(io, file, options));
    },
  );
  inProject(
    command(mcp, io, 'import', 'take over servers of other programs: claude, cursor, vscode or a file', '[source]'),
  )
    .option('-y, --yes', 'do not ask')
    .action(async (source: string | undefined, options: CommonOptions & FileFlags & { readonly yes?: boolean }) => {
      const { importServers } = await import('./mcp-import.ts');
      done(await importServers(io, source, options));
    });
}

function inProject(made: Command): Command {
  return made.option('--project', "the project's file instead of the user's");
}

function withRecord(made: Command): Command {
  return inProject(made)
    .option('--url <url>', 'a server on the web instead of a command')
    .option('--type <transport>', 'stdio, http or sse')
    .option('--env <NAME=value>', 'a variable of the server; may be repeated', collect)
    .option('--header <Name: value>', 'a header of every request; may be repeated', collect)
    .option('--cwd <folder>', 'where the server starts when it is not confined')
    .option('--protocol <era>', 'auto, modern or legacy')
    .option('--read <path>', 'let the confined server read this too; may be repeated', collect)
    .option('--write <path>', 'let the confined server write this too; may be repeated', collect)
    .option('--allow <pattern>', 'use only such tools; may be repeated', collect)
    .option('--deny <pattern>', 'never use such tools; may be repeated', collect)
    .option('--eager <pattern>', 'offer such tools from the start; may be repeated', collect)
    .option('--requires-sandbox', 'never start it unconfined')
    .option('--disable', 'keep it without using it')
    .option('--no-test', 'save it without trying it');
}

/** No default: the help would print it. */
function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
