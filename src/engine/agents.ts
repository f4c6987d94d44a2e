import type { AgentSpec } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';

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
