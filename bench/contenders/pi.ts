import type { Contender } from '../measure.ts';
import type { Pi } from '../peers.ts';
import { createPiParts } from './pi-parts.ts';
import { goalText, systemPrompt, toolName } from './task.ts';

/** Runs of pi-agent-core's loop, all events seen by one sink. An operation is a step. */
export function createPi(pi: Pi, steps: number): Contender {
  const { model, head, tool } = createPiParts(pi);
  let seen = 0;

  function stream(_model: object, context: { readonly messages: readonly object[] }): object {
    const step = (context.messages.length - 1) / 2;
    const isLast = step >= steps - 1;
    const message = {
      ...head,
      content: isLast
        ? [{ type: 'text', text: 'done' }]
        : [{ type: 'toolCall', id: `call_${step}`, name: toolName, arguments: { from: step } }],
      stopReason: isLast ? 'stop' : 'toolUse',
      timestamp: Date.now(),
    };
    // why: the shortest stream the contract allows, the best case for pi
    const events = pi.createAssistantMessageEventStream();
    events.push({ type: 'done', reason: message.stopReason, message });
    return events;
  }

  return {
    name: 'pi-agent-core 0.73 runAgentLoop',
    operations: steps,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        const before = seen;
        const messages = await pi.runAgentLoop(
          [{ role: 'user', content: goalText, timestamp: Date.now() }],
          { systemPrompt, messages: [], tools: [tool] },
          { model, convertToLlm: (all: readonly object[]) => all },
          () => {
            seen += 1;
          },
          undefined,
          stream,
        );
        if (messages.length !== steps * 2 || seen - before < steps * 4)
          throw new Error('a step or an event is missing');
      }
    },
  };
}
