import { type ActorControl, createRunBehavior, type RunInbox } from '../actors/run-actor.ts';
import type { Budget } from '../agent/budget.ts';
import type { AgentOutcome, Handoff } from '../protocol/agent.ts';
import { EngineError } from '../protocol/error.ts';
import type { RunId } from '../protocol/ids.ts';
import { userText } from '../protocol/message.ts';
import { type Approvals, createApprovals } from '../tools/approvals.ts';
import { createRunRules, parseRules } from '../tools/rules.ts';
import type { RunResult } from '../workers/execute-run.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { Ticket } from './admission.ts';
import { startChildRun } from './child-run.ts';
import { checkDelegates, offerTools } from './offer.ts';
import { resolveLimits } from './options.ts';
import { executePrepared } from './run-execution.ts';
import { createRunHandle, type FollowUpOptions, type RunHandle } from './run-handle.ts';
import { createRunLog } from './run-log.ts';
import type { PreparedRun } from './run-ports.ts';
import type { ActiveRun, EarlierSession, RunRequest, RunsDeps, StartedRun } from './run-request.ts';
import { findPrice, openBudget, toRunSettings } from './run-settings.ts';

/** Starts runs and knows which are active. */
export interface Runs {
  /**
   * @throws EngineError `config` for a bad option or an unknown provider or delegate, `invalid_request` for a run id in use,
   * code `overloaded` when the engine takes no more
   */
  start(request: RunRequest): StartedRun;
  /** Also those that wait for their turn. */
  active(): readonly RunHandle[];
  /** How many were started since the engine opened, child runs and follow-ups included. */
  started(): number;
}

