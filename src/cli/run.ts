import type { RunOptions } from '../engine/options.ts';
import type { Engine } from '../engine.ts';
import type { AgentOutcome, AgentSpec, AgentStop } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import { toShownPath } from '../store/paths.ts';
import { createApprovalPrompt } from './approval.ts';
import { type ExitCode, exitCodes, toFailureLines, UsageError, wayOutOf } from './failure.ts';
import { isInGitRepository } from './git.ts';
import { takeInterrupts } from './interrupts.ts';
import type { CliIo } from './io.ts';
import { openEngine } from './open-engine.ts';
import { watchPlaces } from './places.ts';
import type { RunFlags } from './program.ts';
import { openProject } from './project.ts';
import { createRunView } from './render.ts';
import { createStyle } from './style.ts';
import { decideTrust } from './trust.ts';

/** `vibe-bus run`: one agent, one task, shown while it happens. */
export async function runCommand(io: CliIo, task: string, flags: RunFlags): Promise<ExitCode> {
  if (task.trim() === '') throw new UsageError('the task is empty; say what the agent should do');
  const project = await openProject(io, flags);
  if (flags.git && flags.readOnly !== true && !(await isInGitRepository(project.root))) {
    throw new EngineError(
      'workspace',
      `${toShownPath(project.root, io.env)} is not in a git repository, so changes could not be taken back; run \`git init\` there, or add --no-git`,
    );
  }
  const isTrusted = flags.trust === true || (await decideTrust(io, project));

  using interrupts = takeInterrupts(io);
  await using engine = await openEngine(io, project, isTrusted, {
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(io.canAsk ? { approver: createApprovalPrompt(io) } : {}),
  });
  const spec = chooseAgent(engine, flags);
  const startedAt = performance.now();

  const places = watchPlaces(engine);
  let tokensUsed = (): number => 0;
  const view = createRunView({
    write: io.out,
    style: createStyle(io.hasColors),
    isLive: io.isTerminal,
    columns: io.columns,
    where: places.where,
    tokensUsed: () => tokensUsed(),
  });
  const off = engine.bus.on('*', (envelope) => {
    if (flags.json === true) io.out(`${JSON.stringify(envelope)}\n`);
    else view.show(envelope);
  });
  const run = engine.run(spec, task, toRunOptions(flags));
  tokensUsed = () => run.used().tokens;
  interrupts.stop(run);
  const onReaderGone = (): void => void run.cancel();
  io.readerGone.addEventListener('abort', onReaderGone);
  try {
    const outcome = await run.outcome;
    off();
    if (flags.json !== true) io.out(describeEnd(outcome, run.used().cost, performance.now() - startedAt, io));
    return report(io, outcome, interrupts.happened);
  } finally {
    io.readerGone.removeEventListener('abort', onReaderGone);
    interrupts.finish();
  }
}

function chooseAgent(engine: Engine, flags: RunFlags): AgentSpec {
  const spec = engine.agents.get(flags.agent);
  if (spec === undefined) {
    const known = engine.agents.list().map((agent) => agent.role);
    throw new UsageError(`there is no agent \`${flags.agent}\`; there are ${known.join(', ')}`);
  }
  return flags.maxSteps === undefined ? spec : { ...spec, max_steps: flags.maxSteps };
}

function toRunOptions(flags: RunFlags): RunOptions {
  return {
    permissions: {
      ...(flags.allowNetwork === true ? { network: true } : {}),
      ...(flags.readOnly === true ? { write: false, execute: false } : {}),
    },
    ...(flags.maxTokens === undefined && flags.maxCost === undefined
      ? {}
      : {
          budget: {
            ...(flags.maxTokens === undefined ? {} : { maxTokens: flags.maxTokens }),
            ...(flags.maxCost === undefined ? {} : { maxCost: flags.maxCost }),
          },
        }),
  };
}

/** The last line on standard output. What the tokens cost is told when a price is known. */
function describeEnd(outcome: AgentOutcome, cost: number, durationMs: number, io: CliIo): string {
  const style = createStyle(io.hasColors);
  const word = outcome.stop.reason === 'completed' ? style.good('completed') : style.bad(outcome.stop.reason);
  const { input_tokens: input, output_tokens: output, cache_read_tokens: cached } = outcome.usage;
  const facts = [
    count(outcome.steps, 'step'),
    count(outcome.tool_calls, 'tool call'),
    `${input} tokens in, ${output} out${cached === 0 ? '' : `, ${cached} read from the cache`}`,
    ...(cost === 0 ? [] : [`${cost.toFixed(4)} USD`]),
    `${(durationMs / 1000).toFixed(1)} s`,
  ];
  return `\n${word} ${style.faint(`· ${facts.join(' · ')}`)}\n`;
}

function report(io: CliIo, { stop, steps }: AgentOutcome, wasInterrupted: boolean): ExitCode {
  // `vibe-bus run … | head` got all it wanted
  if (stop.reason === 'completed' || io.readerGone.aborted) return exitCodes.ok;
  if (stop.reason === 'cancelled' && wasInterrupted) {
    io.err('interrupted\n');
    return exitCodes.interrupted;
  }
  const { message, wayOut } = describeStop(stop, steps);
  io.err(toFailureLines(message, wayOut));
  return exitCodes.failed;
}

function describeStop(
  stop: AgentStop,
  steps: number,
): { readonly message: string; readonly wayOut?: string | undefined } {
  switch (stop.reason) {
    case 'completed':
      return { message: 'completed' };
    case 'max_steps':
      return {
        message: `the agent used all its ${steps} steps without an end`,
        wayOut: 'Raise the limit with `--max-steps`.',
      };
    case 'context_window':
      return {
        message: 'the conversation no longer fits the model',
        wayOut: 'Give a smaller task, or a model with a larger context window.',
      };
    case 'cancelled':
      return describeCancel(stop.cause);
    case 'error':
      return { message: stop.message, wayOut: wayOutOf(stop.kind, stop.code) };
  }
}

function describeCancel(cause: Extract<AgentStop, { reason: 'cancelled' }>['cause']): {
  readonly message: string;
  readonly wayOut?: string;
} {
  switch (cause) {
    case 'budget_tokens':
      return { message: 'the token budget is used up', wayOut: 'Raise it with `--max-tokens` or [budget].' };
    case 'budget_duration':
      return { message: 'the time budget is used up', wayOut: 'Raise `max_duration_secs` in [budget].' };
    case 'budget_cost':
      return { message: 'the cost budget is used up', wayOut: 'Raise it with `--max-cost` or [budget].' };
    case 'abort':
    case undefined:
      return { message: 'the run was cancelled' };
  }
}

function count(amount: number, thing: string): string {
  return `${amount} ${thing}${amount === 1 ? '' : 's'}`;
}
