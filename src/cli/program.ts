import { Command, CommanderError, Option } from 'commander';
import { apply, command, type CommonOptions } from './command.ts';
import { describeFailure, type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { addMcpCommands } from './mcp-program.ts';
import type { JsonObject } from '../protocol/json.ts';
import { toInput } from './tool-input.ts';

/**
 * Carries out one command line.
 * @param args without the program's own name
 * @returns 0 done, 1 failed, 2 not a command line, 130 interrupted; never rejects
 */
export async function runCommandLine(args: readonly string[], io: CliIo, version: string): Promise<ExitCode> {
  let code: ExitCode = exitCodes.ok;
  const program = createProgram(io, version, (result) => {
    code = result;
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
    io.err(describeFailure(error));
    return error instanceof UsageError ? exitCodes.usage : exitCodes.failed;
  }
}

/** The table of commands. Each loads its code when it is used, so that `--help` stays fast. */
export function createProgram(io: CliIo, version: string, done: (code: ExitCode) => void): Command {
  const program = new Command('vibe-bus')
    .description('Run AI agents: tools on worker threads, plugins in any language, MCP servers.')
    .version(version)
    .showHelpAfterError('(add --help for the options)')
    .helpCommand(false)
    .allowExcessArguments()
    .action(() => {
      const [unknown] = program.args;
      if (unknown !== undefined) {
        const known = program.commands.map((entry) => entry.name()).join(', ');
        throw new UsageError(`unknown command \`${unknown}\`; there are ${known}`);
      }
      program.outputHelp();
    });
  apply(program, io);

  command(program, io, 'run', 'run an agent on a task in this project', '<task...>')
    .option('-a, --agent <role>', 'the agent', 'coder')
    .option('-m, --model <model>', 'provider/model, or a model of the default provider')
    .option('--max-tokens <n>', 'stop after this many tokens', toCount)
    .option('--max-cost <usd>', 'stop after this much money', toAmount)
    .option('--max-steps <n>', 'stop after this many model calls', toCount)
    .option('--allow-network', 'let tools reach the network')
    .option('--read-only', 'let tools read only')
    .option('--no-git', 'work in a folder that is no git repository')
    .option('--trust', "use the project's own plugins, servers, providers and rules for this run")
    .action(async (task: string[], options: RunFlags) => {
      const { runCommand } = await import('./run.ts');
      done(await runCommand(io, task.join(' '), options));
    });

  const agents = group(program, io, 'agents', 'the agents that can be run');
  command(agents, io, 'list', 'list them').action(async (options: CommonOptions) => {
    const { listAgents } = await import('./agents.ts');
    done(await listAgents(io, options));
  });
  command(agents, io, 'show', 'print one agent with its prompt', '<role>').action(
    async (role: string, options: CommonOptions) => {
      const { showAgent } = await import('./agents.ts');
      done(await showAgent(io, role, options));
    },
  );
  command(agents, io, 'check', 'check the files of .vibe/agents').action(async (options: CommonOptions) => {
    const { checkAgents } = await import('./agents.ts');
    done(await checkAgents(io, options));
  });

  command(program, io, 'tools', 'list the tools agents can be offered').action(async (options: CommonOptions) => {
    const { listTools } = await import('./tools.ts');
    done(await listTools(io, options));
  });

  const plugins = group(program, io, 'plugins', 'the plugins of this project and user');
  command(plugins, io, 'list', 'list them')
    .option('--start', 'start each trusted one and say what it offers; none is left running')
    .action(async (options: CommonOptions & { readonly start?: boolean }) => {
      const { listPlugins } = await import('./plugins.ts');
      done(await listPlugins(io, options));
    });
  command(
    plugins,
    io,
    'test',
    'start one plugin (a name, or a folder as ./clock), ask what it offers, call a tool, stop it',
    '<name> [tool] [input]',
  ).action(async (name: string, tool: string | undefined, input: string | undefined, options: CommonOptions) => {
    const { testPlugin } = await import('./plugins.ts');
    done(await testPlugin(io, tool === undefined ? { name } : { name, tool, input: toInput(input) }, options));
  });
  command(plugins, io, 'call', 'call one tool of a plugin', '<name> <tool> [input]').action(
    async (name: string, tool: string, input: string | undefined, options: CommonOptions) => {
      const { callPlugin } = await import('./plugins.ts');
      done(await callPlugin(io, { name, tool, input: toInput(input) }, options));
    },
  );
  command(plugins, io, 'new', 'make a plugin to start from', '<dir>')
    .addOption(new Option('--lang <language>', 'its language').choices(['ts', 'py', 'js']).default('ts'))
    .action(async (dir: string, options: CommonOptions & { readonly lang: PluginLanguage }) => {
      const { newPlugin } = await import('./plugin-new.ts');
      done(await newPlugin(io, dir, options));
    });
  command(plugins, io, 'fuzz', 'send a plugin what it must survive, and say what it did wrong', '<name>')
    .option('--tool <tool>', 'a tool that may be called')
    .option('--input <json>', 'its arguments', toInput)
    .option('--only <case...>', 'only the cases of these names')
    .option('--timeout <seconds>', 'for each answer and for the end', toAmount)
    .action(async (name: string, options: FuzzFlags) => {
      const { fuzzCommand } = await import('./plugin-fuzz.ts');
      done(await fuzzCommand(io, name, options));
    });

  addMcpCommands(group(program, io, 'mcp', 'the MCP servers of this project and user'), io, done);

  const config = group(program, io, 'config', 'the configuration');
  command(config, io, 'show', 'print the configuration in effect and where each value comes from')
    .option('--default', 'print the defaults instead')
    .action(async (options: CommonOptions & { readonly default?: boolean }) => {
      const { showConfig } = await import('./config.ts');
      done(await showConfig(io, options));
    });

  command(program, io, 'doctor', 'check this machine and project, one line each with the way out')
    .option('--explain <command>', 'say how the shell policy judges a command')
    .action(async (options: CommonOptions & { readonly explain?: string }) => {
      const { runDoctor, explainShellCommand } = await import('./doctor.ts');
      const { explain } = options;
      done(explain === undefined ? await runDoctor(io, options) : await explainShellCommand(io, explain, options));
    });

  command(program, io, 'trust', "allow this project's own plugins, servers, providers and rules")
    .option('--show', 'only say what needs trust and whether it has it')
    .option('--revoke', 'take it back')
    .option('-y, --yes', 'do not ask')
    .action(async (options: CommonOptions & TrustFlags) => {
      const { trustCommand } = await import('./trust.ts');
      done(await trustCommand(io, options));
    });

  command(program, io, 'completion', 'print a completion script', '<shell>').action(async (shell: string) => {
    const { printCompletion } = await import('./completion.ts');
    done(printCompletion(io, shell, program));
  });
  return program;
}

export interface RunFlags extends CommonOptions {
  readonly agent: string;
  readonly model?: string;
  readonly maxTokens?: number;
  readonly maxCost?: number;
  readonly maxSteps?: number;
  readonly allowNetwork?: boolean;
  readonly readOnly?: boolean;
  readonly git: boolean;
  readonly trust?: boolean;
}

/** A language there is a template for: TypeScript on the author kit, Python and plain Node without dependencies. */
export type PluginLanguage = 'ts' | 'py' | 'js';

export interface FuzzFlags extends CommonOptions {
  readonly tool?: string;
  readonly input?: JsonObject;
  readonly only?: readonly string[];
  readonly timeout?: number;
}

export interface TrustFlags {
  readonly show?: boolean;
  readonly revoke?: boolean;
  readonly yes?: boolean;
}

/** A command that only has commands of its own. */
function group(parent: Command, io: CliIo, name: string, description: string): Command {
  const made = parent.command(name).description(description).helpCommand(false);
  made.allowExcessArguments().action(() => {
    const [given] = made.args;
    const known = made.commands.map((entry) => entry.name()).join(', ');
    const problem = given === undefined ? 'needs a command' : `has no command \`${given}\``;
    throw new UsageError(`\`vibe-bus ${name}\` ${problem}; there are ${known}`);
  });
  apply(made, io);
  return made;
}

function toCount(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(value) || value === 0) {
    throw new UsageError(`\`${text}\` is not a whole number above 0`);
  }
  return value;
}

function toAmount(text: string): number {
  const value = Number(text);
  if (!/^[0-9]+(\.[0-9]+)?$/.test(text) || value === 0) throw new UsageError(`\`${text}\` is not an amount above 0`);
  return value;
}
