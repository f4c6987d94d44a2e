import { z } from 'zod';
import type { OpenaiAgents } from '../peers.ts';
import { callsOf, createGate, type Crowd, type CrowdContender, toCrowdRun } from './crowd.ts';
import { goalText, systemPrompt, toolName, toolText } from './task.ts';

/** A crowd of runs of the OpenAI Agents SDK, tracing off. */
export function createOpenaiAgentsCrowd(sdk: OpenaiAgents, crowd: Crowd): CrowdContender {
  sdk.setTracingDisabled(true);
  const gate = createGate();
  const usage = new sdk.Usage({ requests: 1, inputTokens: 100, outputTokens: 10, totalTokens: 110 });
  const counter = sdk.tool({
    name: toolName,
    description: toolText,
    parameters: z.object({ from: z.number() }),
    execute: ({ from }: { readonly from: number }) => Promise.resolve(`${from + 1}`),
  });
  const model = {
    async getResponse({ input }: { readonly input: string | readonly object[] }) {
      const step = typeof input === 'string' ? 0 : (input.length - 1) / (crowd.calls * 2);
      const isLast = step >= crowd.steps - 1;
      const wait = gate.pass(step);
      if (wait !== undefined) await wait;
      return {
        usage,
        responseId: `response_${step}`,
        output: isLast
          ? [
              {
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text: 'done' }],
              },
            ]
          : callsOf(crowd).map((index) => ({
              type: 'function_call',
              callId: `call_${step}_${index}`,
              name: toolName,
              status: 'completed',
              arguments: `{"from":${step * crowd.calls + index}}`,
            })),
      };
    },
  };
  const agent = new sdk.Agent({ name: 'counter', instructions: systemPrompt, model, tools: [counter] });

  async function runOne(): Promise<void> {
    const { rawResponses } = await sdk.run(agent, goalText, { maxTurns: crowd.steps + 1 });
    if (rawResponses.length !== crowd.steps) throw new Error('a step is missing');
  }

  return {
    name: 'openai-agents 0.20 run',
    operations: crowd.runs * crowd.steps,
    gate,
    run: toCrowdRun(crowd, runOne),
    close: () => Promise.resolve(),
  };
}
