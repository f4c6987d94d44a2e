import { loadBuiltinAgents } from '../agent/builtin.ts';
import { loadAgentOverrides } from '../config/agent-overrides.ts';
import { type AgentInput, type AgentSpec, defineAgent } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { projectPaths } from '../store/paths.ts';
import type { EngineOptions } from './options.ts';
import type { EngineSetup } from './setup.ts';

/** Agents by role, in registration order; a role registered again is replaced in its place. */
export interface AgentRegistry {
  /** @throws EngineError `config` for a blank role */
  register(spec: AgentSpec): void;
  get(role: string): AgentSpec | undefined;
  list(): readonly AgentSpec[];
}

export function createAgentRegistry(): AgentRegistry {
  const agents = new Map<string, AgentSpec>();
  return {
    register(spec) {
      if (spec.role.trim() === '') throw new EngineError('config', 'an agent needs a role');
      agents.set(spec.role, spec);
    },
    get: (role) => agents.get(role),
    list: () => [...agents.values()],
  };
}

/** The built-in agents, those the project changes or adds, then the caller's: later ones win. */
export async function registerAgents(
  agents: AgentRegistry,
  options: EngineOptions,
  { root, isTrusted }: Pick<EngineSetup, 'root' | 'isTrusted'>,
): Promise<void> {
  if (options.bare !== true) {
    const builtin = loadBuiltinAgents();
    for (const spec of builtin) agents.register(spec);
    const changed = await loadAgentOverrides(projectPaths(root).agents, builtin, isTrusted ? undefined : root);
    for (const { spec } of changed) agents.register(spec);
  }
  for (const agent of options.agents ?? []) agents.register(defineAgent(agent));
}

/** @throws EngineError `config`, code `not_found`, for an unknown role */
export function toSpec(agent: string | AgentInput, agents: AgentRegistry): AgentSpec {
  if (typeof agent !== 'string') return defineAgent(agent);
  const spec = agents.get(agent);
  if (spec === undefined) {
    const known = agents.list().map((entry) => entry.role);
    throw new EngineError('config', `unknown agent \`${agent}\` (known: ${known.join(', ') || 'none'})`, {
      code: 'not_found',
    });
  }
  return spec;
}
