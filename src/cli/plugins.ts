import { EngineError } from '../protocol/error.ts';
import { createRandomIds } from '../protocol/ids.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import { defaultPermissions, type ToolOutput } from '../protocol/tool.ts';
import { toPrintable } from '../telemetry/printable.ts';
import { toFailure, toOutput } from '../tools/output.ts';
import { type ListedPlugin, listDeclarations } from './declarations.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import { openPluginSession } from './plugin-session.ts';
import type { CommonOptions } from './program.ts';
import { openProject, type Project } from './project.ts';
import { toTable } from './table.ts';
import { decideTrust } from './trust.ts';

/** `vibe-bus plugins list`: what is declared, and whether it may start. Starts nothing. */
export async function listPlugins(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  const plugins = await listDeclarations(io, project);
  if (options.json === true) {
    const shown = plugins.map(({ declaration, from, isTrusted }) => {
      const { name, command, required = false, restart = 'never', source = null } = declaration;
      return { name, from, source, command, required, restart, trusted: isTrusted };
    });
    io.out(`${JSON.stringify(shown)}\n`);
  } else if (plugins.length === 0) {
    io.out('No plugins are declared ([[plugins]] in .vibe/config.toml, or folders in .vibe/plugins).\n');
  } else {
    const rows = plugins.map(({ declaration, from, isTrusted }) => [
      declaration.name,
      isTrusted ? 'trusted' : 'not trusted (`vibe-bus trust`)',
      declaration.required === true ? 'required' : 'optional',
      from === 'user' ? 'user' : 'project',
      declaration.command.join(' '),
    ]);
    io.out(toTable(rows));
  }
  return exitCodes.ok;
}

/** `vibe-bus plugins test <name>`: handshake, listings, clean end. */
export async function testPlugin(io: CliIo, name: string, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  const plugin = await findPlugin(io, project, name);
  await requireTrust(io, project, plugin);
  using _interrupts = takeInterrupts(io);
  const session = await openPluginSession(io, project, plugin.declaration);
  const stoppingAt = performance.now();
  await session[Symbol.asyncDispose]();
  const stoppedInMs = Math.round(performance.now() - stoppingAt);

  const tools = session.tools.map((tool) => tool.name);
  const agents = session.agents.map((agent) => agent.role);
  const hasHook = session.hooks.length > 0;
  const startedInMs = Math.round(session.startedInMs);
  if (options.json === true) {
    const { version } = session;
    const shown = { name, version, tools, agents, hook: hasHook, started_ms: startedInMs, stopped_ms: stoppedInMs };
    io.out(`${JSON.stringify(shown)}\n`);
  } else {
    const rows = [
      ['plugin', `${name} ${session.version}`],
      ['tools', tools.join(', ') || 'none'],
      ['agents', agents.join(', ') || 'none'],
      ['hook', hasHook ? 'before_tool' : 'none'],
      ['time', `started in ${startedInMs} ms, stopped in ${stoppedInMs} ms`],
    ];
    io.out(toTable(rows));
  }
  return exitCodes.ok;
}

/** `vibe-bus plugins call <name> <tool> [input]`: one tool of one plugin, without an agent. */
export async function callPlugin(
  io: CliIo,
  call: { readonly name: string; readonly tool: string; readonly input: string },
  options: CommonOptions,
): Promise<ExitCode> {
  const input = parseInput(call.input);
  const project = await openProject(io, options);
  const plugin = await findPlugin(io, project, call.name);
  await requireTrust(io, project, plugin);
  using _interrupts = takeInterrupts(io);
  await using session = await openPluginSession(io, project, plugin.declaration);
  const tool = session.tools.find((entry) => entry.name === call.tool);
  if (tool === undefined) {
    const known = session.tools.map((entry) => entry.name).join(', ') || 'none';
    throw new UsageError(`plugin \`${call.name}\` has no tool \`${call.tool}\`; its tools: ${known}`);
  }
  const context = {
    workspace_root: project.root,
    permissions: defaultPermissions,
    agent: 'anonymous',
    call: createRandomIds().call(),
    signal: new AbortController().signal,
  };
  const output: ToolOutput = await (async () => toOutput(await tool.call(input, context)))().catch((error: unknown) =>
    toFailure(call.tool, error),
  );
  if (options.json === true) io.out(`${JSON.stringify(output)}\n`);
  else (output.is_error ? io.err : io.out)(`${toPrintable(output.content)}\n`);
  return output.is_error ? exitCodes.failed : exitCodes.ok;
}

async function findPlugin(io: CliIo, project: Project, name: string): Promise<ListedPlugin> {
  const plugins = await listDeclarations(io, project);
  const found = plugins.find(({ declaration }) => declaration.name === name);
  if (found !== undefined) return found;
  const known = plugins.map(({ declaration }) => declaration.name).join(', ') || 'none';
  throw new UsageError(`there is no plugin \`${name}\`; declared here: ${known}`);
}

/** @throws EngineError `config`, code `untrusted` */
async function requireTrust(io: CliIo, project: Project, plugin: ListedPlugin): Promise<void> {
  if (plugin.isTrusted || (await decideTrust(io, project))) return;
  const { name } = plugin.declaration;
  throw new EngineError('config', `plugin \`${name}\` belongs to a project that is not trusted yet`, {
    code: 'untrusted',
  });
}

function parseInput(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // answered below, as for JSON that is no object
  }
  if (isJsonObject(value)) return value;
  throw new UsageError('the input of a tool is a JSON object, for example \'{"path": "src"}\'');
}
