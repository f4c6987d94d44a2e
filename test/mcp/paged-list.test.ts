import { describe, expect, test } from 'vitest';
import type { RawPage } from '../../src/mcp/client.ts';
import { createPagedList } from '../../src/mcp/paged-list.ts';
import type { McpEra } from '../../src/protocol/mcp.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createRecordingLogger } from './support.ts';

function listOf(pages: (cursor: string | undefined, count: number) => Partial<RawPage>, era: McpEra = 'modern') {
  const clock = createManualClock();
  const logger = createRecordingLogger();
  const cursors: (string | undefined)[] = [];
  const list = createPagedList({
    server: 's',
    era,
    clock,
    logger,
    limitMs: 60_000,
    page: async (cursor) => {
      cursors.push(cursor);
      return { items: [], nextCursor: undefined, ttlMs: 0, rejected: [], ...pages(cursor, cursors.length) };
    },
  });
  return { list, clock, logger, cursors };
}

describe('6.1, 18, MP12: reuse of a list', () => {
  test('a huge ttlMs is held 24 h', async () => {
    const { list, clock, cursors } = listOf(() => ({ ttlMs: 1e15 }));

    await list.get({});
    clock.advance(86_399_999);
    await list.get({});
    clock.advance(1);
    await list.get({});

    expect(cursors).toHaveLength(2);
  });

  test('the shortest time of all pages counts', async () => {
    const { list, clock, cursors } = listOf((cursor) =>
      cursor === undefined ? { nextCursor: 'b', ttlMs: 60_000 } : { ttlMs: 1_000 },
    );

    await list.get({});
    clock.advance(1_001);
    await list.get({});

    expect(cursors).toEqual([undefined, 'b', undefined, 'b']);
  });

  test('a change notice drops what is kept, also one that arrives during the walk', async () => {
    const { list, cursors } = listOf(() => {
      if (cursors.length === 1) list.drop();
      return { ttlMs: 60_000 };
    });

    await list.get({});
    await list.get({});
    await list.get({});
    expect(cursors).toHaveLength(2);

    list.drop();
    await list.get({});
    expect(cursors).toHaveLength(3);
  });

  test('a failed refresh does not fall back to what was kept', async () => {
    const { list } = listOf((_, count) => {
      if (count > 1) throw new Error('down');
      return { items: ['a'], ttlMs: 60_000 };
    });

    await list.get({});
    await expect(list.get({ refresh: true })).rejects.toThrow('down');
    await expect(list.get({})).rejects.toThrow('down');
  });

  test('callers at the same time share one walk, and one that gives up disturbs nobody', async () => {
    const { list, cursors } = listOf(() => ({ items: ['a'] }));
    const impatient = new AbortController();

    const first = list.get({ signal: impatient.signal });
    const second = list.get({});
    impatient.abort(new Error('enough'));

    await expect(first).rejects.toThrow('enough');
    expect((await second).items).toEqual(['a']);
    expect(cursors).toHaveLength(1);
  });
});
