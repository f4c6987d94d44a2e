import path from 'node:path';
import { loadBuiltinAgents } from '../agent/builtin.ts';
import { placeholdersOf, renderSystemPrompt, stripDocComment, toPromptVariables } from '../agent/prompt.ts';
import { listAgentFiles, loadAgentOverrides } from '../config/agent-overrides.ts';
import { reachesOutside } from '../config/agent-reach.ts';
import { defaultConfig } from '../config/schema.ts';
import { toAgentPart } from '../config/trust-parts.ts';
import type { Engine } from '../engine.ts';
import { projectPaths } from '../store/paths.ts';
import { toPrintable, toPrintableLine } from '../telemetry/printable.ts';
import { createBuiltinTools } from '../tools/builtin.ts';
import type { AgentSpec, ModelSelection, ToolSelection } from '../protocol/agent.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { waitForServers, withEngine } from './open-engine.ts';
import type { CommonOptions } from './command.ts';
import { openProject, type Project } from './project.ts';
import { toTable } from './table.ts';
import { describeLeftOut } from './trust.ts';

/** `vibe-bus agents list`: built-in, overridden and plugin agents, as a run would find them. */
export async function listAgents(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  return await withEngine(io, options, async (engine, project) => {
    const agents = engine.agents.list();
    const sources = await loadSources(engine, project);
    if (options.json === true) {
      const shown = agents.map(({ system_prompt: _prompt, ...rest }) => ({ ...rest, source: sources.of(rest.role) }));
      io.out(`${JSON.stringify(shown)}\n`);
    } else {
      const rows = agents.map((agent) => [
        agent.role,
        sources.of(agent.role),
        describeTools(agent.tools),
        agent.description,
      ]);
      io.out(toTable(rows));
    }
    return exitCodes.ok;
  });
}

/** `vibe-bus agents show <role>`: the agent as a run would use it, where each value comes from, its prompt rendered. */
export async function showAgent(io: CliIo, role: string, options: CommonOptions): Promise<ExitCode> {
  return await withEngine(io, options, async (engine, project) => {
    const agent = engine.agents.get(role);
    if (agent === undefined) {
      const known = engine.agents.list().map((entry) => entry.role);
      throw new UsageError(`there is no agent \`${role}\`; there are ${known.join(', ')}`);
    }
    if (typeof agent.tools !== 'string') await waitForServers(io, engine);
    const sources = await loadSources(engine, project);
    const shown: ShownAgent = {
      agent,
      sourceOf: (key) => sources.ofValue(role, key),
      unknownTools: unknownTools(agent, (name) => engine.tools.get(name) !== undefined),
      prompt: renderForReading(agent, project.root),
    };
    io.out(options.json === true ? `${JSON.stringify(toData(shown))}\n` : describeAgent(shown, project));
    return exitCodes.ok;
  });
}

/**
 * `vibe-bus agents check`: reads the files of `.vibe/agents` and says what they define; starts nothing. The first bad file is
 * an error.
 */
export async function checkAgents(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  const project = await openProject(io, options);
  const { root } = project;
  const folder = projectPaths(root).agents;
  const changed = await loadAgentOverrides(folder, loadBuiltinAgents(), project.isTrusted ? undefined : root);
  const builtin = builtinToolNames();
  const checked = changed.map(({ spec, sources }) => ({
    role: spec.role,
    files: [...new Set(sources.values())].map((file) => path.relative(root, file)),
    sources: Object.fromEntries(sources),
    unknown_tools: unknownTools(spec, (name) => builtin.has(name)),
  }));
  const files = project.isTrusted ? [] : await listAgentFiles(folder);
  const outside = await Promise.all(files.map((file) => reachesOutside(file, root)));
  const leftOut = files.filter((_, index) => outside[index]);
  if (options.json === true) io.out(`${JSON.stringify(checked)}\n`);
  else if (checked.length + leftOut.length === 0)
    io.out(`There are no agent files in ${path.relative(root, folder)}.\n`);
  else {
    io.out(
      toTable(
        checked.map((agent) => [
          agent.role,
          agent.files.join(', ') || 'changes nothing',
          agent.unknown_tools.length === 0 ? 'ok' : `not built in: ${agent.unknown_tools.join(', ')}`,
        ]),
      ),
    );
    if (checked.some((agent) => agent.unknown_tools.length > 0)) {
      io.out('A tool that is not built in is left out unless a plugin or an MCP server brings it.\n');
    }
  }
  for (const file of leftOut) io.err(describeLeftOut(toAgentPart(file)));
  return exitCodes.ok;
}

interface ShownAgent {
  readonly agent: AgentSpec;
  /** In a user's words. */
  sourceOf(key: keyof AgentSpec): string;
  readonly unknownTools: readonly string[];
  readonly prompt: string;
}

