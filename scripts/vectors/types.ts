import type { RunPool } from '../../src/workers/run-pool.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { ToolPool } from '../../src/workers/tool-pool.ts';

/** How vectors are played. */
export interface PlayOptions {
  /** Length of one tick in milliseconds (VPP vectors). */
  readonly tickMs: number;
  /** Agent run vectors: execute the run in a worker thread. */
  readonly threads: boolean;
  /** Threads shared by all tool calls; whoever plays ends them. */
  readonly toolPool: ToolPool;
  /** Threads shared by all runs: starting one costs more than playing a vector. */
  readonly runPool?: RunPool;
}

/** A parsed vector file. `path` is absolute; programs that belong to the vectors lie beside it. */
export interface VectorFile {
  readonly path: string;
  readonly data: JsonObject;
}

/** One vector or table row. */
export interface VectorCase {
  readonly id: string;
  /**
   * How many may run at once: `many` for pure rows and light runs, `few` for those that start processes, one `alone` when how
   * long it takes is judged: what its neighbours start must not count.
   */
  readonly weight: 'many' | 'few' | 'alone';
  /** Plays it; one line for each thing that differed, none when it passed. A rejection is a failure too. */
  play(options: PlayOptions): Promise<readonly string[]>;
}

/** Turns a file into its cases; throws for a file whose group, kind or keys it does not know. */
export type Player = (file: VectorFile) => readonly VectorCase[];
