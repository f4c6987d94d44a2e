import { describe, expect, test } from 'vitest';
import type { RawPage } from '../../src/mcp/client.ts';
import { createPagedList } from '../../src/mcp/paged-list.ts';
import type { McpEra } from '../../src/protocol/mcp.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createRecordingLogger, failureOf } from './support.ts';

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

describe('reuse of a list (mcp-host 6.1, 18, MP12)', () => {
  test.each([
    [60_000, 1],
    [0, 3],
    [-1, 3],
    ['60000', 3],
    [1.5, 3],
    [undefined, 3],
    [1e15, 1],
  ])('ttlMs %j: three orders within 1 s are %d requests', async (ttlMs, requests) => {
    const { list, clock, cursors } = listOf(() => ({ ttlMs }));

    for (let order = 0; order < 3; order += 1) {
      await list.get({});
      clock.advance(300);
    }

    expect(cursors).toHaveLength(requests);
  });

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

  test('the legacy era asks every time, whatever the server says', async () => {
    const { list, cursors } = listOf(() => ({ ttlMs: 60_000 }), 'legacy');

    await list.get({});
    await list.get({});

    expect(cursors).toHaveLength(2);
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

describe('pages (mcp-host 6.2, MP1)', () => {
  test.each([
    ['modern', 2],
    ['legacy', 1],
  ] as const)('the empty cursor in the %s era: %d requests', async (era, requests) => {
    const { list, cursors } = listOf((_, count) => ({ nextCursor: count === 1 ? '' : undefined }), era);

    await list.get({});

    expect(cursors).toHaveLength(requests);
  });

  test.each([[undefined], [null]])('the cursor %j is the end', async (nextCursor) => {
    const { list, cursors } = listOf(() => ({ nextCursor }));

    await list.get({});

    expect(cursors).toHaveLength(1);
  });

  test.each([[5], [{}], [true]])('the cursor %j is a failed listing', async (nextCursor) => {
    const { list } = listOf(() => ({ nextCursor }));

    expect(await failureOf(list.get({}))).toMatchObject({ code: 'list_invalid' });
  });

  test('a cursor seen before ends the walk with a warning and no duplicates', async () => {
    const { list, logger, cursors } = listOf((cursor) => ({
      items: [cursor ?? 'first'],
      nextCursor: cursor === 'b' ? 'a' : cursor === 'a' ? 'b' : 'a',
    }));

    expect((await list.get({})).items).toEqual(['first', 'a', 'b']);
    expect(cursors).toHaveLength(3);
    expect(logger.find('mcp.list.cursor_repeated')).toEqual([{ server_name: 's', pages: 3 }]);
  });

  test('100 pages are followed, the 101st is refused', async () => {
    const full = listOf((_, count) => ({ nextCursor: count < 100 ? `c${count}` : undefined }));
    await full.list.get({});
    expect(full.cursors).toHaveLength(100);

    const endless = listOf((_, count) => ({ nextCursor: `c${count}` }));
    expect(await failureOf(endless.list.get({}))).toMatchObject({ code: 'list_invalid' });
    expect(endless.cursors).toHaveLength(100);
  });

  test('more than 10 000 entries are refused', async () => {
    const { list } = listOf((_, count) => ({ items: Array(2_000).fill('x'), nextCursor: `c${count}` }));

    expect((await failureOf(list.get({}))).message).toContain('more than 10000 entries');
  });
});
