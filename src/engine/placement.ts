import type { Logger } from '../protocol/deps.ts';
import type { RunId } from '../protocol/ids.ts';
import type { ProviderRef } from '../protocol/model.ts';
import type { ChosenModel } from './chosen-model.ts';
import type { LoopDelayMonitor } from './loop-delay.ts';
import type { Placement } from './options.ts';

/** Where one run executes. */
export interface Place {
  /** What a thread makes its provider from; absent on the main thread. */
  readonly ref: ProviderRef | undefined;
  /** To be called when the run has ended. */
  leave(): void;
}

export interface Placements {
  enter(run: RunId, wanted: Placement | undefined, chosen: ChosenModel): Place;
  /** Runs on the main thread. */
  inline(): number;
}

/** Placement `auto` leaves the main thread when its event loop was this late lately, in milliseconds. */
export const autoDelayMs = 20;
/** … or when it has this many runs already. */
export const autoInlineRuns = 32;

export interface PlacementDeps {
  readonly usual: Placement | undefined;
  /** Options of the engine that a thread cannot have, because functions do not cross; such an engine keeps its runs. */
  readonly ownFunctions: readonly string[];
  readonly delay: LoopDelayMonitor;
  readonly logger: Logger;
}

export function createPlacements(deps: PlacementDeps): Placements {
  let inline = 0;

  const here: Place = { ref: undefined, leave: () => void (inline -= 1) };

  function choose(run: RunId, wanted: Placement, chosen: ChosenModel): Place {
    if (wanted === 'inline' || (wanted === 'auto' && !isMainThreadBusy())) return here;
    if (chosen.ref !== undefined && deps.ownFunctions.length === 0) return { ref: chosen.ref, leave: () => {} };
    if (wanted === 'thread') {
      const reason =
        chosen.ref === undefined
          ? `provider \`${chosen.provider.info().name}\` was given as an object`
          : `the engine has its own ${deps.ownFunctions.map((name) => `\`${name}\``).join(' and ')}`;
      deps.logger.warn(`${reason}: the run stays on the main thread`, { run });
    }
    return here;
  }

  function isMainThreadBusy(): boolean {
    return inline >= autoInlineRuns || deps.delay.recentP99() > autoDelayMs;
  }

  return {
    enter(run, wanted, chosen) {
      const place = choose(run, wanted ?? deps.usual ?? 'inline', chosen);
      if (place === here) inline += 1;
      return place;
    },
    inline: () => inline,
  };
}
