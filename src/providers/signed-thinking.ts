import type { Message } from '../protocol/message.ts';
import type { SignedThinking, SignedThinkingStore } from '../protocol/model.ts';

/** Turns kept. Source: agent-runtime section 15. */
const maxTurns = 512;

export interface SignedThinkingCache extends SignedThinkingStore {
  /** Notes what an answer brought for the turn of this call; nothing takes the place of older thinking under the same id. */
  remember(firstCallId: string, thinking: SignedThinking | undefined): void;
  /**
   * The blocks that go back with this assistant turn: known, written by the same model, and telling the same thoughts as
   * the turn's own thinking. The last rule keeps a call id that occurs in two runs from mixing them up.
   */
  forTurn(turn: Message, model: string): SignedThinking | undefined;
}

/** Signed thinking of the last 512 tool turns, in memory; a turn that is used counts as new. */
export function createSignedThinkingCache(
  textOf: (block: SignedThinking['blocks'][number]) => string,
): SignedThinkingCache {
  const turns = new Map<string, SignedThinking>();

  function set(firstCallId: string, thinking: SignedThinking): void {
    turns.delete(firstCallId);
    turns.set(firstCallId, thinking);
    if (turns.size <= maxTurns) return;
    for (const oldest of turns.keys()) {
      turns.delete(oldest);
      return;
    }
  }

  return {
    get: (firstCallId) => turns.get(firstCallId),
    set,
    remember: (firstCallId, thinking) => {
      if (thinking === undefined) turns.delete(firstCallId);
      else set(firstCallId, thinking);
    },
    forTurn: (turn, model) => {
      const id = firstCallIdOf(turn);
      const thinking = id === undefined ? undefined : turns.get(id);
      if (id === undefined || thinking === undefined) return undefined;
      if (thinking.model !== undefined && thinking.model !== model) return undefined;
      if (!tellsTheSame(turn, thinking, textOf)) return undefined;
      set(id, thinking);
      return thinking;
    },
  };
}

export function firstCallIdOf(turn: Message): string | undefined {
  for (const block of turn.content) if (block.type === 'tool_use') return block.id;
  return undefined;
}

function tellsTheSame(
  turn: Message,
  thinking: SignedThinking,
  textOf: (block: SignedThinking['blocks'][number]) => string,
): boolean {
  const told = turn.content.filter((block) => block.type === 'thinking' && block.text !== '');
  // a transcript that keeps no thinking cannot contradict
  if (told.length === 0) return true;
  const signed = thinking.blocks.map(textOf).filter((text) => text !== '');
  return signed.length === told.length && told.every((block, index) => 'text' in block && block.text === signed[index]);
}
