import { expose } from 'comlink';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Budget, ModelPrice } from '../agent/budget.ts';
import type { OutputCheck } from '../agent/output-schema.ts';
import type { RunControl, RunSettings, ToolAnswer } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import type { ToolUseBlock, Usage } from '../protocol/message.ts';
import type { Provider, ProviderRef } from '../protocol/model.ts';
import type { RunJob, RunPorts, RunResult } from './execute-run.ts';
import {
  isOutsideCalls,
  type PortAnswer,
  type ReportedDelta,
  type RunControlMessage,
  type RunPort,
  type RunReport,
  type RunThreadJob,
  type SignedThinkingEntries,
} from './run-port.ts';
import { enterText, type TextGate } from './text-gate.ts';
import { toEndpoint } from './port-endpoint.ts';
import { collectSignedThinking } from './run-thinking.ts';

/** A run to execute in a thread. */
export interface ThreadRun {
  readonly job: RunJob;
  /** Whose turn a waiting run takes. */
  readonly tenant: string;
  /** Part of a run that has a place: waiting for another would be waiting for itself. */
  readonly isChild: boolean;
  /** The provider on the main thread; another one is made from `ref` in the run's. */
  readonly provider: Provider;
  readonly ref: ProviderRef;
  readonly price: ModelPrice | undefined;
  /** Of this side; what is left of it is the run's limit. */
  readonly budget: Pick<Budget, 'remaining' | 'onExceeded' | 'restart'>;
  /** Told what the run uses. */
  onUsage(usage: Usage): void;
  readonly control: RunControl;
  readonly ports: RunPorts;
  /** Takes what a run that waits for room is to hear when it is told to end, in either way. */
  onWaiting(goOn: () => void): void;
  /** Takes what sends a cooperative stop and the texts that join; it returns false for a text that comes too late. */
  onControl(send: (message: RunControlMessage) => boolean): void;
}

/** The main thread's side of one run in a thread. */
export interface RunLink {
  /** What the thread gets. */
  readonly job: RunThreadJob;
  /** Why an event of the run was refused; nothing it says after that is shown. */
  failure(): unknown;
  /** The thread the run executes in, once it has begun. */
  thread(): number | undefined;
  /** Whether the thread showed a sign of life since the run was cancelled hard; undefined while it was not. */
  hasHeardCancel(): boolean | undefined;
  /** Resolves when the last report was read or the thread's end of the port is gone. */
  readonly ended: Promise<void>;
  /** What the run came to, with what only this side has. */
  accept(result: RunResult, signedThinking: SignedThinkingEntries): RunResult;
  close(): void;
}

/** A link whose other end is still to be sent. */
export interface OpenRunLink extends RunLink {
  readonly transfer: MessagePort;
}

/**
 * Opens the port of a run; the thread's end goes to it with the job.
 * @param onCancelled called when the run was told to end at once
 */
