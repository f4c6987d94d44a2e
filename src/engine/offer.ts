import { toolsTokens } from '../agent/estimate.ts';
import type { OfferedTools } from '../agent/ports.ts';
import type { AgentSpec, Handoff, ToolSelection } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { type Tool, toToolSpec } from '../protocol/tool.ts';
import type { ToolRegistry } from '../tools/registry.ts';
import { agentTool, bindAgentTool, isAgentTool, type StartChild } from './agent-tool.ts';
import type { AgentRegistry } from './agents.ts';
import { createHandOffTool, handOffName } from './hand-off.ts';

export interface OfferDeps {
  readonly tools: ToolRegistry;
  readonly agents: AgentRegistry;
}

/** What one run gives its tools. */
export interface OfferTo {
  /** How many runs it is below one that a caller started. */
  readonly depth: number;
  readonly startChild: StartChild;
  onHandoff(handoff: Handoff): void;
}

/** The tools a run is offered, in the forms its parts need. */
export interface Offer extends OfferedTools {
  /** What its agent selects of the registry. */
  readonly selected: readonly Tool[];
  readonly byName: ReadonlyMap<string, Tool>;
}

export interface Offers {
  /**
   * The tools that its agent selects, in registry order, then its delegates, then `hand_off`.
   * @throws EngineError `config` when a delegate is unknown
   */
  make(spec: AgentSpec, run: OfferTo): Offer;
  /** The same when nothing it was made of has changed, else the offer as it is now. */
  renew(offer: Offer, spec: AgentSpec, run: OfferTo): Offer;
}

export function createOffers(deps: OfferDeps): Offers {
  // why: thousands of runs are offered the same tools, and a copy for each would be most of their memory
  const shared = new Map<string, Offer>();

  function share(selection: ToolSelection, tools: readonly Tool[]): Offer {
    const key = JSON.stringify(selection);
    const known = shared.get(key);
    if (known !== undefined && isSame(known.selected, tools)) return known;
    const offer = toOffer(tools, tools);
    if (shared.size >= maxShared) shared.clear();
    shared.set(key, offer);
    return offer;
  }

  function makeOf(selected: readonly Tool[], spec: AgentSpec, run: OfferTo): Offer {
    const { delegates = [], handoffs } = spec;
    if (delegates.length === 0 && handoffs === undefined && !selected.some(isAgentTool)) {
      return share(spec.tools, selected);
    }
    const own = delegates.map((role) => agentTool(delegateOf(role, spec, deps.agents)));
    const names = new Set([...own.map((tool) => tool.name), ...(handoffs === undefined ? [] : [handOffName])]);
    const bound = [...selected.filter((tool) => !names.has(tool.name)), ...own].map((tool) =>
      isAgentTool(tool)
        ? bindAgentTool(tool, isMutatingAgent(tool.agent, deps, new Set()), run.depth, run.startChild)
        : tool,
    );
    return toOffer(
      selected,
      handoffs === undefined ? bound : [...bound, createHandOffTool(handoffs, deps.agents, run.onHandoff)],
    );
  }

  return {
    make: (spec, run) => makeOf(deps.tools.resolve(spec.tools), spec, run),
    renew(offer, spec, run) {
      const selected = deps.tools.resolve(spec.tools);
      return isSame(offer.selected, selected) ? offer : makeOf(selected, spec, run);
    },
  };
}

/** Selections of tools that are kept. */
const maxShared = 64;

function toOffer(selected: readonly Tool[], tools: readonly Tool[]): Offer {
  return {
    selected,
    byName: new Map(tools.map((tool) => [tool.name, tool])),
    tools: tools.map(toToolSpec),
    toolTokens: toolsTokens(tools),
    mutatingTools: tools.filter((tool) => tool.is_mutating === true).map((tool) => tool.name),
  };
}

function isSame(left: readonly Tool[], right: readonly Tool[]): boolean {
  return left.length === right.length && left.every((tool, index) => tool === right[index]);
}

/** @throws EngineError `config`, code `not_found`, for a delegate that is no registered agent */
export function checkDelegates(spec: AgentSpec, agents: AgentRegistry): void {
  for (const role of spec.delegates ?? []) delegateOf(role, spec, agents);
}

function delegateOf(role: string, spec: AgentSpec, agents: AgentRegistry): AgentSpec {
  const agent = agents.get(role);
  if (agent !== undefined) return agent;
  throw new EngineError('config', `agent \`${spec.role}\` delegates to \`${role}\`, which is no known agent`, {
    code: 'not_found',
  });
}

/** Whether an agent can change anything, itself or through agents below it. */
function isMutatingAgent(spec: AgentSpec, deps: OfferDeps, above: Set<AgentSpec>): boolean {
  if (above.has(spec)) return false; // decided by the others on the way
  above.add(spec);
  const isMutating = (tool: Tool): boolean =>
    isAgentTool(tool) ? isMutatingAgent(tool.agent, deps, above) : tool.is_mutating === true;
  if (deps.tools.resolve(spec.tools).some(isMutating)) return true;
  return (spec.delegates ?? []).some((role) => {
    const agent = deps.agents.get(role);
    return agent !== undefined && isMutatingAgent(agent, deps, above);
  });
}
