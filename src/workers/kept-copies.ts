import type { OfferedTools } from '../agent/ports.ts';
import { ForgetfulMap } from '../protocol/forgetful-map.ts';
import type { OfferNumber, RunThreadJob } from './run-port.ts';

// why: on the main thread all runs of an agent share its prompt and one list of tools. What crosses to a thread is a copy each
// time, and these copies would be most of what a waiting run takes there

/** Main thread: numbers the lists of tools. */
export class OfferNumbers {
  readonly #numbers = new WeakMap<OfferedTools['tools'], OfferNumber>();
  #last = 0;

  of({ tools }: Pick<OfferedTools, 'tools'>): OfferNumber {
    let number = this.#numbers.get(tools);
    if (number === undefined) {
      this.#last += 1;
      number = this.#last;
      this.#numbers.set(tools, number);
    }
    return number;
  }
}

/** Run thread: one copy of what several of its runs have now. */
export class KeptCopies {
  readonly #offers = new Kept<OfferNumber, OfferedTools>();
  readonly #prompts = new Kept<string, { readonly text: string }>();

  /** Lets a job that came share what others have. The job itself changes, because others hold it as long as its run lives. */
  share({ offer, job: { settings } }: Pick<RunThreadJob, 'offer' | 'job'>): CopiesOfRun {
    const { system_prompt: copied } = settings.spec;
    const { text } = this.#prompts.take(copied, { text: copied });
    const copies = new CopiesOfRun(this.#offers, () => this.#prompts.release(text));
    Object.assign(settings, copies.offer(offer, settings));
    Object.assign(settings.spec, { system_prompt: text });
    return copies;
  }
}

/** What one run shares. */
export class CopiesOfRun {
  readonly #kept: Kept<OfferNumber, OfferedTools>;
  readonly #onRelease: () => void;
  #offers: readonly OfferNumber[] = [];

  constructor(kept: Kept<OfferNumber, OfferedTools>, onRelease: () => void) {
    this.#kept = kept;
    this.#onRelease = onRelease;
  }

  /** @returns what to use for a copy that came */
  offer(number: OfferNumber, { tools, toolTokens, mutatingTools }: OfferedTools): OfferedTools {
    this.#offers = [...this.#offers, number];
    return this.#kept.take(number, { tools, toolTokens, mutatingTools });
  }

  /** The run is over. */
  release(): void {
    for (const number of this.#offers) this.#kept.release(number);
    this.#offers = [];
    this.#onRelease();
  }
}

/** Values by key, as long as somebody has them. */
class Kept<K extends string | number, V extends object> {
  readonly #values = new ForgetfulMap<K, { readonly value: V; users: number }>();

  take(key: K, value: V): V {
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, { value, users: 1 });
    else known.users += 1;
    return known?.value ?? value;
  }

  release(key: K): void {
    const known = this.#values.get(key);
    if (known === undefined) return;
    known.users -= 1;
    if (known.users === 0) this.#values.delete(key);
  }
}
