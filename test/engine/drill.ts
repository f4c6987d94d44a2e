import { createEngine, type Engine } from '../../src/engine.ts';
import type { EngineOptions, RunOptions } from '../../src/engine/options.ts';
import type { RunHandle } from '../../src/engine/run-handle.ts';
import type { AgentInput } from '../../src/protocol/agent.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import { defineTool } from '../../src/tools/define.ts';
import {
  collectingKind,
  type Drill,
  drillKind,
  homeKind,
  lostKind,
  programKind,
  rememberingKind,
} from '../fixtures/runs/drill.ts';

/** The agent of these tests: it does what the drill in its message says. */
export const soldier: AgentInput = { role: 'soldier', system_prompt: 'Do the drill.', thinking: 'off' };

export const echo: Tool = defineTool({
  name: 'echo',
  description: 'Says what it was told.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => `echo: ${String(text)}`,
});

/** An engine whose models are drilled: `drill/x`, `remembering/x`, `home/x`, `lost/x`, `collecting/x`, `program/x`. */
export async function createDrillEngine(options: EngineOptions = {}): Promise<Engine> {
  return await createEngine({
    bare: true,
    model: 'drill/x',
    providerKinds: {
      drill: drillKind,
      remembering: rememberingKind,
      home: homeKind,
      lost: lostKind,
      collecting: collectingKind,
      program: programKind,
    },
    config: { providers: { drill: {}, remembering: {}, home: {}, lost: {}, collecting: {}, program: {} } },
    tools: [echo],
    ...options,
  });
}

/** Starts a run of the soldier. */
export function startDrill(engine: Engine, drill: Drill, options: RunOptions = {}): RunHandle {
  return engine.run(soldier, toMessage(drill), options);
}

export function toMessage(drill: Drill): string {
  return JSON.stringify(drill);
}

/** A tool whose calls wait until they are let go; they heed their signal. */
export interface Gate {
  readonly tool: Tool;
  /** Lets all waiting calls go. */
  open(): void;
  /** Resolves for the n-th ask when the n-th call has begun. */
  started(): Promise<void>;
}

export function createGate(name = 'gate', isMutating = false): Gate {
  let waiting: (() => void)[] = [];
  const listeners: (() => void)[] = [];
  let calls = 0;
  let asked = 0;
  return {
    tool: {
      name,
      description: 'Waits.',
      input_schema: { type: 'object' },
      is_mutating: isMutating,
      call: (_input, { signal }) =>
        new Promise((resolve, reject) => {
          calls += 1;
          for (const tell of listeners.splice(0)) tell();
          waiting.push(() => resolve('let go'));
          signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
        }),
    },
    open() {
      const ready = waiting;
      waiting = [];
      for (const go of ready) go();
    },
    async started() {
      asked += 1;
      const wanted = asked;
      while (calls < wanted) await new Promise<void>((resolve) => listeners.push(resolve));
    },
  };
}
