import type { Clock, Logger } from '../protocol/deps.ts';
import { isEngineError } from '../protocol/error.ts';
import type { McpEra } from '../protocol/mcp.ts';
import { childSignal, untilAborted } from '../protocol/signal.ts';
import type { RawPage } from './client.ts';
import { listError, toSeconds } from './errors.ts';
import { readTtlMs } from './normalise.ts';

/** Limits of one listing (mcp-host 6.2, MP1). */
const maxPages = 100;
const maxItems = 10_000;

export interface FullList {
  readonly items: readonly unknown[];
  readonly rejected: readonly unknown[];
}

export interface PagedListOptions {
  readonly server: string;
  readonly era: McpEra;
  readonly clock: Clock;
  readonly logger: Logger;
  /** For all pages together, in milliseconds. */
  readonly limitMs: number;
  readonly page: (cursor: string | undefined, signal: AbortSignal) => Promise<RawPage>;
}

/** One list of a server, asked for in full and reused as long as the server allows (mcp-host 6.1, 6.2). */
export interface PagedList {
  /** Callers at the same time share one walk. `isFresh` tells whether the server was asked. */
  get(options: {
    readonly signal?: AbortSignal;
    readonly refresh?: boolean;
  }): Promise<FullList & { readonly isFresh: boolean }>;
  /** What is kept is no longer true. */
  drop(): void;
}

export function createPagedList(options: PagedListOptions): PagedList {
  const { clock } = options;
  let kept: { readonly list: FullList; readonly until: number } | undefined;
  let walk: Promise<FullList> | undefined;
  let generation = 0;

  function startWalk(): Promise<FullList> {
    const mine = generation;
    const started = walkPages(options).then(({ ttlMs, ...list }) => {
      // why: a change notice during the walk makes the result old before it is there
      if (mine === generation && ttlMs > 0) kept = { list, until: clock.elapsed() + ttlMs };
      return list;
    });
    walk = started;
    started
      .finally(() => {
        if (walk === started) walk = undefined;
      })
      .catch(() => {
        // why: whoever waits for the walk gets its error
      });
    return started;
  }

  return {
    async get({ signal, refresh = false }) {
      if (!refresh && kept !== undefined && clock.elapsed() < kept.until) return { ...kept.list, isFresh: false };
      if (refresh) drop();
      kept = undefined;
      const work = walk ?? startWalk();
      const list = await (signal === undefined ? work : untilAborted(work, signal));
      return { ...list, isFresh: true };
    },
    drop,
  };

  function drop(): void {
    generation += 1;
    kept = undefined;
    walk = undefined;
  }
}

async function walkPages(options: PagedListOptions): Promise<FullList & { readonly ttlMs: number }> {
  using limit = childSignal(undefined, options.limitMs);
  const items: unknown[] = [];
  const rejected: unknown[] = [];
  const seen = new Set<string>();
  let ttlMs = Infinity;
  let cursor: string | undefined;
  let pages = 0;
  do {
    if (pages === maxPages) throw listError('list_invalid', `more than ${maxPages} pages`);
    const page = await getPage(options, cursor, limit);
    pages += 1;
    for (const item of page.items) items.push(item);
    for (const tool of page.rejected) rejected.push(tool);
    if (items.length > maxItems) throw listError('list_invalid', `more than ${maxItems} entries`);
    ttlMs = Math.min(ttlMs, options.era === 'modern' ? readTtlMs(page.ttlMs) : 0);
    cursor = readCursor(page.nextCursor, options.era);
    if (cursor !== undefined && seen.has(cursor)) {
      options.logger.warn('mcp.list.cursor_repeated', { server_name: options.server, pages });
      break;
    }
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return { items, rejected, ttlMs };
}

async function getPage(
  options: PagedListOptions,
  cursor: string | undefined,
  limit: { readonly signal: AbortSignal; readonly timedOut: boolean },
): Promise<RawPage> {
  try {
    return await askTwice(options, cursor, limit.signal);
  } catch (cause) {
    if (!limit.timedOut) throw cause;
    throw listError('list_invalid', `no complete list within ${toSeconds(options.limitMs)} s`, { cause });
  }
}

/** A list request changes nothing, so one whose connection broke may be sent once more (mcp-host 5.6). */
async function askTwice(options: PagedListOptions, cursor: string | undefined, signal: AbortSignal): Promise<RawPage> {
  try {
    return await options.page(cursor, signal);
  } catch (error) {
    if (!isEngineError(error) || error.code !== 'closed') throw error;
    return await options.page(cursor, signal);
  }
}

/** The cursor to go on with. The empty text is one in the modern era and the end in the legacy era (MP1). */
function readCursor(value: unknown, era: McpEra): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw listError('list_invalid', 'a cursor is no text');
  return value === '' && era === 'legacy' ? undefined : value;
}
