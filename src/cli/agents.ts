import path from 'node:path';
import { loadBuiltinAgents } from '../agent/builtin.ts';
import { loadAgentOverrides } from '../config/agent-overrides.ts';
import { projectPaths } from '../store/paths.ts';
import { toPrintable } from '../telemetry/printable.ts';
import type { AgentSpec, ModelSelection, ToolSelection } from '../protocol/agent.ts';
import { type ExitCode, exitCodes, UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import { withEngine } from './open-engine.ts';
import type { CommonOptions } from './program.ts';
import { openProject } from './project.ts';
import { toTable } from './table.ts';

/** `vibe-bus agents list`: built-in, overridden and plugin agents, as a run would find them. */
export async function listAgents(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  return await withEngine(io, options, (engine) => {
    const agents = engine.agents.list();
    if (options.json === true) {
      io.out(`${JSON.stringify(agents.map(({ system_prompt: _prompt, ...rest }) => rest))}\n`);
    } else {
      io.out(toTable(agents.map((agent) => [agent.role, describeTools(agent.tools), agent.description])));
    }
    return exitCodes.ok;
  });
}

/** `vibe-bus agents show <role>`. */
export async function showAgent(io: CliIo, role: string, options: CommonOptions): Promise<ExitCode> {
  return await withEngine(io, options, (engine) => {
    const agent = engine.agents.get(role);
    if (agent === undefined) {
      const known = engine.agents.list().map((entry) => entry.role);
      throw new UsageError(`there is no agent \`${role}\`; there are ${known.join(', ')}`);
    }
    io.out(options.json === true ? `${JSON.stringify(agent)}\n` : describeAgent(agent));
    return exitCodes.ok;
  });
}

/** `vibe-bus agents check`: reads the files of `.vibe/agents` and says what they define; starts nothing. */
export async function checkAgents(io: CliIo, options: CommonOptions): Promise<ExitCode> {
  const { root } = await openProject(io, options);
  const folder = projectPaths(root).agents;
  const changed = await loadAgentOverrides(folder, loadBuiltinAgents());
  if (options.json === true) {
    const shown = changed.map(({ spec, sources }) => ({ role: spec.role, sources: Object.fromEntries(sources) }));
    io.out(`${JSON.stringify(shown)}\n`);
  } else if (changed.length === 0) {
    io.out(`There are no agent files in ${path.relative(root, folder)}.\n`);
  } else {
    const files = (sources: ReadonlyMap<string, string>): string =>
      [...new Set(sources.values())].map((file) => path.relative(root, file)).join(', ');
    io.out(toTable(changed.map(({ spec, sources }) => [spec.role, 'ok', files(sources)])));
  }
  return exitCodes.ok;
}

function describeAgent(agent: AgentSpec): string {
  const facts = toTable([
    ['role', agent.role],
    ['description', agent.description],
    ['tools', describeTools(agent.tools)],
    ['model', describeModel(agent.model)],
    ['thinking', agent.thinking],
    ['steps', String(agent.max_steps)],
    ['tokens a step', String(agent.max_tokens)],
    ['answer', agent.structured_output ? 'ends with a JSON document' : 'text'],
  ]);
  return `${facts}\n${toPrintable(agent.system_prompt.trim())}\n`;
}

function describeTools(selection: ToolSelection): string {
  return typeof selection === 'string' ? selection : selection.named.join(', ');
}

function describeModel(selection: ModelSelection): string {
  return selection === 'phase'
    ? "the phase's, else the default"
    : `${selection.fixed.provider}/${selection.fixed.model}`;
}