export function openRunLink(run: ThreadRun, onCancelled: () => void): OpenRunLink {
  const { port1: port, port2: transfer } = new MessageChannel();
  const { control, provider } = run;
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const read = new Int32Array(shared, 0, 1);
  const gate: TextGate = new Int32Array(shared, Int32Array.BYTES_PER_ELEMENT, 1);
  let thread: number | undefined;
  let heardCancel: boolean | undefined;
  let answers: (readonly [number: number, answer: ToolAnswer])[] = [];
  let failure: unknown;
  let lastCheck: OutputCheck<unknown> | undefined;
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));

  port.on('message', (message: unknown) => {
    if (isOutsideCalls(message) && 'report' in message) receive(message);
  });
  port.on('close', () => end());
  expose(toPort(), toEndpoint(port));
  const cancelListener = { onCancelled: onCancel };
  control.cancellation.listen(cancelListener);
  run.onControl(send);
  const offExceeded = run.budget.onExceeded((stop) => send({ control: 'spent', stop }));

  function send(message: RunControlMessage): boolean {
    if (message.control === 'steer' && !enterText(gate)) return false;
    port.postMessage(message);
    return true;
  }

  function onCancel(): void {
    heardCancel = false;
    send({ control: 'cancel', mode: 'hard' });
    onCancelled();
  }

  function receive(report: RunReport): void {
    thread = report.thread;
    if (heardCancel === false) heardCancel = true;
    for (const usage of report.usage) run.onUsage(usage);
    for (const event of report.events) publish('type' in event ? event : toDelta(event, run.job.settings));
    for (const { level, message, fields } of report.logs) run.ports.logger[level](message, fields);
    for (const [number, call] of report.calls) void answerCall(number, call);
    Atomics.add(read, 0, 1);
    if (report.isLast) end();
  }

  async function answerCall(number: number, call: ToolUseBlock): Promise<void> {
    try {
      const answer = await run.ports.callTool(call);
      // why: calls that end in one turn of the loop are answered in one message
      if (answers.length === 0) setImmediate(sendAnswers);
      answers.push([number, answer]);
    } catch (error) {
      fail(error);
    }
  }

  function sendAnswers(): void {
    send({ control: 'answers', answers });
    answers = [];
  }

  // why: a throw in a message listener would end the process; inline the same throw ends the run, so it does here
  function publish(event: Parameters<typeof run.ports.publish>[0]): void {
    if (failure !== undefined) return;
    try {
      run.ports.publish(event);
    } catch (error) {
      fail(error);
    }
  }

  function fail(error: unknown): void {
    failure ??= error;
    send({ control: 'cancel', mode: 'hard' });
  }

  function toPort(): RunPort {
    const { ports } = run;
    return {
      augmentPrompt: (role, task) => answer(() => ports.augmentPrompt(role, task)),
      checkDocument: (document) =>
        answer(async () => {
          lastCheck = await ports.checkDocument(document);
          // why: what a schema makes of a document may be of any kind, so the value stays here
          return lastCheck.ok ? { ok: true, value: undefined } : lastCheck;
        }),
      async observeRequest(request) {
        await run.provider.onRequest?.({ ...request, signal: control.cancellation.signal });
      },
    };
  }

  return {
    transfer,
    job: {
      job: run.job,
      provider: run.ref,
      budget: run.budget.remaining(),
      price: run.price,
      observesRequests: provider.onRequest !== undefined,
      cancelled: control.cancellation.isCancelled ? 'hard' : control.isStopRequested() ? 'cooperative' : undefined,
      signedThinking: collectSignedThinking(provider, run.job.history ?? []),
      read,
      gate,
      port: transfer,
    },
    failure: () => failure,
    thread: () => thread,
    hasHeardCancel: () => heardCancel,
    ended,
    accept(result, signedThinking) {
      for (const [call, thinking] of signedThinking) provider.signedThinking?.set(call, thinking);
      return result.error === undefined && lastCheck?.ok === true ? { ...result, value: lastCheck.value } : result;
    },
    close() {
      control.cancellation.unlisten(cancelListener);
      offExceeded();
      port.close();
    },
  };
}

function toDelta([kind, text]: ReportedDelta, { run, spec, subtask }: RunSettings): BusEvent<'agent_delta'> {
  return { type: 'agent_delta', run, role: spec.role, subtask, delta: { kind, text } };
}

async function answer<T>(work: () => Promise<T>): Promise<PortAnswer<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, error: toWireError(error) };
  }
}

/** Why a run did not come back from its thread. */
export function toThreadError(error: unknown): EngineError {
  if (error instanceof Error && error.name === 'DataCloneError') {
    const message = `the run cannot be sent to a thread: ${messageOf(error)}`;
    return new EngineError('invalid_request', message, { code: 'uncloneable', cause: error });
  }
  return new EngineError('other', `the thread of the run ended: ${messageOf(error)}`, {
    code: 'worker_exited',
    cause: error,
  });
}
