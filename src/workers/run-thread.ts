import { type BudgetStop, createBudget } from '../agent/budget.ts';
import type { OfferedTools, RunControl } from '../agent/ports.ts';
import { Cancellation } from '../protocol/cancellation.ts';
import { EngineError, messageOf, toWireError } from '../protocol/error.ts';
import type { CompletionRequest, Provider, ProviderRef } from '../protocol/model.ts';
import { systemClock } from '../protocol/signal.ts';
import { openProvider, type ProviderDeps, type ProviderKind } from '../providers/provider.ts';
import { executeRun, type RunPorts } from './execute-run.ts';
import { type RunControlMessage, runCounters, type RunThreadJob, type RunThreadResult } from './run-port.ts';
import { closeGate, openGate } from './text-gate.ts';
import { collectSignedThinking } from './run-thinking.ts';
import { createRunReporter, type RunReporter } from './run-reporter.ts';
import type { CopiesOfRun } from './kept-copies.ts';
import type { ThreadSide } from './thread-side.ts';
import { importUrl } from './tool-module.ts';

/** The thread's side of one run: the loop and the provider work here, everything else is asked of the main thread. */
export async function executeInThread(thread: RunThreadJob, side: ThreadSide): Promise<void> {
  const { run, counters } = thread;
  const copies = side.copies.share(thread);
  let unsendable: EngineError | undefined;
  const reports = createRunReporter({
    run,
    counters,
    post: side.post,
    onUnsendable(error) {
      unsendable ??= error;
      inbox.end(error);
    },
  });
  const inbox = createInbox(thread, copies, reports);
  side.listen(run, { receive: inbox.receive, answer: reports.answer });
  reports.begin();
  const result = await execute(thread, inbox, reports);
  side.unlisten(run);
  copies.release();
  reports.end(unsendable === undefined ? result : { ok: false, error: toWireError(unsendable) });
}

async function execute(thread: RunThreadJob, inbox: Inbox, reports: RunReporter): Promise<RunThreadResult> {
  try {
    const provider = await openThreadProvider(thread.provider, reports);
    for (const [call, thinking] of thread.signedThinking) provider.signedThinking?.set(call, thinking);
    const ports = toPorts(thread, provider, reports, inbox);
    const result = await executeRun(thread.job, inbox.control, ports);
    return { ok: true, result, signedThinking: collectSignedThinking(provider, result.outcome.messages) };
  } catch (error) {
    return { ok: false, error: toWireError(error) };
  }
}

/** What the main thread told the run, as the loop asks for it. */
interface Inbox {
  readonly control: RunControl;
  takeSteering(): readonly string[];
  /** A session begins, so texts may join. */
  openSteering(): void;
  awaitSteering(): Promise<void> | undefined;
  offeredTools(): OfferedTools | undefined;
  receive(message: RunControlMessage): void;
  /** Ends everything in flight. */
  end(reason: EngineError): void;
}

function createInbox(thread: RunThreadJob, copies: CopiesOfRun, reports: RunReporter): Inbox {
  const cancellation = new Cancellation();
  const steering: string[] = [];
  let texts = 0;
  let onText = (): void => {};
  let offered: OfferedTools | undefined;
  const budget = createBudget(thread.budget, { clock: systemClock, price: thread.price });
  let { isStopRequested } = thread;
  let spent: BudgetStop | undefined;

  function receive(message: RunControlMessage): void {
    switch (message.control) {
      case 'steer':
        steering.push(message.text);
        texts += 1;
        onText();
        return;
      case 'tools':
        offered = copies.offer(message.offer, message.offered);
        return;
      case 'spent':
        spent ??= message.stop;
        return;
      case 'cancel':
        isStopRequested = true;
        if (message.mode !== 'hard') return;
        Atomics.store(thread.counters, runCounters.heardCancel, 1);
        end(new EngineError('cancelled', 'the run was cancelled'));
    }
  }

  function end(reason: EngineError): void {
    cancellation.cancel(reason);
  }

  if (Atomics.load(thread.counters, runCounters.toldCancel) === 1) receive({ control: 'cancel', mode: 'hard' });
  return {
    control: {
      cancellation,
      isStopRequested: () => isStopRequested,
      cause: () => undefined,
      budget: {
        add(usage) {
          budget.add(usage);
          reports.usage(usage);
        },
        exceeded: () => spent ?? budget.exceeded(),
      },
    },
    takeSteering: () => steering.splice(0),
    openSteering: () => openGate(thread.counters, texts),
    awaitSteering: () =>
      closeGate(thread.counters, texts) ? undefined : new Promise<void>((resolve) => (onText = resolve)),
    offeredTools: () => offered,
    receive,
    end,
  };
}

function toPorts({ observesRequests }: RunThreadJob, provider: Provider, reports: RunReporter, inbox: Inbox): RunPorts {
  async function announce({ signal: _signal, ...request }: CompletionRequest): Promise<void> {
    // why: what a provider does may be the last thing this thread does, and what came before must be known
    reports.flush();
    if (observesRequests) await reports.ask('observe_request', request);
  }

  return {
    async complete(request, onDelta) {
      await announce(request);
      return await provider.completeStreaming(request, onDelta);
    },
    async completeAux(request) {
      await announce(request);
      return await provider.complete(request);
    },
    callTool: ({ id, name, input }) => reports.ask('call', id, name, input),
    augmentPrompt: (role, task) => reports.ask('augment_prompt', role, task),
    checkDocument: (document) => reports.ask('check_document', document),
    publish(event) {
      if (event.type === 'agent_started') inbox.openSteering();
      reports.event(event);
    },
    takeSteering: inbox.takeSteering,
    awaitSteering: inbox.awaitSteering,
    offeredTools: inbox.offeredTools,
    clock: systemClock,
    logger: reports.logger,
  };
}

/** @throws EngineError `config` when the module of a kind cannot be loaded or holds none */
async function openThreadProvider(ref: ProviderRef, reports: RunReporter): Promise<Provider> {
  const deps: ProviderDeps = {
    fetch,
    clock: systemClock,
    random: Math.random,
    // why: the key travels in the reference, so the thread needs no environment
    env: {},
    logger: reports.logger,
  };
  if (ref.module === undefined) return openProvider(ref, deps);
  return openProvider(ref, { ...deps, kinds: new Map([[ref.kind, await loadKind(ref.name, ref.module)]]) });
}

async function loadKind(name: string, { url, export: exported }: NonNullable<ProviderRef['module']>) {
  let module: Record<string, unknown>;
  try {
    module = await importUrl(url);
  } catch (cause) {
    throw new EngineError('config', `provider \`${name}\`: cannot load ${url}: ${messageOf(cause)}`, { cause });
  }
  const kind = Object.hasOwn(module, exported) ? module[exported] : undefined;
  if (isProviderKind(kind)) return kind;
  throw new EngineError('config', `provider \`${name}\`: ${url} exports no provider kind \`${exported}\``);
}

function isProviderKind(value: unknown): value is ProviderKind {
  return typeof value === 'object' && value !== null && 'open' in value && typeof value.open === 'function';
}
