import { getEventListeners } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/protocol/json.ts';
import { createRpcPeer, type Disconnect, type RpcLimits, type RpcPeer } from '../../src/transport/rpc-peer.ts';
import { type LogLine, recordLogs } from '../plugins/support.ts';

const limits: RpcLimits = {
  maxLineBytes: 1_000,
  maxQueuedBytes: 100_000,
  stallMs: 60_000,
  maxQueuedAnswers: 3,
  invalidLinesPerMinute: 20,
  ignoredPerMinute: 20,
};

let input: PassThrough;
let output: PassThrough;
let peer: RpcPeer<string>;
let logs: LogLine[];
let disconnects: Disconnect[];
let notifications: [string, unknown][];

beforeEach(() => {
  input = new PassThrough();
  output = new PassThrough();
  logs = [];
  disconnects = [];
  notifications = [];
  peer = createPeer(input);
});

function createPeer(stream: Writable): RpcPeer<string> {
  return createRpcPeer<string>({
    name: 'p',
    input: stream,
    output,
    limits,
    logger: recordLogs(logs),
    elapsed: () => performance.now(),
    sendsCancellations: true,
    onNotification: (method, params) => notifications.push([method, params]),
    onDisconnect: (reason) => disconnects.push(reason),
  });
}

afterEach(() => {
  peer.fail(undefined);
  peer.dispose();
});

const read = (result: unknown): unknown => result;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const send = (message: unknown): void => void output.write(`${JSON.stringify(message)}\n`);

