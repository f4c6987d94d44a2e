import type { Pi } from '../peers.ts';
import { callsOf, createGate, type Crowd, type CrowdContender, toCrowdRun } from './crowd.ts';
import { createPiParts } from './pi-parts.ts';
import { goalText, systemPrompt, toolName } from './task.ts';

/** A crowd of pi-agent-core's loops, all events seen by one sink. */
export function createPiCrowd(pi: Pi, crowd: Crowd): CrowdContender {
  const gate = createGate();
  const { model, head, tool } = createPiParts(pi);
  let seen = 0;

  async function stream(_model: object, context: { readonly messages: readonly object[] }): Promise<object> {
    const step = (context.messages.length - 1) / (crowd.calls + 1);
    const isLast = step >= crowd.steps - 1;
    // why: no turn of the queue is taken while the gate is open, as for every other contender
    const wait = gate.pass(step);
    if (wait !== undefined) await wait;
    const calls = callsOf(crowd).map((index) => ({
      type: 'toolCall',
      id: `call_${step}_${index}`,
      name: toolName,
      arguments: { from: step * crowd.calls + index },
    }));
    const message = {
      ...head,
      content: isLast ? [{ type: 'text', text: 'done' }] : calls,
      stopReason: isLast ? 'stop' : 'toolUse',
      timestamp: Date.now(),
    };
    // why: the shortest stream the contract allows, the best case for pi
    const events = pi.createAssistantMessageEventStream();
    events.push({ type: 'done', reason: message.stopReason, message });
    return events;
  }

  async function runOne(): Promise<void> {
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
    if (messages.length !== crowd.steps * (crowd.calls + 1) - crowd.calls + 1) throw new Error('a step is missing');
    if (seen === before) throw new Error('an event is missing');
  }

  return {
    name: 'pi-agent-core 0.73 runAgentLoop',
    operations: crowd.runs * crowd.steps,
    gate,
    run: toCrowdRun(crowd, runOne),
    close: () => Promise.resolve(),
  };
}
