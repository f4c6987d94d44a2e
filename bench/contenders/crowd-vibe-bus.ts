import { z } from 'zod';
import { createEngine } from '../../src/engine.ts';
import type { ContentBlock, Message } from '../../src/protocol/message.ts';
import type { CompletionResponse, Provider } from '../../src/protocol/model.ts';
import { defineTool } from '../../src/tools/define.ts';
import { callsOf, createGate, type Crowd, type CrowdContender, type Gate, toCrowdRun } from './crowd.ts';
import { goalText, systemPrompt, toolName, toolText } from './task.ts';

/** A crowd of this product's runs, inline, all events seen by one observer. */
export async function createVibeBusCrowd(crowd: Crowd): Promise<CrowdContender> {
  const gate = createGate();
  const tool = defineTool({
    name: toolName,
    description: toolText,
    input: z.object({ from: z.number() }),
    execute: ({ from }) => Promise.resolve(`${from + 1}`),
  });
  const engine = await createEngine({ bare: true, provider: createProvider(crowd, gate), tools: [tool] });
  let seen = 0;
  engine.bus.on('*', () => {
    seen += 1;
  });
  const spec = { role: 'counter', system_prompt: systemPrompt, max_steps: crowd.steps + 1, tools: 'all' as const };

  async function runOne(): Promise<void> {
    const before = seen;
    const { steps } = await engine.run(spec, goalText).outcome;
    if (steps !== crowd.steps) throw new Error('a step is missing');
    if (seen === before) throw new Error('an event is missing');
  }

  return {
    name: 'vibe-bus',
    operations: crowd.runs * crowd.steps,
    gate,
    run: toCrowdRun(crowd, runOne),
    close: () => engine.close(),
  };
}

function createProvider(crowd: Crowd, gate: Gate): Provider {
  const usage = { input_tokens: 100, output_tokens: 10, cache_read_tokens: 0, cache_write_tokens: 0 };

  function toAnswer(step: number): CompletionResponse {
    const isLast = step >= crowd.steps - 1;
    const content: readonly ContentBlock[] = isLast
      ? [{ type: 'text', text: 'done' }]
      : callsOf(crowd).map((index) => ({
          type: 'tool_use',
          id: `call_${step}_${index}`,
          name: toolName,
          input: { from: step * crowd.calls + index },
        }));
    return {
      message: { role: 'assistant', content },
      stop_reason: isLast ? 'end_turn' : 'tool_use',
      usage,
      model: 'instant',
    };
  }

  async function answer(messages: readonly Message[]): Promise<CompletionResponse> {
    const step = (messages.length - 1) / 2;
    const wait = gate.pass(step);
    if (wait !== undefined) await wait;
    return toAnswer(step);
  }

  return {
    info: () => ({ name: 'instant', supports_tools: true, supports_thinking: false, default_model: 'instant' }),
    complete: (request) => answer(request.messages),
    completeStreaming: (request) => answer(request.messages),
    healthCheck: () => Promise.resolve(),
  };
}