/** What was written since the last look. */
function written(): JsonObject[] {
  const text = String(input.read() ?? '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
}

/** The outcome as text: the value as JSON or the message of the error. */
async function outcome(call: Promise<unknown>): Promise<string> {
  return await call.then(
    (value) => JSON.stringify(value),
    (error: unknown) => (error as Error).message,
  );
}

test('ids are integers from 1, one more for each request, and only the number of a pending call is its answer (FR5)', async () => {
  const [first, second] = ['a', 'b'].map((method) => peer.request(method, undefined, { timeoutMs: 1_000, read }));
  await tick();
  expect(written().map((message) => message['id'])).toEqual([1, 2]);

  for (const id of ['2', null, 3, 0, 99]) send({ jsonrpc: '2.0', id, result: 'wrong' });
  send({ jsonrpc: '2.0', id: 2, result: 'second' });
  send({ jsonrpc: '2.0', id: 2, result: 'again' });
  send({ jsonrpc: '2.0', id: 1, result: 'first' });

  expect(await Promise.all([first, second])).toEqual(['first', 'second']);
  await tick();
  expect(logs.map((line) => `${line.level} ${line.message}`)).toEqual([
    'warn response with unexpected id: "2"',
    'warn response with unexpected id: null',
    'debug late or unknown response 3',
    'debug late or unknown response 0',
    'debug late or unknown response 99',
    'debug late or unknown response 2',
  ]);
});

test('an answer that comes before its request was written is not kept for it (FR6)', async () => {
  send({ jsonrpc: '2.0', id: 1, result: 'guess' });
  const call = peer.request('a', undefined, { timeoutMs: 1_000, read });
  await tick();
  send({ jsonrpc: '2.0', id: 1, result: 'real' });

  expect(await call).toBe('real');
});

test('answers reach their callers over more calls than the ring has places', async () => {
  const long = peer.request('long', undefined, { timeoutMs: 60_000, read });
  const others: Promise<unknown>[] = [];
  for (let index = 2; index <= 3_000; index += 1) {
    others.push(peer.request('short', undefined, { timeoutMs: 60_000, read }));
    await tick();
    input.read();
    send({ jsonrpc: '2.0', id: index, result: index });
  }
  send({ jsonrpc: '2.0', id: 1, result: 'long' });

  expect(await Promise.all(others)).toEqual(others.map((_, index) => index + 2));
  expect(await long).toBe('long');
  expect(peer.pendingCount).toBe(0);
});

describe('a malformed answer (FR7, FR3, FR9)', () => {
  const wide = 'x'.repeat(2_000);
  const deep = `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(300)}${']'.repeat(300)}}`;

  test.each([
    ['an error that is none', { id: 1, error: 'boom' }, /^plugin `p` sent an invalid `m` result: `error` must be/],
    ['an error without message', { id: 1, error: { code: 1 } }, /^plugin `p` sent an invalid `m` result: /],
    [
      'both',
      { id: 1, result: 1, error: { code: 7, message: 'both' } },
      /^plugin `p` returned an error: both \(code 7\)$/,
    ],
    ['neither', { id: 1 }, /^null$/],
    ['a null error', { id: 1, result: 2, error: null }, /^2$/],
    ['a line over the limit', { id: 1, result: wide }, /^plugin `p` sent a line longer than 1000 bytes$/],
    [
      'a line over the limit, id first',
      `{ "id" : 1 , "jsonrpc":"2.0","error":{"message":"${wide}"}}`,
      /longer than 1000/,
    ],
    ['deep nesting', deep, /^plugin `p` sent an invalid `m` result: nested deeper than 256 levels$/],
  ])('%s fails its own call only', async (_name, message, expected) => {
    const [broken, other] = ['m', 'n'].map((method) => peer.request(method, undefined, { timeoutMs: 5_000, read }));
    await tick();

    output.write(typeof message === 'string' ? `${message}\n` : `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    send({ jsonrpc: '2.0', id: 2, result: 'fine' });

    expect(await outcome(broken as Promise<unknown>)).toMatch(expected);
    expect(await other).toBe('fine');
  });

  test('an overlong request or notification of the plugin fails no call', async () => {
    const call = peer.request('m', undefined, { timeoutMs: 5_000, read });
    await tick();

    output.write(`{"jsonrpc":"2.0","id":1,"method":"${wide}"}\n`);
    send({ jsonrpc: '2.0', id: 1, result: 'fine' });

    expect(await call).toBe('fine');
  });

  test('what the reader refuses is named after method and member', async () => {
    const call = peer.request('m', undefined, {
      timeoutMs: 5_000,
      read() {
        throw new Error('`x` must be a string');
      },
    });
    await tick();
    send({ jsonrpc: '2.0', id: 1, result: {} });

    expect(await outcome(call)).toBe('plugin `p` sent an invalid `m` result: `x` must be a string');
  });
});

describe('noise (FR4)', () => {
  test.each(['Welcome!', 'Content-Length: 12', '[]', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '\ufeff{}'])(
    '%s is logged and skipped',
    async (line) => {
      output.write(`${line}\n\n  \n\t\r\n{"jsonrpc":"2.0","method":"log"}\n`);
      await tick();

      expect(logs).toHaveLength(1);
      expect(logs[0]?.message).toMatch(/^ignoring invalid line from plugin: ./);
      expect(notifications).toEqual([['log', undefined]]);
      expect(input.read()).toBeNull();
    },
  );

  test('is bounded in the log, and counted', async () => {
    for (let index = 0; index < 1_000; index += 1) output.write(`noise\n{"jsonrpc":"2.0","id":${index + 5}}\n`);
    await tick();

    expect(logs.filter((line) => line.message.startsWith('ignoring'))).toHaveLength(20);
    expect(logs.filter((line) => line.message.startsWith('late'))).toHaveLength(20);
    expect(peer.invalidLines).toBe(1_000);
  });
});

describe('requests of the plugin (FR5)', () => {
  test.each([
    [
      { id: 0, method: 'ping' },
      { id: 0, result: {} },
    ],
    [
      { id: '', method: 'ping', params: null },
      { id: '', result: {} },
    ],
    [
      { id: 'x', method: 'roots/list' },
      { id: 'x', error: { code: -32601, message: 'method not found: roots/list' } },
    ],
  ])('%j', async (request, answer) => {
    send({ jsonrpc: '2.0', ...request });
    await tick();

    expect(written()).toEqual([{ jsonrpc: '2.0', ...answer }]);
  });

  test('are dropped while too many answers wait, and answered again afterwards', async () => {
    input.write('x'.repeat(20_000)); // fills the stream, so that the next write stays pending
    for (let id = 0; id < 50; id += 1) send({ jsonrpc: '2.0', id, method: 'ping' });
    await tick();
    for (let id = 50; id < 60; id += 1) send({ jsonrpc: '2.0', id, method: 'ping' });
    await tick();
    input.read();
    await tick();
    send({ jsonrpc: '2.0', id: 'later', method: 'ping' });
    await tick();

    const ids = written().map((message) => message['id']);
    expect(ids.at(-1)).toBe('later');
    expect(logs.some((line) => line.level === 'debug' && line.message.startsWith('dropping request `ping`: 3 '))).toBe(
      true,
    );
  });
});

describe('giving up', () => {
  test('a timed-out call is cancelled; its late answer is dropped (FR6)', async () => {
    const call = peer.request('slow', { a: 1 }, { timeoutMs: 20, read });

    expect(await outcome(call)).toBe('plugin `p` did not answer `slow` within 0.02s');
    await tick();
    send({ jsonrpc: '2.0', id: 1, result: 'late' });
    await tick();

    expect(written().slice(1)).toEqual([
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'timed out after 0.02s' } },
    ]);
    expect(logs.map((line) => line.message)).toEqual(['late or unknown response 1']);
  });

  test('an aborted call rejects with kind cancelled and tells the plugin', async () => {
    const controller = new AbortController();
    const call = peer.request('slow', undefined, { timeoutMs: 60_000, read, signal: controller.signal });
    await tick();
    controller.abort();

    await expect(call).rejects.toMatchObject({ kind: 'cancelled', message: 'call to plugin `p` was cancelled' });
    await tick();
    expect(written()[1]).toMatchObject({ params: { requestId: 1, reason: 'cancelled by host' } });
  });

  test('an abort that came before the answer counts, also when both are seen at once', async () => {
    const controller = new AbortController();
    const call = peer.request('m', undefined, { timeoutMs: 60_000, read, signal: controller.signal });
    await tick();
    controller.abort();
    send({ jsonrpc: '2.0', id: 1, result: 'late' });

    expect(await outcome(call)).toBe('call to plugin `p` was cancelled');
  });

  test('one signal carries hundreds of calls without a warning and without a listener left', async () => {
    const controller = new AbortController();
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    input.resume();
    const options = { timeoutMs: 60_000, read, signal: controller.signal };
    const calls = Array.from({ length: 500 }, () => outcome(peer.request('m', undefined, options)));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);

    controller.abort();
    const outcomes = await Promise.all(calls);
    process.off('warning', onWarning);

    expect(new Set(outcomes)).toEqual(new Set(['call to plugin `p` was cancelled']));
    expect(warnings).toEqual([]);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  test('a signal that is made when it is looked at is left alone by a short call and heeded by a long one', async () => {
    const controller = new AbortController();
    let looks = 0;
    const signalSource = {
      get signal() {
        looks += 1;
        return controller.signal;
      },
    };
    const short = peer.request('short', undefined, { timeoutMs: 60_000, read, signalSource });
    await tick();
    send({ jsonrpc: '2.0', id: 1, result: 'fine' });
    expect(await short).toBe('fine');
    expect(looks).toBe(0);

    const long = outcome(peer.request('long', undefined, { timeoutMs: 60_000, read, signalSource }));
    await tick();
    controller.abort();

    expect(await long).toBe('call to plugin `p` was cancelled');
    expect(looks).toBe(1);
  });

  test('silent calls are never cancelled', async () => {
    const call = peer.request('initialize', undefined, { timeoutMs: 10, read, isSilent: true });
    await outcome(call);
    await tick();

    expect(written()).toHaveLength(1);
  });

  test('progress can prolong a call, but not past three times its limit', async () => {
    const startedAt = performance.now();
    const call = outcome(peer.request('m', undefined, { timeoutMs: 60, read, tag: 'mine' }));
    expect(peer.tagOf(1)).toBe('mine');
    const timer = setInterval(() => peer.prolong(1), 10);

    expect(await call).toBe('plugin `p` did not answer `m` within 0.06s');
    clearInterval(timer);

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(175);
  });
});

describe('the end', () => {
  test('of the output fails what is pending with what is known about the process', async () => {
    const call = peer.request('m', undefined, { timeoutMs: 60_000, read });
    await tick();
    output.end();
    await tick();
    expect(disconnects).toEqual(['output_ended']);

    peer.fail({ exit_code: 3 });

    await expect(call).rejects.toMatchObject({
      message: 'plugin `p` closed its output',
      code: 'closed',
      data: { exit_code: 3 },
    });
    expect(await outcome(peer.request('m', undefined, { timeoutMs: 1, read }))).toBe('plugin `p` is closed');
  });

  test('an unterminated last line is processed first', async () => {
    const call = peer.request('m', undefined, { timeoutMs: 60_000, read });
    await tick();

    output.end('{"jsonrpc":"2.0","id":1,"result":"last words"}');

    expect(await call).toBe('last words');
  });

  test('a failed write tells apart the call that was written, those in flight and those waiting', async () => {
    let complete: (error?: Error) => void = () => {};
    const broken = new Writable({ write: (_chunk, _encoding, done) => void (complete = done) });
    broken.on('error', () => {});
    peer = createPeer(broken);
    const inFlight = outcome(peer.request('a', undefined, { timeoutMs: 60_000, read }));
    await tick();
    complete();
    await tick();
    const beingWritten = outcome(peer.request('b', undefined, { timeoutMs: 60_000, read }));
    await tick();
    const waiting = outcome(peer.request('c', undefined, { timeoutMs: 60_000, read }));
    await tick();

    complete(new Error('write EPIPE'));

    expect(await Promise.all([inFlight, beingWritten, waiting])).toEqual([
      'plugin `p` stopped accepting input',
      expect.stringMatching(/^cannot write to plugin `p`: ./) as string,
      'plugin `p` is closed',
    ]);
    expect(disconnects).toEqual(['write_failed']);
  });

  test('refusing new calls leaves those in flight alone', async () => {
    const call = peer.request('m', undefined, { timeoutMs: 60_000, read });
    await tick();
    peer.close();

    expect(await outcome(peer.request('n', undefined, { timeoutMs: 1, read }))).toBe('plugin `p` is closed');
    send({ jsonrpc: '2.0', id: 1, result: 'answered' });
    expect(await call).toBe('answered');
  });

  test('a request over the limit is refused before anything is written', async () => {
    const call = outcome(peer.request('m', { text: 'é'.repeat(600) }, { timeoutMs: 1_000, read }));

    expect(await call).toBe('request to plugin `p` is longer than 1000 bytes');
    await tick();
    expect(input.read()).toBeNull();
  });

  test('params that are no JSON are refused', async () => {
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;

    expect(await outcome(peer.request('m', cycle, { timeoutMs: 1_000, read }))).toMatch(
      /^request to plugin `p` cannot be written as JSON: /,
    );
  });
});