export function createRuns(deps: RunsDeps): Runs {
  const { bus } = deps;
  const active = new Map<RunId, RunHandle>();
  let started = 0;

  return { start, active: () => [...active.values()], started: () => started };

  function start(request: RunRequest): StartedRun {
    const { spec, options, earlier } = request;
    const run = earlier?.run ?? (options.runId === undefined ? deps.newId.run() : (options.runId as RunId));
    if (run === '') throw new EngineError('config', 'option `runId` must not be empty');
    if (active.has(run)) throw new EngineError('invalid_request', `run \`${run}\` is already active`);
    checkDelegates(spec, deps.agents);
    const chosen = deps.chooseModel(spec, options);
    const limits = resolveLimits(options, ...deps.limits);
    const ofRun = options.rules === undefined ? [] : [parseRules(options.rules, 'option `rules`')];
    const rules = createRunRules([...deps.rules, ...ofRun], spec.role);
    const price = findPrice(run, options, chosen, deps);
    const approvals = createApprovals({
      approver: options.approver ?? deps.defaults.approver,
      timeoutMs: limits.approvalTimeoutMs,
      publish: bus.publish,
    });
    const ticket = enter(request);
    try {
      const started = begin(run, request, { chosen, limits, rules, price, approvals }, ticket);
      if (earlier !== undefined) bus.publish({ type: 'run_followed_up', run, text: request.message });
      if (ticket !== undefined && ticket.position > 0) publishQueued(run, request, ticket);
      return started;
    } catch (error) {
      ticket?.leave();
      throw error;
    }
  }

  /** A child run is part of its parent, which already has a place: waiting for another would be waiting for itself. */
  function enter({ options, parent }: RunRequest): Ticket | undefined {
    if (parent !== undefined) return undefined;
    const { tenant = '', priority = 0, whenBusy = 'queue' } = options;
    if (!Number.isFinite(priority)) throw new EngineError('config', 'option `priority` must be a number');
    return deps.admission.enter({ tenant, priority, mayWait: whenBusy === 'queue' });
  }

  function publishQueued(run: RunId, { spec, options }: RunRequest, { position }: Ticket): void {
    const { tenant = null, priority = 0 } = options;
    const { queued } = deps.admission.stats();
    bus.publish({ type: 'run_queued', run, role: spec.role, tenant, priority, position, queued });
  }

  function begin(
    run: RunId,
    request: RunRequest,
    resolved: Pick<PreparedRun, 'limits' | 'rules' | 'price'> & { chosen: ChosenModel; approvals: Approvals },
    ticket: Ticket | undefined,
  ): StartedRun {
    const { spec, options, parent, earlier } = request;
    const { limits, approvals } = resolved;
    const log = earlier?.log ?? createRunLog(bus, run);
    const children: RunHandle[] = [];
    let last: AgentOutcome | undefined;
    let isWaiting = ticket?.turn !== undefined;
    let hasEnded = false;
    let isSessionOpen = true;
    let budget: Budget | undefined;
    let activeMs = 0;

    let settle: { resolve(result: RunResult): void; reject(error: unknown): void } | undefined;
    const result = new Promise<RunResult>((resolve, reject) => (settle = { resolve, reject }));
    const outcome = result.then((done) => done.outcome);
    outcome.catch(() => {}); // a caller that only watches events must not meet an unhandled rejection

    const child = deps.supervisor.start({
      restart: 'temporary',
      // its own end is waited for before its actor is stopped
      actor: { stopMs: 1_000 },
      ...(parent === undefined ? {} : { parent: parent.run.handle.id }),
      behavior: () =>
        createRunBehavior({
          run,
          approvals,
          signal: options.signal,
          onSteered: (text) => void bus.publish({ type: 'run_steered', run, text }),
          execute,
        }),
    });
    const handle = createRunHandle({
      run,
      role: spec.role,
      actor: child.ref(),
      outcome,
      log,
      approvals,
      children,
      canJoin: () => !hasEnded && isSessionOpen,
      state: () => (hasEnded ? 'ended' : isWaiting ? 'queued' : 'running'),
      used: () => ({
        tokens: budget?.usedTokens() ?? earlier?.tokens ?? 0,
        cost: budget?.usedCost() ?? earlier?.cost ?? 0,
      }),
      followUp,
    });
    const self: ActiveRun = {
      handle,
      request,
      limits,
      depth: parent === undefined ? 0 : parent.run.depth + 1,
      budget: () => budget,
      addChild: (started) => void children.push(started),
    };
    active.set(run, handle);
    started += 1;
    parent?.run.addChild(handle);
    return { handle, result };

    async function execute(control: ActorControl, inbox: RunInbox): Promise<void> {
      try {
        await waitForTurn(control, inbox, ticket);
        isWaiting = false;
        budget = openBudget(request, resolved.price, deps);
        const done = await executePrepared(prepare(), { ...control, budget }, inbox, deps);
        last = done.outcome;
        settle?.resolve(done);
      } catch (error) {
        settle?.reject(error);
      } finally {
        ticket?.leave();
        end();
      }
    }

    function onSession(isOpen: boolean): void {
      isSessionOpen = isOpen;
    }

    function prepare(): PreparedRun {
      let handoff: Handoff | undefined;
      const offered = offerTools(spec, deps, {
        depth: self.depth,
        startChild: (tool, task, context) => startChildRun(self, tool, task, context, start),
        onHandoff: (wish) => (handoff ??= wish),
      });
      const settings = toRunSettings(run, request, offered, resolved.chosen, limits, deps.root);
      return { ...resolved, request, settings, offered, handoff: () => handoff, onSession };
    }

    function end(): void {
      hasEnded = true;
      isWaiting = false;
      activeMs = budget?.usedMs() ?? earlier?.activeMs ?? 0;
      active.delete(run);
      log.end();
      if (options.runId === undefined) bus.forgetRun(run);
    }

    function followUp(text: string, more: FollowUpOptions): RunHandle {
      if (active.has(run)) throw new EngineError('invalid_request', `run \`${run}\` is still active; use \`steer\``);
      const { signal: _signal, ...kept } = options;
      const session: EarlierSession = {
        run,
        log,
        history: last?.messages ?? [...(earlier?.history ?? options.history ?? []), userText(request.message)],
        tokens: handle.used().tokens,
        cost: handle.used().cost,
        activeMs,
      };
      log.reopen();
      try {
        return start({
          spec,
          message: text,
          options: { ...kept, ...more },
          mode: { kind: 'plain' },
          earlier: session,
        }).handle;
      } catch (error) {
        log.end();
        throw error;
      }
    }
  }
}

/** A run that is told to end while it waits gives up its place and goes on at once, to its end. */
async function waitForTurn(control: ActorControl, inbox: RunInbox, ticket: Ticket | undefined): Promise<void> {
  if (ticket?.turn === undefined) return;
  const cancelled = new Promise<false>((resolve) => {
    const onCancel = (): void => resolve(false);
    if (control.signal.aborted) onCancel();
    control.signal.addEventListener('abort', onCancel, { once: true });
    inbox.listen({ cancel: onCancel });
  });
  const isTurn = await Promise.race([ticket.turn.then(() => true), cancelled]);
  inbox.listen({});
  if (!isTurn) ticket.leave();
}
