import path from 'node:path';
import type { PluginStatus } from '../plugins/plugin-status.ts';
import type { JsonObject } from '../protocol/json.ts';
import { toPrintable } from '../telemetry/printable.ts';
import { toShownPath } from '../store/paths.ts';
import { type ListedPlugin, listDeclarations } from './declarations.ts';
import { type ExitCode, exitCodes } from './failure.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import { choosePlugin } from './plugin-choice.ts';
import { checkPlugins, openPluginSession } from './plugin-session.ts';
import type { CommonOptions } from './command.ts';
import { openProject, type Project } from './project.ts';
import { toTable } from './table.ts';

/** `vibe-bus plugins list`: what is declared and whether it may start; with `--start` also what each of them offers. */
export async function listPlugins(io: CliIo, options: CommonOptions & { readonly start?: boolean }): Promise<ExitCode> {
  const project = await openProject(io, options);
  const plugins = await listDeclarations(io, project);
  const isStarted = options.start === true;
  const started = isStarted ? await startTrusted(io, project, plugins) : [];
  const statusOf = ({ declaration }: ListedPlugin): PluginStatus | undefined =>
    started.find((status) => status.name === declaration.name);
  if (options.json === true) {
    io.out(`${JSON.stringify(plugins.map((plugin) => toRecord(plugin, isStarted, statusOf(plugin))))}\n`);
  } else if (plugins.length === 0) {
    io.out('No plugins are declared ([[plugins]] in .vibe/config.toml, or folders in .vibe/plugins).\n');
  } else if (isStarted) {
    const heads = ['name', 'state', 'version', 'tools', 'agents', 'hook', 'restarts', 'source', 'last error'];
    io.out(toTable([heads, ...plugins.map((plugin) => toStartedRow(io, project, plugin, statusOf(plugin)))]));
  } else {
    const rows = plugins.map((plugin) => [
      plugin.declaration.name,
      plugin.isTrusted ? 'trusted' : 'not trusted (`vibe-bus trust`)',
      plugin.declaration.required === true ? 'required' : 'optional',
      toSource(io, project, plugin),
      plugin.declaration.command.join(' '),
    ]);
    io.out(toTable(rows));
  }
  return started.some((status) => status.state !== 'ready') ? exitCodes.failed : exitCodes.ok;
}

async function startTrusted(
  io: CliIo,
  project: Project,
  plugins: readonly ListedPlugin[],
): Promise<readonly PluginStatus[]> {
  using _interrupts = takeInterrupts(io);
  const trusted = plugins.filter((plugin) => plugin.isTrusted).map((plugin) => plugin.declaration);
  return await checkPlugins(io, project, trusted);
}

function toRecord(plugin: ListedPlugin, isStarted: boolean, status: PluginStatus | undefined): object {
  const { name, command, required = false, restart = 'never', source = null } = plugin.declaration;
  const declared = { name, from: plugin.from, source, command, required, restart, trusted: plugin.isTrusted };
  if (!isStarted) return declared;
  return {
    ...declared,
    state: status?.state ?? 'not_trusted',
    version: status?.record?.version ?? null,
    tools: status?.record?.tool_names ?? [],
    agents: status?.agents ?? [],
    hook: status?.record?.capabilities.hooks ?? false,
    restarts: status?.restarts ?? 0,
    last_error: status?.lastError ?? null,
  };
}

function toStartedRow(
  io: CliIo,
  project: Project,
  plugin: ListedPlugin,
  status: PluginStatus | undefined,
): readonly string[] {
  const { record } = status ?? {};
  return [
    plugin.declaration.name,
    status?.state ?? 'not trusted',
    record?.version || '-',
    record?.tool_names.join(', ') || '-',
    status?.agents.join(', ') || '-',
    record?.capabilities.hooks === true ? 'before_tool' : '-',
    String(status?.restarts ?? 0),
    toSource(io, project, plugin),
    status?.lastError ?? '',
  ];
}

/** The file that declares it, as short as it can be said. */
function toSource(io: CliIo, project: Project, { declaration }: ListedPlugin): string {
  const file = declaration.source ?? path.join(project.root, '.vibe', 'config.toml');
  const relative = path.relative(project.root, file);
  return relative.startsWith('..') ? toShownPath(file, io.env) : relative;
}

export interface PluginCall {
  readonly name: string;
  /** Of the plugin. */
  readonly tool: string;
  readonly input: JsonObject;
}

/** `vibe-bus plugins test <name> [tool] [input]`: handshake, listings, a call when a tool is named, clean end. */
export async function testPlugin(
  io: CliIo,
  trial: Pick<PluginCall, 'name'> & Partial<PluginCall>,
  options: CommonOptions,
): Promise<ExitCode> {
  const project = await openProject(io, options);
  const plugin = await choosePlugin(io, project, trial.name);
  using _interrupts = takeInterrupts(io);
  await using session = await openPluginSession(io, project, plugin);
  const calledAt = performance.now();
  const output = trial.tool === undefined ? undefined : await session.call(trial.tool, trial.input ?? {});
  const calledInMs = Math.round(performance.now() - calledAt);
  const stoppingAt = performance.now();
  await session[Symbol.asyncDispose]();
  const stoppedInMs = Math.round(performance.now() - stoppingAt);

  const tools = session.tools.map((tool) => tool.name);
  const agents = session.agents.map((agent) => agent.role);
  const hasHook = session.hooks.length > 0;
  const startedInMs = Math.round(session.startedInMs);
  if (options.json === true) {
    const { name, version } = session;
    const times = { started_ms: startedInMs, stopped_ms: stoppedInMs };
    const call = output === undefined ? {} : { call: { tool: trial.tool, ms: calledInMs, ...output } };
    io.out(`${JSON.stringify({ name, version, tools, agents, hook: hasHook, ...times, ...call })}\n`);
  } else {
    const rows = [
      ['plugin', `${session.name} ${session.version}`],
      ['tools', tools.join(', ') || 'none'],
      ['agents', agents.join(', ') || 'none'],
      ['hook', hasHook ? 'before_tool' : 'none'],
      ['time', `started in ${startedInMs} ms, stopped in ${stoppedInMs} ms`],
    ];
    if (output !== undefined) {
      rows.push(['call', `${trial.tool} ${output.is_error ? 'failed' : 'answered'} in ${calledInMs} ms`]);
    }
    io.out(toTable(rows));
    if (output !== undefined) io.out(`${toPrintable(output.content)}\n`);
  }
  return output?.is_error === true ? exitCodes.failed : exitCodes.ok;
}

/** `vibe-bus plugins call <name> <tool> [input]`: one tool of one plugin, without an agent; prints its answer alone. */
export async function callPlugin(io: CliIo, call: PluginCall, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  const plugin = await choosePlugin(io, project, call.name);
  using _interrupts = takeInterrupts(io);
  await using session = await openPluginSession(io, project, plugin);
  const output = await session.call(call.tool, call.input);
  if (options.json === true) io.out(`${JSON.stringify(output)}\n`);
  else (output.is_error ? io.err : io.out)(`${toPrintable(output.content)}\n`);
  return output.is_error ? exitCodes.failed : exitCodes.ok;
}