/** Where agents come from: a plugin has one whole, a file of the project sets keys of what was there. */
interface AgentSources {
  /** Everything that had a part in it, in a user's words. */
  of(role: string): string;
  ofValue(role: string, key: keyof AgentSpec): string;
}

async function loadSources(engine: Engine, project: Project): Promise<AgentSources> {
  const plugins = engine.plugins.status();
  const builtin = loadBuiltinAgents();
  const within = project.isTrusted ? undefined : project.root;
  const overrides = await loadAgentOverrides(projectPaths(project.root).agents, builtin, within);
  const filesOf = new Map(overrides.map(({ spec, sources }) => [spec.role, sources]));
  const pluginOf = (role: string): string | undefined => {
    const owner = plugins.findLast(({ agents }) => agents.includes(role));
    return owner === undefined ? undefined : `plugin ${owner.name}`;
  };
  const below = (role: string): string | undefined =>
    builtin.some((spec) => spec.role === role) ? 'built-in' : undefined;
  const shownFile = (file: string): string => path.relative(project.root, file);
  return {
    of(role) {
      const files = new Set(filesOf.get(role)?.values());
      const parts = [below(role), ...[...files].map(shownFile)].filter((part) => part !== undefined);
      return pluginOf(role) ?? parts.join(', ');
    },
    ofValue(role, key) {
      const file = filesOf.get(role)?.get(key);
      return pluginOf(role) ?? (file === undefined ? (below(role) ?? 'default') : shownFile(file));
    },
  };
}

function builtinToolNames(): ReadonlySet<string> {
  // nothing is run: the tools are made for their names, the search among them whether or not it has an address
  const bash = { checkCommand: () => ({ allow: false, sentence: '' }) as const };
  return new Set(createBuiltinTools({ bash, searchEndpoint: '{query}' }).map((tool) => tool.name));
}

/** The names it asks for that nothing has; a run leaves them out. */
function unknownTools(agent: AgentSpec, isKnown: (name: string) => boolean): readonly string[] {
  return typeof agent.tools === 'string' ? [] : agent.tools.named.filter((name) => !isKnown(name));
}

/** The prompt as a model sees it; what only a run knows stands as `‹name›`. */
function renderForReading(agent: AgentSpec, root: string): string {
  const names = placeholdersOf(stripDocComment(agent.system_prompt));
  const marks = Object.fromEntries(names.map((name) => [name, `‹${name}›`]));
  // the title and description of a task are none of a listing's business
  const {
    task_title: _title,
    task_description: _description,
    ...known
  } = toPromptVariables({
    workspaceRoot: root,
    now: Date.now(),
  });
  return renderSystemPrompt(agent.system_prompt, { ...marks, ...known });
}

function toData({ agent, sourceOf, unknownTools: unknown, prompt }: ShownAgent): object {
  const keys = Object.keys(agent) as (keyof AgentSpec)[];
  const sources = Object.fromEntries(keys.filter((key) => key !== 'role').map((key) => [key, sourceOf(key)]));
  return { ...agent, sources, unknown_tools: unknown, rendered_prompt: prompt };
}

function describeAgent({ agent, sourceOf, unknownTools: unknown, prompt }: ShownAgent, project: Project): string {
  const rows: readonly (readonly [keyof AgentSpec, string])[] = [
    ['description', agent.description],
    ['tools', describeTools(agent.tools)],
    ['model', describeModel(agent.model, project.loaded.config.model ?? defaultConfig.model ?? '')],
    ['thinking', agent.thinking],
    ['max_steps', String(agent.max_steps)],
    ['max_tokens', `${agent.max_tokens} a step`],
    ...(agent.delegates === undefined ? [] : [['delegates', agent.delegates.join(', ')] as const]),
    ...(agent.handoffs === undefined ? [] : [['handoffs', agent.handoffs.join(', ')] as const]),
    ['structured_output', agent.structured_output ? 'yes, the answer ends with a JSON document' : 'no'],
    ['system_prompt', 'below; ‹name› stands for what a run fills in'],
  ];
  const facts = toTable([['role', agent.role], ...rows.map(([key, text]) => [key, text, `(${sourceOf(key)})`])]);
  const warning =
    unknown.length === 0 ? '' : `no such tool, left out by a run: ${unknown.map(toPrintableLine).join(', ')}\n`;
  return `${facts}${warning}\n${toPrintable(prompt)}\n`;
}

function describeTools(selection: ToolSelection): string {
  return typeof selection === 'string' ? selection : selection.named.join(', ');
}

function describeModel(selection: ModelSelection, usual: string): string {
  return selection === 'phase' ? `of the phase, else ${usual}` : `${selection.fixed.provider}/${selection.fixed.model}`;
}
