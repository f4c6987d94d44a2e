import type { Supervisor } from '../actors/supervisor.ts';
import type { Bus } from '../bus/bus.ts';
import type { BusEvent } from '../bus/events.ts';
import type { Clock } from '../protocol/deps.ts';
import { checkWhole } from '../protocol/option-check.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { RunPool } from '../workers/run-pool.ts';
import type { ToolPool } from '../workers/tool-pool.ts';
import type { Admission } from './admission.ts';
import type { LoopDelayMonitor } from './loop-delay.ts';
import type { Placements } from './placement.ts';
import type { Runs } from './runs.ts';

/** Figures for operators. Rates, shares and delays are those since the figures were last taken, by anyone. */
export type EngineStats = Omit<BusEvent<'engine_stats'>, 'type'>;

export interface StatsDeps {
  readonly bus: Bus;
  readonly runs: Pick<Runs, 'active' | 'started'>;
  readonly admission: Admission;
  readonly placements: Placements;
  readonly supervisor: Supervisor;
  readonly runPool: RunPool;
  toolPool(): ToolPool | undefined;
  readonly delay: LoopDelayMonitor;
  readonly clock: Pick<Clock, 'elapsed'>;
  /** Publish the figures this often; absent = never. */
  readonly intervalMs: number | undefined;
}

export interface StatsSource {
  read(): EngineStats;
  close(): void;
}

/** @throws EngineError `config` for a period that is no whole number of milliseconds */
export function createStats(deps: StatsDeps): StatsSource {
  const { bus, delay, intervalMs } = deps;
  let lastAt = deps.clock.elapsed();
  let lastPublished = 0;
  let lastLoop = performance.eventLoopUtilization();
  let timer: NodeJS.Timeout | undefined;

  if (intervalMs !== undefined) {
    checkWhole('statsIntervalMs', intervalMs, 10, maxTimerMs);
    delay.start();
    timer = setInterval(() => void bus.publish({ type: 'engine_stats', ...read() }), intervalMs);
    timer.unref();
  }

  function read(): EngineStats {
    delay.start();
    const { p50, p99, max } = delay.read();
    const loop = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(loop, lastLoop);
    lastLoop = loop;
    const { queued } = deps.admission.stats();
    const pool = deps.toolPool()?.stats();
    const runPool = deps.runPool.stats();
    const memory = process.memoryUsage();
    return {
      runs: {
        active: deps.runs.active().length - queued,
        queued,
        inline: deps.placements.inline(),
        started: deps.runs.started(),
      },
      actors: readActors(),
      run_pool: { ...runPool, threads: runPool.threads.map((thread) => ({ ...thread })) },
      tool_pool:
        pool === undefined
          ? null
          : {
              threads: pool.threads,
              utilization: [...pool.utilization],
              busy: pool.busy,
              queued: pool.queued,
              completed: pool.completed,
              lost: pool.lost,
            },
      loop: { p50_ms: p50, p99_ms: p99, max_ms: max, utilization: toShare(utilization) },
      events: readEvents(),
      memory: { rss_bytes: memory.rss, heap_used_bytes: memory.heapUsed },
    };
  }

  function readActors(): EngineStats['actors'] {
    const actors = deps.supervisor.list();
    return {
      living: actors.length,
      waiting_commands: actors.reduce((sum, { mailbox }) => sum + mailbox, 0),
      deepest_mailbox: actors.reduce((most, { mailbox }) => Math.max(most, mailbox), 0),
      dead_letters: deps.supervisor.deadLetters(),
    };
  }

  function readEvents(): EngineStats['events'] {
    const { published, lagged, backlog, listeners, listenerErrors } = bus.stats();
    const now = deps.clock.elapsed();
    const seconds = (now - lastAt) / 1_000;
    const perSecond = seconds > 0 ? (published - lastPublished) / seconds : 0;
    lastAt = now;
    lastPublished = published;
    return {
      published,
      per_second: Number(perSecond.toFixed(1)),
      lagged,
      backlog,
      listeners,
      listener_errors: listenerErrors,
    };
  }

  return { read, close: () => clearInterval(timer) };
}

function toShare(value: number): number {
  return Number.isFinite(value) ? Number(Math.max(0, value).toFixed(3)) : 0;
}
