import { loadPlugins } from './plugins.ts';
import { loadToolPool } from './tool-pool.ts';
import type { Load } from './report.ts';

/** The loads of reliability section 13 by their row. A new one is one entry here; its bounded form runs as a test. */
export const loads: { readonly [name: string]: Load } = {
  L3: loadPlugins,
  L6: loadToolPool,
};
