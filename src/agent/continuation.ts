import type { AgentOutcome } from '../protocol/agent.ts';
import type { Logger } from '../protocol/deps.ts';
import { describeError } from '../protocol/error.ts';
import type { CompletionRequest, CompletionResponse } from '../protocol/model.ts';
import { addAuxUsage, sumSessions } from './outcome.ts';
import { defaultSummaryWords, readSummary, toSummaryRequest } from './summary.ts';

export interface ContinuationPolicy {
  /** Fresh sessions at most. Default 5. */
  readonly max_continuations?: number;
  /** Words of each handover summary at most. Default 600. */
  readonly summary_max_words?: number;
}

/** What a continued run needs of its surroundings. */
export interface ContinuationPorts {
  /** One fresh session of the run. Every session keeps the run id. */
  run(message: string): Promise<AgentOutcome>;
  /** One plain model call: no runner retry, no streaming. The port adds the run's signal and counts budgets. */
  completeAux(request: CompletionRequest): Promise<CompletionResponse>;
  /** Publishes a `log` event of level `info`. */
  publishInfo(message: string): void;
  readonly logger: Pick<Logger, 'warn'>;
}

export interface ContinuationJob {
  readonly role: string;
  /** The runner's model id; empty = the provider's default. */
  readonly model: string;
  readonly message: string;
  readonly policy?: ContinuationPolicy;
}

/**
 * Runs an agent and, each time its context is full, starts a fresh session from the original message and a summary of the
 * last session (agent-runtime section 11). The outcome holds all transcripts and counts; role, stop and final text are the
 * last session's. A summary that fails ends the run with what there is.
 */
export async function runWithContinuation(ports: ContinuationPorts, job: ContinuationJob): Promise<AgentOutcome> {
  const max = job.policy?.max_continuations ?? 5;
  let session = await ports.run(job.message);
  let whole = session;
  for (let count = 1; count <= max && session.stop.reason === 'context_window'; count += 1) {
    let summary: string;
    try {
      const words = job.policy?.summary_max_words ?? defaultSummaryWords;
      const response = await ports.completeAux(toSummaryRequest(job.model, session.messages, words));
      whole = addAuxUsage(whole, response.usage);
      summary = readSummary(response);
    } catch (error) {
      ports.logger.warn('the session could not be summarised, the run is not continued', {
        role: job.role,
        error: describeError(error),
      });
      break;
    }
    ports.publishInfo(`agent \`${job.role}\` hit the context window; continuation ${count}/${max}`);
    session = await ports.run(toContinuationMessage(job.message, summary));
    whole = { ...sumSessions(whole, session), messages: [...whole.messages, ...session.messages] };
  }
  return whole;
}

function toContinuationMessage(message: string, summary: string): string {
  return `${message}\n\nSummary of your previous session:\n${summary}\n\nContinue where you left off.`;
}
