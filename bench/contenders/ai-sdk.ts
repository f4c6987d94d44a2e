import { z } from 'zod';
import type { Contender } from '../measure.ts';
import type { AiSdk } from '../peers.ts';
import { goalText, systemPrompt, toolName, toolText } from './task.ts';

/** Runs of the AI SDK's `generateText` loop. An operation is a step. */
export function createAiSdk(ai: AiSdk, steps: number): Contender {
  const usage = {
    inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 10, text: 10, reasoning: 0 },
  };
  const tools = {
    [toolName]: ai.tool({
      description: toolText,
      inputSchema: z.object({ from: z.number() }),
      execute: ({ from }: { readonly from: number }) => Promise.resolve(`${from + 1}`),
    }),
  };
  const model = {
    specificationVersion: 'v3',
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    doGenerate({ prompt }: { readonly prompt: readonly object[] }) {
      const step = (prompt.length - 2) / 2;
      const isLast = step >= steps - 1;
      return Promise.resolve({
        content: isLast
          ? [{ type: 'text', text: 'done' }]
          : [{ type: 'tool-call', toolCallId: `call_${step}`, toolName, input: `{"from":${step}}` }],
        finishReason: isLast ? { unified: 'stop', raw: 'stop' } : { unified: 'tool-calls', raw: 'tool-calls' },
        usage,
        warnings: [],
      });
    },
  };
  return {
    name: 'ai 6 generateText',
    operations: steps,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        const result = await ai.generateText({
          model,
          system: systemPrompt,
          prompt: goalText,
          tools,
          stopWhen: () => false,
        });
        if (result.steps.length !== steps) throw new Error('a step is missing');
      }
    },
  };
}
