import type { Provider, ProviderRef } from '../protocol/model.ts';

/** A provider chosen for a run, and the model id it is asked for (may be empty). */
export interface ChosenModel {
  readonly provider: Provider;
  readonly model: string;
  readonly contextWindow?: number | undefined;
  /** The provider as data, for another thread; absent when it was given as an object. */
  readonly ref: ProviderRef | undefined;
}
