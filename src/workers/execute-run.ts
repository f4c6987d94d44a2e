import { runAgent } from '../agent/loop.ts';
import type { AgentPorts, RunControl, RunSettings } from '../agent/ports.ts';
import type { AgentOutcome } from '../protocol/agent.ts';
import type { Message } from '../protocol/message.ts';

/** How the sessions of a run follow each other. */
export type RunMode = { readonly kind: 'plain' };

/** One run as data: the same for inline and thread placement. */
export interface RunJob {
  readonly settings: RunSettings;
  readonly mode: RunMode;
  /** The conversation so far, ending with the user's turn. */
  readonly messages: readonly Message[];
}

export interface RunResult {
  readonly outcome: AgentOutcome;
  /** The document of a structured run. */
  readonly value?: unknown;
}

/** Executes a run wherever it was placed; what differs between placements is behind the ports. */
export async function executeRun(job: RunJob, control: RunControl, ports: AgentPorts): Promise<RunResult> {
  return { outcome: await runAgent(job.settings, job.messages, control, ports) };
}
