import type { Clock } from '../protocol/deps.ts';
import { EngineError } from '../protocol/error.ts';
import { checkWhole } from '../protocol/option-check.ts';

/** How many runs an engine executes at once, and what happens to more. */
export interface AdmissionOptions {
  /** Runs at once; child runs are part of their parent. Default: no limit. */
  readonly maxActiveRuns?: number;
  /** Runs of one tenant at once. Default: no limit. */
  readonly maxActivePerTenant?: number;
  /** Runs that wait; one more is refused with code `overloaded`. 0 = none waits. Default 10 000. */
  readonly maxQueued?: number;
}

export interface AdmissionEntry {
  readonly tenant: string;
  /** Higher goes first among the runs of its tenant. */
  readonly priority: number;
  /** Whether the run may wait; else it is refused when there is no room now. */
  readonly mayWait: boolean;
}

/** A run's place, from the moment it was accepted to its end. */
export interface Ticket {
  /** Place among the waiting runs of its tenant when it came, from 1; 0 = it did not have to wait. */
  readonly position: number;
  /** Resolves when it is the run's turn; absent when it did not have to wait. */
  readonly turn: Promise<void> | undefined;
  /** Gives the place to the next run, also while waiting. Calling it again does nothing. */
  leave(): void;
}

export interface Admission {
  /** @throws EngineError code `overloaded`, with the time after which to try again and what is full in its data */
  enter(entry: AdmissionEntry): Ticket;
  stats(): { readonly active: number; readonly queued: number };
}

interface Waiting {
  readonly priority: number;
  readonly tenant: Tenant;
  start(): void;
}

interface Tenant {
  readonly name: string;
  active: number;
  /** The highest priority first, then in order of arrival. */
  readonly waiting: Waiting[];
  /** When it last had a turn, as a count of turns. */
  lastTurn: number;
}

/**
 * Hands out places. Among tenants the one with the fewest active runs is next, then the one that waited longest for a turn:
 * however much one tenant has waiting, the first run of another gets the next place that becomes free.
 * @throws EngineError `config` for a limit that is no whole number in its range
 */
export function createAdmission(
  options: AdmissionOptions,
  deps: { readonly clock: Pick<Clock, 'elapsed'> },
): Admission {
  const unlimited = Number.POSITIVE_INFINITY;
  const maxActive = checkWhole('admission.maxActiveRuns', options.maxActiveRuns, 1) ?? unlimited;
  const maxPerTenant = checkWhole('admission.maxActivePerTenant', options.maxActivePerTenant, 1) ?? unlimited;
  const maxQueued = checkWhole('admission.maxQueued', options.maxQueued, 0) ?? 10_000;
  const tenants = new Map<string, Tenant>();
  let active = 0;
  let queued = 0;
  let turns = 0;
  /** Of the runs that ended lately, in milliseconds: what a refused caller is told to wait by. */
  let usualMs = 1_000;

  function enter({ tenant: name, priority, mayWait }: AdmissionEntry): Ticket {
    const tenant = tenantOf(name);
    if (hasRoomFor(tenant)) {
      return take(tenant);
    }
    if (!mayWait || queued >= maxQueued) {
      forget(tenant);
      throw overloaded();
    }
    return wait(tenant, priority);
  }

  function wait(tenant: Tenant, priority: number): Ticket {
    let taken: Ticket | undefined;
    let start: () => void = () => {};
    const turn = new Promise<void>((resolve) => (start = resolve));
    const entry: Waiting = {
      priority,
      tenant,
      start() {
        taken = take(tenant);
        start();
      },
    };
    const position = insert(tenant.waiting, entry) + 1;
    queued += 1;
    return {
      position,
      turn,
      leave() {
        if (taken !== undefined) taken.leave();
        else if (remove(tenant.waiting, entry)) {
          queued -= 1;
          forget(tenant);
        }
      },
    };
  }

  function tenantOf(name: string): Tenant {
    const known = tenants.get(name);
    if (known !== undefined) return known;
    const tenant: Tenant = { name, active: 0, waiting: [], lastTurn: 0 };
    tenants.set(name, tenant);
    return tenant;
  }

  /** Tenants come and go by the thousand; only those with runs are kept. */
  function forget(tenant: Tenant): void {
    if (tenant.active === 0 && tenant.waiting.length === 0) tenants.delete(tenant.name);
  }

  function hasRoomFor(tenant: Tenant): boolean {
    return active < maxActive && tenant.active < maxPerTenant;
  }

  function take(tenant: Tenant): Ticket {
    turns += 1;
    active += 1;
    tenant.active += 1;
    tenant.lastTurn = turns;
    return new TakenPlace(tenant, deps.clock.elapsed(), release);
  }

  function release({ tenant, startedAt }: TakenPlace): void {
    active -= 1;
    tenant.active -= 1;
    usualMs += (deps.clock.elapsed() - startedAt - usualMs) / 8;
    startWaiting();
    forget(tenant);
  }

  function startWaiting(): void {
    while (queued > 0 && active < maxActive) {
      const tenant = nextTenant();
      const entry = tenant?.waiting.shift();
      if (entry === undefined) return;
      queued -= 1;
      entry.start();
    }
  }

  function nextTenant(): Tenant | undefined {
    let next: Tenant | undefined;
    for (const tenant of tenants.values()) {
      if (tenant.waiting.length === 0 || tenant.active >= maxPerTenant) continue;
      if (next === undefined || isBefore(tenant, next)) next = tenant;
    }
    return next;
  }

  function overloaded(): EngineError {
    const rounds = (queued + 1) / Math.max(1, Math.min(maxActive, active));
    const retryAfterMs = Math.max(100, Math.round(usualMs * rounds));
    const waiting = queued === 0 ? '' : ` and ${queued} are waiting`;
    return new EngineError('other', `the engine is overloaded: ${active} runs are active${waiting}`, {
      code: 'overloaded',
      retryAfterMs,
      data: { active, queued, retry_after_ms: retryAfterMs },
    });
  }

  return { enter, stats: () => ({ active, queued }) };
}

// why: a class, because every run has one
class TakenPlace implements Ticket {
  readonly position = 0;
  readonly turn = undefined;
  readonly tenant: Tenant;
  readonly startedAt: number;
  #release: ((place: TakenPlace) => void) | undefined;

  constructor(tenant: Tenant, startedAt: number, release: (place: TakenPlace) => void) {
    this.tenant = tenant;
    this.startedAt = startedAt;
    this.#release = release;
  }

  leave(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.(this);
  }
}

function isBefore(left: Tenant, right: Tenant): boolean {
  return left.active === right.active ? left.lastTurn < right.lastTurn : left.active < right.active;
}

/** @returns the index it got */
function insert(waiting: Waiting[], entry: Waiting): number {
  let low = 0;
  let high = waiting.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((waiting[middle]?.priority ?? 0) >= entry.priority) low = middle + 1;
    else high = middle;
  }
  waiting.splice(low, 0, entry);
  return low;
}

function remove(waiting: Waiting[], entry: Waiting): boolean {
  const index = waiting.indexOf(entry);
  return index >= 0 && waiting.splice(index, 1).length > 0;
}
