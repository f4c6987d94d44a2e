import type { CompletionRequest, OnDelta, Provider, ProviderKind } from '../../src/index.ts';
import { createScriptedProvider } from '../../src/testing.ts';
import { answers } from './script.ts';

/**
 * A model that plays the script of this example. Which turn comes next is read from the conversation alone, so any number of
 * runs can use it at once, each in whichever thread: `module` says where a thread finds it.
 */
export const scriptedKind: ProviderKind = {
  module: { url: import.meta.url, export: 'scriptedKind' },
  open({ name, extra }): Provider {
    const paceMs = Number(extra['pace_ms'] ?? 0);

    function answer(request: CompletionRequest, onDelta: OnDelta): ReturnType<Provider['completeStreaming']> {
      const turn = { ...findTurn(request), delay_ms: paceMs };
      return createScriptedProvider({ script: [turn] }).completeStreaming(request, onDelta);
    }

    return {
      info: () => ({ name, supports_tools: true, supports_thinking: false, default_model: 'script' }),
      complete: (request) => answer(request, () => {}),
      completeStreaming: answer,
      healthCheck: () => Promise.resolve(),
    };
  },
};

/** @throws Error for a conversation that the script does not know */
function findTurn({ messages }: CompletionRequest): object {
  const [opening] = messages.flatMap(({ content }) => content);
  const asked = opening?.type === 'text' ? opening.text : '';
  const turn = answers[asked]?.[messages.filter(({ role }) => role === 'assistant').length];
  if (turn === undefined) throw new Error(`the script has no answer to ${JSON.stringify(asked)}`);
  return turn;
}
