import { z } from 'zod';
import type { AiSdk } from '../peers.ts';
import { callsOf, createGate, type Crowd, type CrowdContender, toCrowdRun } from './crowd.ts';
import { goalText, systemPrompt, toolName, toolText } from './task.ts';

/** A crowd of the AI SDK's `generateText` loops. */
export function createAiSdkCrowd(ai: AiSdk, crowd: Crowd): CrowdContender {
  const gate = createGate();
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
    async doGenerate({ prompt }: { readonly prompt: readonly object[] }) {
      const step = (prompt.length - 2) / 2;
      const isLast = step >= crowd.steps - 1;
      const wait = gate.pass(step);
      if (wait !== undefined) await wait;
      return {
        content: isLast
          ? [{ type: 'text', text: 'done' }]
          : callsOf(crowd).map((index) => ({
              type: 'tool-call',
              toolCallId: `call_${step}_${index}`,
              toolName,
              input: `{"from":${step * crowd.calls + index}}`,
            })),
        finishReason: isLast ? { unified: 'stop', raw: 'stop' } : { unified: 'tool-calls', raw: 'tool-calls' },
        usage,
        warnings: [],
      };
    },
  };

  async function runOne(): Promise<void> {
    const options = { model, system: systemPrompt, prompt: goalText, tools, stopWhen: () => false };
    const { steps } = await ai.generateText(options);
    if (steps.length !== crowd.steps) throw new Error('a step is missing');
  }

  return {
    name: 'ai 6 generateText',
    operations: crowd.runs * crowd.steps,
    gate,
    run: toCrowdRun(crowd, runOne),
    close: () => Promise.resolve(),
  };
}
