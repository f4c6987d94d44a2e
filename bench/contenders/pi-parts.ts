import type { Pi } from '../peers.ts';
import { toolName, toolText } from './task.ts';

/** What pi-agent-core needs besides a loop: a model that costs nothing, the head of its answers, the trivial tool. */
export interface PiParts {
  readonly model: object;
  readonly head: object;
  readonly tool: object;
}

export function createPiParts(pi: Pi): PiParts {
  const usage = {
    input: 100,
    output: 10,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 110,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
  const model = {
    id: 'instant',
    name: 'instant',
    api: 'instant',
    provider: 'instant',
    baseUrl: '',
    reasoning: false,
    input: ['text'],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 200_000,
    maxTokens: 8_192,
  };
  const head = { role: 'assistant', api: 'instant', provider: 'instant', model: 'instant', usage };
  const tool = {
    name: toolName,
    label: toolName,
    description: toolText,
    parameters: pi.Type.Object({ from: pi.Type.Number() }),
    execute: (_id: string, { from }: { readonly from: number }) =>
      Promise.resolve({ content: [{ type: 'text', text: `${from + 1}` }], details: undefined }),
  };
  return { model, head, tool };
}
