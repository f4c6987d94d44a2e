import { wrap, releaseProxy } from 'comlink';
import { createBudget } from '../agent/budget.ts';
import type { RunControl } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import { silentLogger } from '../protocol/deps.ts';
import { EngineError, fromWireError, toWireError } from '../protocol/error.ts';
import type { Usage } from '../protocol/message.ts';
import type { Provider } from '../protocol/model.ts';
import { systemClock } from '../protocol/signal.ts';
import { openProvider } from '../providers/provider.ts';
import { executeRun, type RunPorts } from './execute-run.ts';
import {
  isOutsideCalls,
  type PortAnswer,
  type RunPort,
  type RunReport,
  type RunThreadJob,
  type RunThreadResult,
  toEndpoint,
} from './run-port.ts';

/** The thread's side of one run: the loop and the provider work here, everything else is asked of the main thread. */
export async function executeInThread(thread: RunThreadJob): Promise<RunThreadResult> {
  const { port, job } = thread;
  const remote = wrap<RunPort>(toEndpoint(port));
  const reports = createReporter((report) => port.postMessage(report));
  const cancel = new AbortController();
  const abort = (): void => cancel.abort(new EngineError('cancelled', 'the run was cancelled'));
  const steering: string[] = [];
  let isStopRequested = thread.isCancelled;
  if (thread.isCancelled) abort();
  port.on('message', (message: unknown) => {
    if (!isOutsideCalls(message) || !('control' in message)) return;
    if (message.control === 'steer') steering.push(message.text);
    else {
      isStopRequested = true;
      if (message.mode === 'hard') abort();
    }
  });

  const provider = openThreadProvider(thread);
  const budget = createBudget(thread.budget, { clock: systemClock, price: thread.price });
  const control: RunControl = {
    signal: cancel.signal,
    isStopRequested: () => isStopRequested,
    cause: () => undefined,
    budget: {
      ...budget,
      add(usage) {
        budget.add(usage);
        reports.usage(usage);
      },
    },
  };
  const ports: RunPorts = {
    async complete(request, onDelta) {
      if (thread.observesRequests) await remote.observeRequest({ ...request, signal: undefined } as never);
      return await provider.completeStreaming(request, onDelta);
    },
    async completeAux(request) {
      if (thread.observesRequests) await remote.observeRequest({ ...request, signal: undefined } as never);
      return await provider.complete(request);
    },
    async callTool(call) {
      reports.flush();
      return await remote.callTool(call);
    },
    augmentPrompt: async (role, task) => unwrap(await remote.augmentPrompt(role, task)),
    checkDocument: async (document) => unwrap(await remote.checkDocument(document)),
    publish: (event) => reports.event(event),
    takeSteering: () => steering.splice(0),
    clock: systemClock,
    logger: { warn: (message, fields) => reports.warning(message, fields) },
  };
  try {
    return { ok: true, result: await executeRun(job, control, ports) };
  } catch (error) {
    return { ok: false, error: toWireError(error) };
  } finally {
    reports.end();
    remote[releaseProxy]();
    port.close();
  }
}

function openThreadProvider(thread: RunThreadJob): Provider {
  // why: the key travels in the reference, so the thread needs no environment
  return openProvider(thread.provider, {
    fetch,
    clock: systemClock,
    random: Math.random,
    env: {},
    logger: silentLogger,
  });
}

function unwrap<T>(answer: PortAnswer<T>): T {
  if (answer.ok) return answer.value;
  throw fromWireError(answer.error);
}

/** Collects what happens during one turn of the event loop into one message: the number of messages is what costs. */
function createReporter(post: (report: RunReport) => void) {
  let events: BusEvent[] = [];
  let usage: Usage[] = [];
  let warnings: RunReport['warnings'][number][] = [];
  let isScheduled = false;

  function send(isLast: boolean): void {
    if (!isLast && events.length === 0 && usage.length === 0 && warnings.length === 0) return;
    post({ report: true, events, usage, warnings, isLast });
    events = [];
    usage = [];
    warnings = [];
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      send(false);
    });
  }

  return {
    event(event: BusEvent): void {
      events.push(event);
      schedule();
    },
    usage(counted: Usage): void {
      usage.push(counted);
      schedule();
    },
    warning(message: string, fields: RunReport['warnings'][number]['fields']): void {
      warnings.push({ message, fields });
      schedule();
    },
    flush: () => send(false),
    end: () => send(true),
  };
}
