import { z } from 'zod';
import type { LangGraph } from '../peers.ts';
import { callsOf, createGate, type Crowd, type CrowdContender, toCrowdRun } from './crowd.ts';
import { goalText, systemPrompt, toolName, toolText } from './task.ts';

/** A crowd of LangGraph's prebuilt agents. */
export function createLangGraphCrowd(lang: LangGraph, crowd: Crowd): CrowdContender {
  const gate = createGate();
  const counter = lang.tool(({ from }) => Promise.resolve(`${from + 1}`), {
    name: toolName,
    description: toolText,
    schema: z.object({ from: z.number() }),
  });

  class InstantModel extends lang.BaseChatModel {
    _llmType(): string {
      return 'instant';
    }

    bindTools(): this {
      return this;
    }

    async _generate(messages: readonly object[]): Promise<object> {
      const step = (messages.length - 2) / (crowd.calls + 1);
      const isLast = step >= crowd.steps - 1;
      const wait = gate.pass(step);
      if (wait !== undefined) await wait;
      const calls = callsOf(crowd).map((index) => ({
        id: `call_${step}_${index}`,
        name: toolName,
        args: { from: step * crowd.calls + index },
        type: 'tool_call',
      }));
      const message = new lang.AIMessage(isLast ? { content: 'done' } : { content: '', tool_calls: calls });
      return { generations: [{ text: isLast ? 'done' : '', message }] };
    }
  }

  const agent = lang.createReactAgent({ llm: new InstantModel({}), tools: [counter], prompt: systemPrompt });

  async function runOne(): Promise<void> {
    const state = { messages: [{ role: 'user', content: goalText }] };
    const { messages } = await agent.invoke(state, { recursionLimit: crowd.steps * 2 + 2 });
    if (messages.length !== crowd.steps * (crowd.calls + 1) - crowd.calls + 1) throw new Error('a step is missing');
  }

  return {
    name: 'langgraph 1.7 createReactAgent',
    operations: crowd.runs * crowd.steps,
    gate,
    run: toCrowdRun(crowd, runOne),
    close: () => Promise.resolve(),
  };
}
