import type { Envelope } from '../../src/bus/envelope.ts';
import type { Engine } from '../../src/engine.ts';
import type { EngineOptions } from '../../src/engine/options.ts';
import type { RunHandle } from '../../src/engine/run-handle.ts';
import type { AgentStop } from '../../src/protocol/agent.ts';
import { createRunPool, type RunPool, type RunPoolOptions } from '../../src/workers/run-pool.ts';
import { createDrillEngine } from '../engine/drill.ts';
import { createLogRecorder } from './pool-fixture.ts';

/** An engine whose runs are in threads of its own. */
export async function openWith(options: Omit<RunPoolOptions, 'logger'>, more: EngineOptions = {}) {
  const log = createLogRecorder();
  return await openOn(createRunPool({ ...options, logger: log.logger }), log, more);
}

export async function openOn(pool: RunPool, log: ReturnType<typeof createLogRecorder>, more: EngineOptions) {
  const engine = await createDrillEngine({ runPool: pool, placement: 'thread', logger: log.logger, ...more });
  return {
    engine,
    pool,
    log,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await pool.close();
    },
  };
}

export async function stopOf(run: RunHandle): Promise<AgentStop> {
  return (await run.outcome).stop;
}

/** Resolves when a run has begun in its thread. */
export function begun(engine: Engine): Promise<Envelope> {
  return new Promise((resolve) => engine.bus.on('agent_started', resolve));
}
