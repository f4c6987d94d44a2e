import type { ToolContext } from '../protocol/tool.ts';
import { joinRuleSets } from '../tools/rules.ts';
import type { AgentTool, ChildResult } from './agent-tool.ts';
import type { RunOptions } from './options.ts';
import type { ActiveRun, RunRequest, StartedRun } from './run-request.ts';

/**
 * Starts the run of an agent tool for one call of its parent and waits for its end.
 * @throws what the run rejects with, and `config` or `engine_closed` when it cannot start
 */
export async function startChildRun(
  parent: ActiveRun,
  tool: AgentTool,
  task: string,
  context: ToolContext,
  start: (request: RunRequest) => StartedRun,
): Promise<ChildResult> {
  const { handle } = start({
    spec: tool.agent,
    message: task,
    options: toChildOptions(parent, tool, context.signal),
    mode: { kind: 'plain' },
    parent: { run: parent, call: context.call },
  });
  return { run: handle.id, outcome: await handle.outcome };
}

function toChildOptions(parent: ActiveRun, { agent, childOptions }: AgentTool, signal: AbortSignal): RunOptions {
  // why: what belongs to the parent's own conversation stays with it
  const {
    runId: _runId,
    history: _history,
    budget: _budget,
    signal: _signal,
    contextWindow: _contextWindow,
    model,
    provider,
    ...inherited
  } = parent.request.options;
  const isModelOpen =
    agent.model === 'phase' && childOptions.model === undefined && childOptions.provider === undefined;
  return {
    ...inherited,
    ...(isModelOpen && model !== undefined ? { model } : {}),
    ...(isModelOpen && provider !== undefined ? { provider } : {}),
    // why: shorter than the parent's, so that the child has ended its own calls when the parent gives up on it
    cancelGraceMs: Math.floor(parent.limits.cancelGraceMs * 0.75),
    ...childOptions,
    // why: what the parent may not do through its own calls it may not do through a child either
    rules: joinRuleSets(inherited.rules, childOptions.rules),
    signal,
  };
}
