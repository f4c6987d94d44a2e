import { EngineError } from '../protocol/error.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import type { RunId } from '../protocol/ids.ts';
import { parseRules } from '../tools/rules.ts';
import type { Ticket } from './admission.ts';
import { checkRunOptions } from './check-options.ts';
import { checkDelegates, createOffers } from './offer.ts';
import { resolveLimits, setsLimit } from './options.ts';
import type { RunHandle } from './run-handle.ts';
import type { RunHost, RunRequest, RunsDeps, StartedRun } from './run-request.ts';
import { findPrice } from './run-settings.ts';
import { Run } from './run.ts';

/** Starts runs and knows which are active. */
export interface Runs {
  /**
   * @throws EngineError `config` for a bad option or an unknown provider or delegate, `invalid_request` for a run id in use,
   * code `overloaded` when the engine takes no more, `engine_closed` after `close`
   */
  start(request: RunRequest): StartedRun;
  /** Also those that wait for their turn. */
  active(): readonly RunHandle[];
  /** How many were started since the engine opened, child runs and follow-ups included. */
  started(): number;
  /** Takes no more runs, follow-ups and child runs included, and cancels the others. Resolves when they have ended. */
  close(): Promise<void>;
}

export function createRuns(deps: RunsDeps): Runs {
  const { bus } = deps;
  const active = new ForgetfulMap<RunId, Run>();
  // why: thousands of runs may share them
  const usualLimits = resolveLimits(...deps.limits);
  let started = 0;
  let isClosed = false;
  const host: RunHost = {
    deps,
    offers: createOffers(deps),
    start,
    isActive: (run) => active.has(run),
    onEnded({ id, request }) {
      active.delete(id);
      if (request.options.runId === undefined) bus.forgetRun(id);
    },
  };

  return {
    start,
    active: () => active.values(),
    started: () => started,
    async close() {
      isClosed = true;
      await Promise.all(active.values().map((run) => run.cancel()));
    },
  };

  function start(request: RunRequest): StartedRun {
    if (isClosed) throw new EngineError('other', 'the engine is closed', { code: 'engine_closed' });
    const { spec, options, parent, earlier } = request;
    checkRunOptions(options);
    const id = earlier?.run ?? (options.runId === undefined ? deps.newId.run() : (options.runId as RunId));
    if (active.has(id)) throw new EngineError('invalid_request', `run \`${id}\` is already active`);
    checkDelegates(spec, deps.agents);
    const chosen = deps.chooseModel(spec, options);
    const resolved = {
      id,
      request,
      chosen,
      limits: setsLimit(options) ? resolveLimits(options, ...deps.limits) : usualLimits,
      price: findPrice(id, options, chosen, deps),
      rules: options.rules === undefined ? deps.rules : [...deps.rules, parseRules(options.rules, 'option `rules`')],
    };
    const ticket = enter(request);
    try {
      const run = new Run({ ...resolved, ticket }, host);
      active.set(id, run);
      started += 1;
      parent?.run.addChild(run);
      if (earlier !== undefined) bus.publish({ type: 'run_followed_up', run: id, text: request.message });
      if (ticket !== undefined && ticket.position > 0) publishQueued(run, ticket);
      return { handle: run, result: run.result };
    } catch (error) {
      ticket?.leave();
      throw error;
    }
  }

  /** A child run is part of its parent, which already has a place: waiting for another would be waiting for itself. */
  function enter({ options, parent }: RunRequest): Ticket | undefined {
    if (parent !== undefined) return undefined;
    const { tenant = '', priority = 0, whenBusy = 'queue' } = options;
    return deps.admission.enter({ tenant, priority, mayWait: whenBusy === 'queue' });
  }

  function publishQueued({ id, role, request }: Run, { position }: Ticket): void {
    const { tenant = null, priority = 0 } = request.options;
    const { queued } = deps.admission.stats();
    bus.publish({ type: 'run_queued', run: id, role, tenant, priority, position, queued });
  }
}
