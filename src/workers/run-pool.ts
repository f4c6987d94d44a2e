import { expose } from 'comlink';
import { availableParallelism } from 'node:os';
import { MessageChannel } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { Budget, BudgetLimits, ModelPrice } from '../agent/budget.ts';
import type { RunControl } from '../agent/ports.ts';
import { EngineError, fromWireError, messageOf, toWireError } from '../protocol/error.ts';
import type { Logger } from '../protocol/deps.ts';
import type { CompletionRequest, ProviderRef } from '../protocol/model.ts';
import { workerEntry } from './entry.ts';
import type { RunJob, RunPorts, RunResult } from './execute-run.ts';
import {
  isOutsideCalls,
  type PortAnswer,
  type RunControlMessage,
  type RunPort,
  type RunReport,
  type RunThreadJob,
  type RunThreadResult,
  toEndpoint,
} from './run-port.ts';

export interface RunPoolOptions {
  /** Threads at most. Default: the cores this process may use. */
  readonly threads?: number | undefined;
  /** Runs that share a thread. A dying thread ends all of its runs. Default 16. */
  readonly runsPerThread?: number | undefined;
  readonly logger: Logger;
}

/** A run to execute in a thread. */
export interface ThreadRun {
  readonly job: RunJob;
  readonly provider: ProviderRef;
  readonly budget: BudgetLimits;
  readonly price: ModelPrice | undefined;
  /** The main thread's count of what the run uses. */
  readonly counted: Budget;
  readonly control: RunControl;
  readonly ports: RunPorts;
  /** Sees each model request before it is made. */
  onRequest?: ((request: CompletionRequest) => void | Promise<void>) | undefined;
  /** Tells when a cooperative stop was asked for, and each text that joins. */
  onControl(send: (message: RunControlMessage) => void): void;
}

export interface RunPool {
  /** @throws EngineError code `worker_exited` when the thread ended before the run did, or what the run rejected with */
  execute(run: ThreadRun): Promise<RunResult>;
  stats(): { readonly threads: number; readonly running: number; readonly queued: number };
  close(): Promise<void>;
}

/** Threads start at the first run. */
export function createRunPool(options: RunPoolOptions): RunPool {
  const threads = Math.max(1, options.threads ?? availableParallelism());
  const runsPerThread = Math.max(1, options.runsPerThread ?? 16);
  let pool: Piscina<RunThreadJob, RunThreadResult> | undefined;
  let running = 0;

  function open(): Piscina<RunThreadJob, RunThreadResult> {
    const opened = new Piscina<RunThreadJob, RunThreadResult>({
      ...workerEntry('run-worker'),
      minThreads: 1,
      maxThreads: threads,
      concurrentTasksPerWorker: runsPerThread,
      // why: with the default, an idle worker does not hear the ports that live in it
      atomics: 'disabled',
      idleTimeout: 10_000,
    });
    // why: an unheard pool error would end the process; each run settles by its own promise
    opened.on('error', (error: unknown) =>
      options.logger.error(`run thread: ${messageOf(error)}`, { target: 'vibe::workers' }),
    );
    return opened;
  }

  async function execute(run: ThreadRun): Promise<RunResult> {
    pool ??= open();
    const { port1: port, port2: remote } = new MessageChannel();
    let end: () => void = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    port.on('message', (message: unknown) => {
      if (isOutsideCalls(message) && 'report' in message) receive(run, message, end);
    });
    port.on('close', () => end());
    expose(toPort(run), toEndpoint(port));
    const send = (message: RunControlMessage): void => port.postMessage(message);
    const onAbort = (): void => send({ control: 'cancel', mode: 'hard' });
    run.control.signal.addEventListener('abort', onAbort, { once: true });
    run.onControl(send);
    running += 1;
    try {
      const thread: RunThreadJob = {
        job: run.job,
        provider: run.provider,
        budget: run.budget,
        price: run.price,
        observesRequests: run.onRequest !== undefined,
        isCancelled: run.control.signal.aborted,
        port: remote,
      };
      const answer = await pool.run(thread, { transferList: [remote] }).catch((error: unknown) => {
        throw toExited(error);
      });
      await ended; // the last events travel on the port, the result does not
      if (answer.ok) return answer.result;
      throw fromWireError(answer.error);
    } finally {
      running -= 1;
      run.control.signal.removeEventListener('abort', onAbort);
      port.close();
    }
  }

  return {
    execute,
    stats: () => ({ threads: pool?.threads.length ?? 0, running, queued: pool?.queueSize ?? 0 }),
    async close() {
      const closing = pool;
      pool = undefined;
      await closing?.destroy();
    },
  };
}

function receive(run: ThreadRun, report: RunReport, end: () => void): void {
  for (const usage of report.usage) run.counted.add(usage);
  for (const event of report.events) run.ports.publish(event);
  for (const { message, fields } of report.warnings) run.ports.logger.warn(message, fields);
  if (report.isLast) end();
}

function toPort(run: ThreadRun): RunPort {
  const { ports } = run;
  return {
    callTool: (call) => ports.callTool(call),
    augmentPrompt: (role, task) => answer(() => ports.augmentPrompt(role, task)),
    checkDocument: (document) => answer(() => ports.checkDocument(document)),
    async observeRequest(request) {
      await run.onRequest?.({ ...request, signal: run.control.signal });
    },
  };
}

async function answer<T>(work: () => Promise<T>): Promise<PortAnswer<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error: toWireError(error) };
  }
}

function toExited(error: unknown): EngineError {
  return new EngineError('other', `the thread of the run ended: ${messageOf(error)}`, {
    code: 'worker_exited',
    cause: error,
  });
}
