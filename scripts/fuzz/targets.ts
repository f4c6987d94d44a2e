import { fuzzChunks } from './chunks-runs.ts';
import { fuzzFrames } from './frames-runs.ts';
import { fuzzPaths } from './paths-runs.ts';
import { fuzzShell } from './shell-runs.ts';

/** What a target did and what it should not have done. */
export interface FuzzOutcome {
  /** In words, with figures. */
  readonly did: string;
  readonly violations: readonly string[];
}

export interface FuzzTarget {
  /** The row of reliability section 14. */
  readonly row: string;
  /** Full size. */
  readonly count: number;
  run(options: { readonly count: number; readonly seed: number }): Promise<FuzzOutcome>;
}

/** The targets by name. A new one is one entry here; its bounded form runs as a test. */
export const targets: { readonly [name: string]: FuzzTarget } = {
  frames: {
    row: 'F1',
    count: 100_000,
    async run(options) {
      const { calls, frames, violations } = await fuzzFrames(options);
      return { did: `${calls} calls, ${frames} bad frames`, violations };
    },
  },
  chunks: {
    row: 'F2',
    count: 20_000,
    run(options) {
      const { splits, streams, violations } = fuzzChunks(options);
      return Promise.resolve({ did: `${splits} splits of a message, ${streams} event streams`, violations });
    },
  },
  shell: {
    row: 'F3',
    count: 20_000,
    async run(options) {
      const { generated, allowed, started, violations } = await fuzzShell(options);
      return { did: `${generated} commands, ${allowed} allowed, ${started} programs started`, violations };
    },
  },
  paths: {
    row: 'F4',
    count: 20_000,
    async run(options) {
      const { paths, served, swaps, violations } = await fuzzPaths(options);
      return { did: `${paths} paths, ${served} calls served, ${swaps} swaps`, violations };
    },
  },
};
