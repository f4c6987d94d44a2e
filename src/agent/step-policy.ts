import type { AgentSpec } from '../protocol/agent.ts';

export const defaultContextWindow = 200_000;
export const contextWarningPercent = 85;
export const contextStopPercent = 90;
export const convergeStepPercent = 75;

export const warningText = 'You are near the context limit: finish now, write your final output.';
export const convergeText = 'Converge now: produce your final structured answer.';
export const nudgeText =
  'continue (your previous answer was cut off by the output limit; resume exactly where it stopped)';
export const truncatedTwiceText = 'output truncated twice';

/** Roles that are asked to converge although their answer need not be structured. */
const convergingRoles: ReadonlySet<string> = new Set(['qa_reviewer', 'spec_critic']);

/** The step at which an agent is asked to converge, or nothing for agents that are not. */
export function convergeStep(spec: AgentSpec): number | undefined {
  if (!spec.structured_output && !convergingRoles.has(spec.role)) return undefined;
  return Math.max(1, Math.ceil((spec.max_steps * convergeStepPercent) / 100));
}

export interface StepState {
  readonly steps: number;
  readonly maxSteps: number;
  readonly convergeAt: number | undefined;
  readonly isConverged: boolean;
  readonly isWarned: boolean;
}

/** Before the estimate: end, or ask to converge. */
export function beforeEstimate(state: StepState): 'max_steps' | 'converge' | 'go_on' {
  if (state.steps >= state.maxSteps) return 'max_steps';
  const { convergeAt } = state;
  if (convergeAt !== undefined && !state.isConverged && state.steps > 0 && state.steps >= convergeAt) return 'converge';
  return 'go_on';
}

/** After the estimate (which counts a converge text, not a warning): end, or warn. */
export function afterEstimate(
  estimate: number,
  window: number,
  isWarned: boolean,
): 'context_window' | 'warn' | 'go_on' {
  if (estimate * 100 >= window * contextStopPercent) return 'context_window';
  if (!isWarned && estimate * 100 >= window * contextWarningPercent) return 'warn';
  return 'go_on';
}
