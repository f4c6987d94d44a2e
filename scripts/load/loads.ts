import { loadClose } from './close.ts';
import { loadCancel } from './crowd-cancel.ts';
import { loadRuns } from './crowd-runs.ts';
import { loadPlugins } from './plugins.ts';
import { loadToolPool } from './tool-pool.ts';
import type { Load } from './report.ts';

/** The loads of reliability section 13 by their row. A new one is one entry here; its bounded form runs as a test. */
export const loads: { readonly [name: string]: Load } = {
  L1: loadRuns,
  L3: loadPlugins,
  L6: loadToolPool,
  L7: loadCancel,
  L10: loadClose,
};
