import { type AgentInput, type AgentOutcome, type AgentSpec, defineAgent } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { errorOutput, okOutput, type Tool, type ToolContext, type ToolOutput } from '../protocol/tool.ts';
import type { RunOptions } from './options.ts';

/** Agents below each other: a run that a caller starts may have descendants this deep (agent-runtime 18.14). */
export const maxAgentDepth = 4;

/** Settings of the child runs of an agent tool; what they leave open is as in the run that calls it. */
export type ChildOptions = Omit<RunOptions, 'runId' | 'history' | 'signal' | 'tenant' | 'priority' | 'whenBusy'>;

export interface AgentToolOptions extends ChildOptions {
  /** Default: the role, in snake case. */
  readonly name?: string;
  /** What the calling model reads. Default: made from the agent's own description. */
  readonly description?: string;
}

/** A tool with an agent behind it. The engine binds it to the run that it is offered to. */
export interface AgentTool extends Tool {
  readonly agent: AgentSpec;
  readonly childOptions: ChildOptions;
}

/**
 * Offers an agent as a tool: each call is a child run with an id, events and a transcript of its own, and its final text is
 * the result. It shares the caller's signal, budget and deadline, and is mutating unless all of the agent's tools are
 * read-only.
 */
export function agentTool(agent: AgentInput, options: AgentToolOptions = {}): AgentTool {
  const spec = defineAgent(agent);
  const { name, description, ...childOptions } = options;
  const about = spec.description === '' ? '' : ` ${spec.description}`;
  return {
    name: name ?? toToolName(spec.role),
    description: description ?? `Gives a task to the agent \`${spec.role}\` and returns its final answer.${about}`,
    input_schema: {
      type: 'object',
      properties: {
        task: {
          type: 'string',
          description: 'What to do, with all it needs to know: the agent does not see this conversation.',
        },
      },
      required: ['task'],
      additionalProperties: false,
    },
    is_mutating: true,
    // why: a run may take long; the budget and the end of the calling run are its limits
    timeout_ms: 0,
    validate: ({ task, ...rest }) => {
      const [unknown] = Object.keys(rest);
      if (unknown !== undefined) return { ok: false, detail: `${unknown}: unknown key` };
      if (typeof task === 'string' && task.trim() !== '') return { ok: true, value: { task } };
      return { ok: false, detail: 'task: expected a text that is not blank' };
    },
    call() {
      throw new EngineError('config', `the tool of agent \`${spec.role}\` works only in the runs of an engine`);
    },
    agent: spec,
    childOptions,
  };
}

export function isAgentTool(tool: Tool): tool is AgentTool {
  return 'agent' in tool && 'childOptions' in tool;
}

/** Starts a child run for one call and resolves with what it came to. */
export type StartChild = (tool: AgentTool, task: string, context: ToolContext) => Promise<ChildResult>;

export interface ChildResult {
  readonly run: string;
  readonly outcome: AgentOutcome;
}

/** The tool as one run is offered it. */
export function bindAgentTool(tool: AgentTool, isMutating: boolean, depth: number, start: StartChild): Tool {
  return {
    ...tool,
    is_mutating: isMutating,
    async call(input, context) {
      if (depth >= maxAgentDepth) {
        return errorOutput(`Agent \`${tool.agent.role}\` was not started: agents nest at most ${maxAgentDepth} deep.`);
      }
      const { task } = input as { readonly task: string };
      return toToolOutput(tool.agent.role, await start(tool, task, context));
    },
  };
}

function toToolOutput(role: string, { run, outcome }: ChildResult): ToolOutput {
  const { stop, steps, tool_calls, usage } = outcome;
  const metadata = { run, stop: { ...stop }, steps, tool_calls, usage: { ...usage } };
  if (stop.reason === 'completed') return okOutput(outcome.final_text, metadata);
  return errorOutput(`Agent \`${role}\` stopped: ${stop.reason}.`, metadata);
}

/** Names of tools are snake case; roles may be anything. */
function toToolName(role: string): string {
  const name = role
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  return name === '' ? 'agent' : name;
}
