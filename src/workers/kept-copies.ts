import type { OfferedTools } from '../agent/ports.ts';
import type { AgentSpec } from '../protocol/agent.ts';
import type { OfferNumber } from './run-port.ts';

// why: on the main thread all runs of an agent share its prompt and one list of tools. What crosses to a thread is a copy each
// time, and these copies would be most of what a waiting run takes there

/** Main thread: numbers the lists of tools. */
export class OfferNumbers {
  readonly #numbers = new WeakMap<OfferedTools['tools'], OfferNumber>();
  #last = 0;

  of({ tools }: OfferedTools): OfferNumber {
    let number = this.#numbers.get(tools);
    if (number === undefined) {
      this.#last += 1;
      number = this.#last;
      this.#numbers.set(tools, number);
    }
    return number;
  }
}

/**
 * Run thread: keeps one copy of what comes with many runs. A later copy is changed to share it, not replaced, because others
 * hold it as long as its run lives.
 */
export class KeptCopies {
  readonly #offers = new Map<OfferNumber, OfferedTools>();
  readonly #prompts = new Map<string, string>();

  shareOffer(number: OfferNumber, copy: OfferedTools): void {
    const { tools, toolTokens, mutatingTools } = copy;
    Object.assign(copy, keep(this.#offers, number, { tools, toolTokens, mutatingTools }));
  }

  sharePrompt(copy: AgentSpec): void {
    const { system_prompt } = copy;
    Object.assign(copy, { system_prompt: keep(this.#prompts, system_prompt, system_prompt) });
  }
}

/** As many as the main thread shares. Those before serve the runs that have them. */
const maxKept = 64;

function keep<K, V>(kept: Map<K, V>, key: K, value: V): V {
  const known = kept.get(key);
  if (known !== undefined) return known;
  if (kept.size >= maxKept) kept.clear();
  kept.set(key, value);
  return value;
}
