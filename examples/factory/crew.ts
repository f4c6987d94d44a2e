// In a project of your own the imports from `../../src/` read: from 'vibe-bus'.
import { randomUUID } from 'node:crypto';
import {
  type Engine,
  EngineError,
  type OutputSchema,
  type RunId,
  type RunOptions,
  type TaskInfo,
} from '../../src/index.ts';

/** The events of a pipeline are the embedding program's: the bus only takes their names. */
export type FactoryEvent =
  | 'phase_started'
  | 'subtask_updated'
  | 'subtask_integrated'
  | 'committed'
  | 'validation_finished';

/** The built-in agents, at work on one task. */
export interface Crew {
  readonly engine: Engine;
  readonly task: TaskInfo;
  /** Options of every run, such as a signal or a budget. */
  readonly shared: RunOptions;
  /** An answer in prose. @throws EngineError when the run does not complete */
  askText(role: string, message: string, options?: RunOptions): Promise<string>;
  /** An answer in the shape of `schema`. @throws EngineError when none comes */
  ask<T>(role: string, message: string, schema: OutputSchema<T>, options?: RunOptions): Promise<T>;
  /** Tells the bus, so that who watches the agents sees it between their events. */
  note(type: FactoryEvent, facts: { readonly [key: string]: string | number }): void;
}

export function createCrew(engine: Engine, task: TaskInfo, options: RunOptions): Crew {
  const shared = { ...options, task };
  const run = randomUUID() as RunId;
  return {
    engine,
    task,
    shared,
    async askText(role, message, own) {
      const { stop, final_text: text } = await engine.run(role, message, { ...shared, ...own }).outcome;
      if (stop.reason === 'completed') return text;
      const why = stop.reason === 'error' ? stop.message : stop.reason;
      throw new EngineError('other', `\`${role}\` did not complete: ${why}`);
    },
    async ask(role, message, schema, own) {
      return (await engine.runStructured(role, message, schema, { ...shared, ...own })).value;
    },
    note: (type, facts) => void engine.bus.publish({ type, run, ...facts }),
  };
}
