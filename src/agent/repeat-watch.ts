import type { ToolUseBlock } from '../protocol/message.ts';
import type { ToolAnswer } from './ports.ts';

/** How often the same call with the same result is worth a warning (reliability AG17). */
export const repeatLimit = 5;

/** Watches for an agent going in circles. `add` returns the tool's name once, when the limit is reached. */
export interface RepeatWatch {
  add(call: ToolUseBlock, answer: ToolAnswer): string | undefined;
}

export function createRepeatWatch(): RepeatWatch {
  let last: { readonly name: string; readonly input: string; readonly content: string } | undefined;
  let pending: { readonly call: ToolUseBlock; readonly content: string } | undefined;
  let count = 0;
  return {
    add(call, answer) {
      if (pending?.call.name === call.name && pending.content === answer.content) {
        // why: the input is only written out when name and result already agree, which is rare
        last ??= { name: call.name, input: JSON.stringify(pending.call.input), content: answer.content };
        count = last.input === JSON.stringify(call.input) ? count + 1 : 1;
        if (count === 1) last = undefined;
      } else {
        last = undefined;
        count = 1;
      }
      pending = { call, content: answer.content };
      return count === repeatLimit ? call.name : undefined;
    },
  };
}
