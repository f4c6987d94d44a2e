import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Makes a function that frees what the young generation holds and nobody needs; what survives it is in the old one. */
export function toYoungCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: { readonly type: 'minor' }) => void;
  return () => {
    // twice, since what survives once is only moved within the young generation
    gc({ type: 'minor' });
    gc({ type: 'minor' });
  };
}

/** What the old generation holds, garbage included. */
export function oldKiB(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space');
  return (old?.space_used_size ?? 0) / 1024;
}
