import type { BudgetLimits } from '../agent/budget.ts';
import { EngineError } from '../protocol/error.ts';
import { checkAmount, checkChoice, checkWhole } from '../protocol/option-check.ts';
import { isEngineThread } from '../workers/entry.ts';
import type { EngineOptions, RunOptions } from './options.ts';

/**
 * Values that no type keeps out (a NaN from a missing variable, a word from a file) and that would mean something else than
 * they say.
 * @throws EngineError `config` naming the option and what it takes
 */
export function checkRunOptions({ placement, whenBusy, priority, budget, runId }: RunOptions): void {
  checkChoice('placement', placement, placements);
  checkChoice('whenBusy', whenBusy, busyWays);
  if (runId === '') throw new EngineError('config', 'option `runId` must not be empty');
  if (priority !== undefined && !Number.isFinite(priority)) {
    throw new EngineError('config', 'option `priority` must be a number');
  }
  checkBudget(budget);
}

/**
 * @throws EngineError `config` naming the option and what it takes, or in a thread of an engine: a module that opens one as
 * it is loaded is the program itself, and each thread would start it again
 */
export function checkEngineOptions(options: EngineOptions): void {
  if (isEngineThread()) throw new EngineError('config', noEngineHere);
  checkChoice('placement', options.placement, placements);
  for (const name of ['runThreads', 'runsPerThread', 'toolThreads', 'toolThreadsPerRun'] as const) {
    checkWhole(name, options[name], 1);
  }
  checkAmount('closeGraceMs', options.closeGraceMs);
  checkBudget(options.budget);
}

function checkBudget(budget: BudgetLimits | undefined): void {
  if (budget === undefined) return;
  for (const name of amounts) checkAmount(`budget.${name}`, budget[name]);
}

const noEngineHere =
  'a thread of an engine opens no engine: when a tool or provider names the program itself as its module, put it in a file of its own';
const placements = ['inline', 'thread', 'auto'];
const busyWays = ['queue', 'reject'];
const amounts = ['maxTokens', 'maxDurationMs', 'maxCost', 'usedTokens', 'usedCost', 'elapsedMs'] as const;
