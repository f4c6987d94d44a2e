import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { recordFingerprint } from '../../src/mcp/era-memory.ts';
import { openPins } from '../../src/mcp/pins.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import { createRegistryStore } from '../../src/mcp/registry-file.ts';
import { definitionHash } from '../../src/mcp/remote-tool.ts';
import { createStartLimiter } from '../../src/mcp/start-limiter.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createRecordingLogger, tempFolder } from './support.ts';

const record = requireServerRecord({ name: 's', command: 'x', args: ['a'], env: { A: '1' } });

describe('what is remembered between engines', () => {
  test('a legacy verdict holds for 24 h and for this record only (mcp-host 4.3)', async () => {
    const clock = createManualClock();
    const store = createRegistryStore(tempFolder(), clock, createRecordingLogger());

    await store.rememberLegacy(record);

    expect(await store.isLegacy(record)).toBe(true);
    expect(await store.isLegacy(requireServerRecord({ name: 's', command: 'x', args: ['b'], env: { A: '1' } }))).toBe(
      false,
    );
    clock.advance(86_399_999);
    expect(await store.isLegacy(record)).toBe(true);
    clock.advance(1);
    expect(await store.isLegacy(record)).toBe(false);
  });

  test('the file is private, tells no argument, and keeps what others put into it', async () => {
    const folder = tempFolder();
    const file = path.join(folder, 'mcp-registry.json');
    writeFileSync(file, '{"tools":{"a/b":{"last_used":"x"}}}');
    const store = createRegistryStore(folder, createManualClock(), createRecordingLogger());

    await store.rememberLegacy(
      requireServerRecord({ name: 's', command: 'secret-command', args: ['secret-argument'] }),
    );

    const text = readFileSync(file, 'utf8');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(text).not.toContain('secret');
    expect(JSON.parse(text)).toMatchObject({ tools: { 'a/b': { last_used: 'x' } } });
  });

  test('a broken file costs its memory, is left as it is, and stops nothing', async () => {
    const folder = tempFolder();
    const file = path.join(folder, 'mcp-registry.json');
    writeFileSync(file, '{ broken');
    const logger = createRecordingLogger();
    const store = createRegistryStore(folder, createManualClock(), logger);

    expect(await store.isLegacy(record)).toBe(false);
    await store.rememberLegacy(record);
    expect((await store.definitions()).size).toBe(0);

    expect(readFileSync(file, 'utf8')).toBe('{ broken');
    expect(logger.find('mcp.registry.unreadable').length).toBeGreaterThan(0);
    expect(logger.find('mcp.registry.unwritable')).toHaveLength(1);
  });

  test('what is accepted in one tick is one write, and known to the next engine', async () => {
    const folder = tempFolder();
    const store = createRegistryStore(folder, createManualClock(), createRecordingLogger());
    const pins = await openPins(store, true, createRecordingLogger());
    expect(pins.check('a', '1')).toBe('new');

    for (let index = 0; index < 50; index += 1) pins.accept(`t${index}`, 'h');
    pins.accept('a', '1');
    await pins.flush();

    const next = await openPins(store, true, createRecordingLogger());
    expect([next.check('a', '1'), next.check('a', '2'), next.check('t49', 'h')]).toEqual(['same', 'changed', 'same']);
  });
});

describe('what counts as changed (MP8)', () => {
  test.each([
    [{ command: 'y' }, true],
    [{ args: ['b'] }, true],
    [{ env: { B: '1' } }, true],
    [{ env: { A: '2' } }, false],
    [{ tools: { eager: ['*'] } }, false],
    [{ timeouts: { call_ms: 5 } }, false],
  ])('a start with %j', (change, isChanged) => {
    const other = requireServerRecord({ name: 's', command: 'x', args: ['a'], env: { A: '1' }, ...change });

    expect(recordFingerprint(other) !== recordFingerprint(record)).toBe(isChanged);
  });

  test.each([
    [{ description: 'other' }, true],
    [{ inputSchema: { type: 'object', properties: { a: {} } } }, true],
    [{ annotations: { readOnlyHint: true } }, true],
    [{ _meta: { x: 1 } }, false],
  ])('a definition with %j', (change, isChanged) => {
    const base = { name: 't', description: 'd', inputSchema: { type: 'object' } };

    expect(definitionHash({ ...base, ...change }) !== definitionHash(base)).toBe(isChanged);
  });

  test('the order of members does not matter', () => {
    expect(definitionHash({ name: 't', inputSchema: { type: 'object', a: 1, b: 2 } })).toBe(
      definitionHash({ name: 't', inputSchema: { b: 2, a: 1, type: 'object' } }),
    );
  });
});

describe('the limit on starts (PL3)', () => {
  test('five within 60 s, the next when the oldest is over', () => {
    const clock = createManualClock();
    const limiter = createStartLimiter(clock);

    const waits = Array.from({ length: 6 }, () => {
      const wait = limiter.admit();
      clock.advance(1_000);
      return wait;
    });

    expect(waits).toEqual([0, 0, 0, 0, 0, 55_000]);
    clock.advance(54_000);
    expect(limiter.admit()).toBe(0);
  });

  test('a connection that held clears the count, a short one does not', () => {
    const limiter = createStartLimiter(createManualClock());
    for (let start = 0; start < 5; start += 1) limiter.admit();

    limiter.ended(59_999);
    expect(limiter.admit()).toBeGreaterThan(0);
    limiter.ended(60_000);
    expect(limiter.admit()).toBe(0);
  });
});
