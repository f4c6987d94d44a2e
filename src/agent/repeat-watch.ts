import type { ToolUseBlock } from '../protocol/message.ts';
import type { ToolAnswer } from './ports.ts';

/** How often the same call with the same result is worth a warning (reliability AG17). */
export const repeatLimit = 5;

/** Watches for an agent going in circles. */
export class RepeatWatch {
  #last: { readonly name: string; readonly input: string; readonly content: string } | undefined;
  #call: ToolUseBlock | undefined;
  #content = '';
  #count = 0;

  /** Takes the calls of a step. @returns the tools whose calls just reached the limit */
  add(calls: readonly ToolUseBlock[], answers: readonly ToolAnswer[]): readonly string[] {
    let tools = noTools;
    for (const [index, call] of calls.entries()) {
      const answer = answers[index];
      if (answer !== undefined && this.#isRepeated(call, answer)) tools = [...tools, call.name];
    }
    return tools;
  }

  #isRepeated(call: ToolUseBlock, { content }: ToolAnswer): boolean {
    const before = this.#call;
    if (before?.name === call.name && this.#content === content) {
      // why: the input is only written out when name and result already agree, which is rare
      this.#last ??= { name: call.name, input: JSON.stringify(before.input), content };
      this.#count = this.#last.input === JSON.stringify(call.input) ? this.#count + 1 : 1;
      if (this.#count === 1) this.#last = undefined;
    } else {
      this.#last = undefined;
      this.#count = 1;
    }
    this.#call = call;
    this.#content = content;
    return this.#count === repeatLimit;
  }
}

const noTools: readonly string[] = [];
