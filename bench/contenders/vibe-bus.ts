import { z } from 'zod';
import { createEngine } from '../../src/engine.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { CompletionResponse, Provider } from '../../src/protocol/model.ts';
import { defineTool } from '../../src/tools/define.ts';
import type { Contender } from '../measure.ts';
import { goalText, systemPrompt, toolName, toolText } from './task.ts';

/** Runs of this product, inline, all events seen by one observer. An operation is a step. */
export async function createVibeBus(steps: number): Promise<Contender & { close(): Promise<void> }> {
  const tool = defineTool({
    name: toolName,
    description: toolText,
    input: z.object({ from: z.number() }),
    execute: ({ from }) => Promise.resolve(`${from + 1}`),
  });
  const engine = await createEngine({ bare: true, provider: createProvider(steps), tools: [tool] });
  let seen = 0;
  engine.bus.on('*', () => {
    seen += 1;
  });
  const spec = { role: 'counter', system_prompt: systemPrompt, max_steps: steps + 1, tools: 'all' as const };
  return {
    name: 'vibe-bus',
    operations: steps,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        const before = seen;
        const outcome = await engine.run(spec, goalText).outcome;
        if (outcome.steps !== steps || seen - before < steps * 2 + 2) throw new Error('a step or an event is missing');
      }
    },
    close: () => engine.close(),
  };
}

/** Answers from where the transcript stands, so that one object serves any number of runs. */
function createProvider(steps: number): Provider {
  const usage = { input_tokens: 100, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 };
  function answer(messages: readonly Message[]): Promise<CompletionResponse> {
    const step = (messages.length - 1) / 2;
    if (step >= steps - 1) {
      return Promise.resolve({
        message: { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
        stop_reason: 'end_turn',
        usage,
        model: 'instant',
      });
    }
    return Promise.resolve({
      message: {
        role: 'assistant',
        content: [{ type: 'tool_use', id: `call_${step}`, name: toolName, input: { from: step } }],
      },
      stop_reason: 'tool_use',
      usage,
      model: 'instant',
    });
  }
  return {
    info: () => ({ name: 'instant', supports_tools: true, supports_thinking: false, default_model: 'instant' }),
    complete: (request) => answer(request.messages),
    completeStreaming: (request) => answer(request.messages),
    healthCheck: () => Promise.resolve(),
  };
}
