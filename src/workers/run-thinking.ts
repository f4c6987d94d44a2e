import { type Message, toolUsesOf } from '../protocol/message.ts';
import type { Provider } from '../protocol/model.ts';
import type { SignedThinkingEntries } from './run-port.ts';

/** What a provider remembers of these turns, to hand to another instance of it: each thread has its own. */
export function collectSignedThinking(provider: Provider, messages: readonly Message[]): SignedThinkingEntries {
  const { signedThinking } = provider;
  if (signedThinking === undefined) return [];
  return messages.flatMap((message) => {
    const first = toolUsesOf(message)[0];
    const thinking = first === undefined ? undefined : signedThinking.get(first.id);
    return first === undefined || thinking === undefined ? [] : [[first.id, thinking] as const];
  });
}
