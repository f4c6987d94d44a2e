import type { Envelope } from '../../src/bus/envelope.ts';
import type { BusEvent, EventType } from '../../src/bus/events.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { EngineOptions } from '../../src/engine/options.ts';
import type { AgentInput } from '../../src/protocol/agent.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { CompletionRequest } from '../../src/protocol/model.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';

/** An agent that is offered every tool and says nothing about itself. */
export const worker: AgentInput = { role: 'worker', system_prompt: 'Work.', thinking: 'off' };

export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine;
  readonly requests: readonly CompletionRequest[];
  /** Every envelope of the bus, in order. */
  readonly envelopes: readonly Envelope[];
  /** The events of one type. */
  of<T extends EventType>(type: T): readonly BusEvent<T>[];
}

/** A real engine without anything of the machine, whose model plays a script. */
export async function openTestEngine(
  script: readonly JsonObject[],
  options: EngineOptions & { readonly onRequest?: (request: CompletionRequest) => void | Promise<void> } = {},
): Promise<TestEngine> {
  const { onRequest, ...rest } = options;
  const requests: CompletionRequest[] = [];
  const provider = createScriptedProvider(
    { script },
    {
      onRequest: (request) => {
        requests.push(request);
        return onRequest?.(request);
      },
    },
  );
  const engine = await createEngine({ bare: true, provider, ...rest });
  const envelopes: Envelope[] = [];
  engine.bus.on('*', (envelope) => void envelopes.push(envelope));
  return {
    engine,
    requests,
    envelopes,
    of: <T extends EventType>(type: T) =>
      envelopes.flatMap(({ event }) => (event.type === type ? [event as BusEvent<T>] : [])),
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

/** A script entry that makes calls; ids are `c1`, `c2`, …. */
export function calling(...calls: readonly (readonly [name: string, input?: JsonObject])[]): JsonObject {
  return { tool_calls: calls.map(([name, input], index) => ({ id: `c${index + 1}`, name, input: input ?? {} })) };
}

export function toolNamed(name: string, call: Tool['call'], more: Partial<Tool> = {}): Tool {
  return { name, description: '', input_schema: { type: 'object' }, call, ...more };
}

/** Contents of the results a request carries in its last message. */
export function resultsOf(request: CompletionRequest | undefined): readonly string[] {
  return (request?.messages.at(-1)?.content ?? []).flatMap((block) =>
    block.type === 'tool_result' ? [block.content] : [],
  );
}

/** A promise with its handles outside. */
export function deferred<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
