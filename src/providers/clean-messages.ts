import { toWellFormed } from '../protocol/json.ts';
import type { Message, TextBlock, ToolResultBlock, ToolUseBlock } from '../protocol/message.ts';

/** A block as it may be sent: never blank, ids in their wire form. */
export type CleanBlock = TextBlock | ToolUseBlock | ToolResultBlock;

export interface CleanTurn {
  readonly role: Message['role'];
  readonly blocks: readonly CleanBlock[];
  /** Assistant turns: the message they come from, and for each block its place among that message's blocks other than thinking. */
  readonly source: Message | undefined;
  readonly places: readonly number[];
}

/** Stands for a user turn that must be there but has no text. */
const emptyTurnText = '(no text)';
/** Stands for the content of a tool result that has none. */
const emptyResultText = '(no output)';

/**
 * The messages of a request as an HTTP provider may send them (agent-runtime 18.16): thinking and blank blocks are
 * dropped, then messages left empty, then neighbouring user messages become one, results first. Call ids become unique
 * and match `acceptedId`; results keep to their calls by position. The input is not touched. Linear in its size.
 */
export function cleanMessages(messages: readonly Message[], acceptedId: RegExp): readonly CleanTurn[] {
  const turns: CleanTurn[] = [];
  const ids = createWireIds(acceptedId);
  let open: UserTurn | undefined;
  const closeUserTurn = (): void => {
    if (open !== undefined)
      turns.push({ role: 'user', blocks: [...open.results, ...open.texts], source: undefined, places: [] });
    open = undefined;
  };

  for (const message of messages) {
    if (message.role === 'assistant') {
      const turn = cleanAssistant(message, ids);
      if (turn.blocks.length === 0) continue;
      closeUserTurn();
      turns.push(turn);
      ids.expectResults();
      continue;
    }
    for (const block of message.content) {
      if (block.type === 'text' && block.text.trim() !== '') {
        open ??= { results: [], texts: [] };
        open.texts.push({ type: 'text', text: toWellFormed(block.text) });
      } else if (block.type === 'tool_result') {
        open ??= { results: [], texts: [] };
        open.results.push(cleanResult(block, ids));
      }
    }
  }
  closeUserTurn();
  return withUserEnds(turns, messages);
}

interface UserTurn {
  readonly results: ToolResultBlock[];
  readonly texts: TextBlock[];
}

function cleanAssistant(message: Message, ids: WireIds): CleanTurn {
  const blocks: CleanBlock[] = [];
  const places: number[] = [];
  let place = -1;
  for (const block of message.content) {
    if (block.type === 'thinking') continue;
    place += 1;
    if (block.type === 'text' && block.text.trim() !== '') {
      blocks.push({ type: 'text', text: toWellFormed(block.text) });
      places.push(place);
    } else if (block.type === 'tool_use') {
      blocks.push({
        type: 'tool_use',
        id: ids.forCall(block.id),
        name: toWellFormed(block.name),
        input: block.input ?? {},
      });
      places.push(place);
    }
  }
  return { role: 'assistant', blocks, source: message, places };
}

function cleanResult(block: ToolResultBlock, ids: WireIds): ToolResultBlock {
  const content = block.content.trim() === '' ? emptyResultText : toWellFormed(block.content);
  return { type: 'tool_result', tool_use_id: ids.forResult(block.tool_use_id), content, is_error: block.is_error };
}

/**
 * A request starts with a user turn, and ends with one when the transcript does: a blank user message at either end
 * cannot simply go.
 */
function withUserEnds(turns: readonly CleanTurn[], messages: readonly Message[]): readonly CleanTurn[] {
  const placeholder: CleanTurn = {
    role: 'user',
    blocks: [{ type: 'text', text: emptyTurnText }],
    source: undefined,
    places: [],
  };
  const startsWell = turns[0]?.role === 'user';
  const endsWell = messages.at(-1)?.role !== 'user' || turns.at(-1)?.role === 'user';
  if (startsWell && endsWell) return turns;
  if (turns.length === 0) return [placeholder];
  return [...(startsWell ? [] : [placeholder]), ...turns, ...(endsWell ? [] : [placeholder])];
}

interface WireIds {
  forCall(id: string): string;
  /** The calls since the last time are the ones the next results answer. */
  expectResults(): void;
  forResult(id: string): string;
}

/**
 * Ids on the wire (reliability AG4): an id is kept when the provider accepts its form and no earlier call of the request
 * has it, else it is replaced by `call` and its number in the transcript. That is nine letters and digits, which every
 * known provider accepts, and the same in each request of a run, so that prompt caches keep matching.
 */
function createWireIds(accepted: RegExp): WireIds {
  const used = new Set<string>();
  let count = 0;
  let calls: { readonly id: string; readonly wire: string }[] = [];
  let expected: typeof calls = [];
  let answered = 0;

  function unique(id: string): string {
    count += 1;
    let wire = id;
    for (let number = count; !accepted.test(wire) || used.has(wire); number += 10_000) {
      wire = `call${String(number).padStart(5, '0')}`;
    }
    used.add(wire);
    return wire;
  }

  return {
    forCall: (id) => {
      const wire = unique(id);
      calls.push({ id, wire });
      return wire;
    },
    expectResults: () => {
      expected = calls;
      calls = [];
      answered = 0;
    },
    forResult: (id) => {
      const call = expected[answered];
      answered += 1;
      // a result that is not in its place keeps a foreign id: the check of the finished body names it
      return call?.id === id ? call.wire : id;
    },
  };
}
