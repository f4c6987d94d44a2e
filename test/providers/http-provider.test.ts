import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/protocol/deps.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import type { StreamDelta } from '../../src/protocol/model.ts';
import { type Answer, jsonOf, stalledStream, startModelServer, streamOf } from './model-server.ts';
import { anthropicAnswer, anthropicStream, openaiAnswer, openaiStream } from './recorded.ts';
import { ask, open } from './support.ts';

const anthropicEvent = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;
const start = anthropicEvent({ type: 'message_start', message: { model: 'm', content: [], usage: {} } });
const textDelta = (text: string): string =>
  anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const overloaded = anthropicEvent({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
const wholeOpenai = { model: 'm', choices: [{ finish_reason: 'stop', message: { content: 'whole' } }] };

function plain(status: number, body = '', headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, headers);
    response.end(body);
  };
}

/** A clock that notes its waits and does not wait. */
function notingClock(waits: number[], now = Date.now): Clock {
  return { ...systemClock, now, sleep: (ms) => Promise.resolve(void waits.push(ms)) };
}

describe('what is tried again', () => {
  test.each([
    [429, '', 4],
    [408, '', 4],
    [500, '', 4],
    [503, '', 4],
    [529, 'overloaded', 4],
    [429, 'You exceeded your quota: insufficient_quota', 1],
    [400, 'no', 1],
    [401, 'no', 1],
    [402, 'no', 1],
    [403, 'no', 1],
    [404, 'no', 1],
    [413, 'no', 1],
    [422, 'no', 1],
    [302, '', 1],
  ])('status %i %s: %i requests', async (status, body, count) => {
    await using server = await startModelServer(plain(status, body));

    for (const kind of ['anthropic', 'openai']) {
      const before = server.requests.length;
      const call = open({ kind, baseUrl: server.url }).complete(ask('go'));

      await expect(call).rejects.toMatchObject({ name: 'EngineError' });
      expect(server.requests.length - before).toBe(count);
    }
  });

  test('a failure that passes is not seen', async () => {
    await using server = await startModelServer(plain(500), plain(429), streamOf(anthropicStream));

    const answer = await open({ kind: 'anthropic', baseUrl: server.url }).completeStreaming(ask('go'), () => {});

    expect(answer).toEqual(anthropicAnswer);
    expect(server.requests).toHaveLength(3);
  });

  test('each retry is told to the log, and no secret with it', async () => {
    const lines: unknown[] = [];
    const note = (message: string, fields?: object): void => void lines.push([message, fields]);
    const logger = { trace: note, debug: note, info: note, warn: note, error: note };
    await using server = await startModelServer(plain(500, 'bad key sk-test-0123456789'), jsonOf(wholeOpenai));

    await open({ kind: 'openai', baseUrl: server.url, deps: { logger } }).complete(ask('go'));

    expect(lines).toEqual([
      [
        'model call failed, trying again: HTTP 500: bad key ***',
        { provider: 'openai', attempt: 1, delay_ms: 0, kind: 'server_error' },
      ],
    ]);
  });

  test('no attempts is one attempt', async () => {
    await using server = await startModelServer(plain(500));

    const call = open({ kind: 'openai', baseUrl: server.url, limits: { attempts: 0 } }).complete(ask('go'));

    await expect(call).rejects.toMatchObject({ kind: 'server_error' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('Retry-After', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  test('replaces the computed wait: seconds, a date to come, a date gone by', async () => {
    const waits: number[] = [];
    await using server = await startModelServer(
      plain(429, '', { 'retry-after': '0.5' }),
      plain(503, '', { 'retry-after': 'Thu, 01 Jan 2026 00:00:05 GMT' }),
      plain(429, '', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }),
      jsonOf(wholeOpenai),
    );
    const deps = { clock: notingClock(waits, () => now) };

    await open({ kind: 'openai', baseUrl: server.url, limits: { retry_base_ms: 1000 }, deps }).complete(ask('go'));

    expect(waits).toEqual([500, 5000]);
  });

  test('what is no time at all is as good as absent; the last error tells it on', async () => {
    const waits: number[] = [];
    await using server = await startModelServer(
      plain(429, '', { 'retry-after': '0x10' }),
      plain(429, '', { 'retry-after': 'soon' }),
      plain(429, '', { 'retry-after': '-5' }),
      plain(429, '', { 'retry-after': '7200' }),
    );
    const deps = { clock: notingClock(waits) };

    const call = open({ kind: 'openai', baseUrl: server.url, limits: { retry_base_ms: 1000 }, deps }).complete(
      ask('go'),
    );

    await expect(call).rejects.toMatchObject({ kind: 'rate_limited', retryAfterMs: 3_600_000 });
    expect(waits).toEqual([1000, 2000, 4000]);
  });

  test('an abort ends the wait', async () => {
    const controller = new AbortController();
    await using server = await startModelServer((request, response) => {
      void plain(429, '', { 'retry-after': '50' })(request, response);
      response.on('finish', () => setImmediate(() => controller.abort()));
    });

    const call = open({ kind: 'openai', baseUrl: server.url }).complete(ask('go', { signal: controller.signal }));

    await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
    expect(server.requests).toHaveLength(1);
  });
});

describe('streams that go wrong', () => {
  test('overloaded before any output is tried again, and its pieces are gone', async () => {
    await using server = await startModelServer(streamOf(start, overloaded), streamOf(anthropicStream));

    const answer = await open({ kind: 'anthropic', baseUrl: server.url }).completeStreaming(ask('go'), () => {});

    expect(answer).toEqual(anthropicAnswer);
    expect(server.requests).toHaveLength(2);
  });

  test('overloaded to the end is a server error with code `overloaded`', async () => {
    await using server = await startModelServer(streamOf(start, overloaded));

    const call = open({ kind: 'anthropic', baseUrl: server.url }).completeStreaming(ask('go'), () => {});

    await expect(call).rejects.toMatchObject({
      kind: 'server_error',
      code: 'overloaded',
      message: 'stream error: Overloaded',
    });
    expect(server.requests).toHaveLength(4);
  });

  test.each([
    ['an error event', [start, textDelta('Hel'), overloaded], 'stream error: Overloaded'],
    ['an early end', [start, textDelta('Hel')], 'the stream ended before the answer was complete'],
  ])('%s after output started is told once, as kind `other`', async (_name, pieces, reason) => {
    await using server = await startModelServer(streamOf(...pieces));
    const deltas: StreamDelta[] = [];

    const call = open({ kind: 'anthropic', baseUrl: server.url }).completeStreaming(ask('go'), (delta) =>
      deltas.push(delta),
    );

    await expect(call).rejects.toMatchObject({
      kind: 'other',
      message: `the stream broke after output started: ${reason}`,
    });
    expect(deltas).toEqual([{ kind: 'text', text: 'Hel' }]);
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [{ error: { message: 'slow down', type: 'rate_limit_error' } }, 'rate_limited'],
    [{ error: { message: 'upstream', code: 502 } }, 'server_error'],
    [{ error: { message: 'no credit', code: 'insufficient_quota' } }, 'invalid_request'],
    [{ error: { message: 'too much', code: 'context_length_exceeded' } }, 'context_too_long'],
    [{ error: { message: 'who are you', code: 401 } }, 'auth_failed'],
    [{ error: 'model runner crashed' }, 'server_error'],
  ])('the error event %j of a Chat Completions stream is %s', async (event, kind) => {
    await using server = await startModelServer(streamOf(`data: ${JSON.stringify(event)}\n\n`));

    const call = open({ kind: 'openai', baseUrl: server.url, limits: { attempts: 1 } }).completeStreaming(
      ask('go'),
      () => {},
    );

    await expect(call).rejects.toMatchObject({ kind, message: expect.stringMatching(/^stream error: /) });
  });

  test('a connection that breaks is a network error', async () => {
    await using server = await startModelServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(start, () => response.destroy());
    });

    const call = open({ kind: 'anthropic', baseUrl: server.url }).completeStreaming(ask('go'), () => {});

    await expect(call).rejects.toMatchObject({
      kind: 'network',
      message: expect.stringMatching(/^transport error: 127/),
    });
    expect(server.requests).toHaveLength(4);
  });

  test('an event larger than the limit ends the call instead of filling the memory', async () => {
    const piece = 'x'.repeat(1024 * 1024);
    await using server = await startModelServer(streamOf('data: ', ...Array.from({ length: 17 }, () => piece)));

    const call = open({ kind: 'anthropic', baseUrl: server.url, limits: { attempts: 1 } }).completeStreaming(
      ask('go'),
      () => {},
    );

    await expect(call).rejects.toMatchObject({ kind: 'server_error', message: expect.stringContaining('longer than') });
  });
});

describe('silence', () => {
  test.each([
    ['no byte at all', stalledStream(), { silence_ms: 50 }, 'the stream stayed silent for 0.05 seconds'],
    ['no answer', () => {}, { silence_ms: 50 }, 'the stream stayed silent for 0.05 seconds'],
    ['silence after a start', stalledStream(start), { silence_ms: 50 }, 'the stream stayed silent for 0.05 seconds'],
    [
      'only keep-alives',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const timer = setInterval(() => response.write(': ping\n\nevent: ping\ndata: {"type":"ping"}\n\n'), 5);
        response.on('close', () => clearInterval(timer));
      },
      { keep_alive_ms: 100, silence_ms: 10_000 },
      'the stream sent nothing but keep-alives for 0.1 seconds',
    ],
    [
      'a living stream without an end',
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const timer = setInterval(() => response.write(start), 5);
        response.on('close', () => clearInterval(timer));
      },
      { stream_ms: 100 },
      'request timed out: the stream took longer than 0.1 seconds',
    ],
  ] satisfies readonly (readonly [string, Answer, { [key: string]: number }, string])[])(
    '%s is a network error',
    async (_name, answer, limits, message) => {
      await using server = await startModelServer(answer);
      const provider = open({ kind: 'anthropic', baseUrl: server.url, limits: { ...limits, attempts: 1 } });

      const call = provider.completeStreaming(ask('go'), () => {});

      await expect(call).rejects.toMatchObject({ kind: 'network', code: 'timeout', message });
    },
  );

  test('a request without an answer is cut at its limit', async () => {
    await using server = await startModelServer(() => {});
    const provider = open({ kind: 'openai', baseUrl: server.url, limits: { request_ms: 50, attempts: 1 } });

    await expect(provider.complete(ask('go'))).rejects.toMatchObject({
      kind: 'network',
      message: 'request timed out: no answer within 0.05 seconds',
    });
  });

  test.each(['anthropic', 'openai'])('%s: a cancel during a stall ends the wait and the connection', async (kind) => {
    const controller = new AbortController();
    let closed: Promise<void> | undefined;
    await using server = await startModelServer((_request, response) => {
      closed = new Promise((resolve) => response.on('close', () => resolve()));
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      setImmediate(() => controller.abort(new Error('enough')));
    });

    const call = open({ kind, baseUrl: server.url }).completeStreaming(
      ask('go', { signal: controller.signal }),
      () => {},
    );

    await expect(call).rejects.toMatchObject({ kind: 'cancelled', message: 'the model call was cancelled' });
    await closed;
    expect(server.requests).toHaveLength(1);
  });

  test('a fetch that ignores its signal cannot hold a cancelled call', async () => {
    const controller = new AbortController();
    const deaf = (): Promise<Response> => {
      queueMicrotask(() => controller.abort());
      return new Promise(() => {});
    };

    const call = open({ kind: 'anthropic', deps: { fetch: deaf } }).complete(ask('go', { signal: controller.signal }));

    await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
  });

  test('a call that is cancelled before it starts sends nothing', async () => {
    await using server = await startModelServer(jsonOf(wholeOpenai));

    const call = open({ kind: 'openai', baseUrl: server.url }).complete(ask('go', { signal: AbortSignal.abort() }));

    await expect(call).rejects.toMatchObject({ kind: 'cancelled' });
    expect(server.requests).toHaveLength(0);
  });

  test('many calls under one signal leave no listener behind', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners += 1;
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners -= 1;
        remove(...args);
      },
    });
    await using server = await startModelServer(jsonOf(wholeOpenai));
    const provider = open({ kind: 'openai', baseUrl: server.url });

    for (let count = 0; count < 20; count += 1) await provider.complete(ask('go', { signal }));

    expect(listeners).toBe(0);
  });
});

describe('what a user is told', () => {
  test.each([
    ['anthropic', 'check the network and `base_url` of provider `anthropic`'],
    ['openai', 'check the network and `base_url` of provider `openai`'],
    ['ollama', 'start it with `ollama serve`, or set `base_url` of provider `ollama`'],
  ])('%s: a refused connection names the host and a way out', async (kind, wayOut) => {
    let url = '';
    {
      await using server = await startModelServer();
      url = server.url;
    }
    const provider = open({ kind, baseUrl: url, limits: { attempts: 1 } });

    await expect(provider.complete(ask('go'))).rejects.toMatchObject({
      kind: 'network',
      message: `connection failed: ${new URL(url).host} refused the connection; ${wayOut}`,
    });
    await expect(provider.healthCheck()).rejects.toMatchObject({ kind: 'network' });
  });

  test.each(['anthropic', 'openai'])('%s: a missing key is told by the first call', async (kind) => {
    const { openProvider } = await import('../../src/providers/provider.ts');
    const { testDeps } = await import('./support.ts');
    const provider = openProvider({ name: 'mine', kind, options: { api_key: '' } }, testDeps());

    const missing = {
      kind: 'auth_failed',
      message: 'no API key configured for provider `mine` (set `api_key` or `api_key_env`)',
    };
    await expect(provider.complete(ask('go'))).rejects.toMatchObject(missing);
    await expect(provider.completeStreaming(ask('go'), () => {})).rejects.toMatchObject(missing);
    await expect(provider.healthCheck()).rejects.toMatchObject(missing);
  });

  test('a redirect is not followed: the key stays with its host', async () => {
    await using other = await startModelServer(jsonOf(wholeOpenai));
    await using server = await startModelServer(plain(307, '', { location: `${other.url}/chat/completions` }));

    await expect(open({ kind: 'openai', baseUrl: server.url }).complete(ask('go'))).rejects.toMatchObject({
      kind: 'other',
      message: 'HTTP 307',
    });
    expect(other.requests).toHaveLength(0);
  });

  test('an answer that is no JSON names itself, without the key', async () => {
    await using server = await startModelServer(plain(200, '<html>token=abc sk-abcdefgh</html>'));

    const call = open({ kind: 'openai', baseUrl: server.url, limits: { attempts: 1 } }).complete(ask('go'));

    await expect(call).rejects.toMatchObject({
      kind: 'server_error',
      message: expect.stringMatching(/^malformed JSON response \(.*\): <html>token=\*\*\* sk-\*\*\*<\/html>$/),
    });
  });
});

describe('asking in another form', () => {
  test('a refused stream of the Chat Completions dialect is asked again without streaming', async () => {
    await using server = await startModelServer(plain(400, 'no streaming here'), jsonOf(wholeOpenai));

    const answer = await open({ kind: 'openai', baseUrl: server.url }).completeStreaming(ask('go'), () => {});

    expect(answer.message.content).toEqual([{ type: 'text', text: 'whole' }]);
    expect(server.requests.map((request) => request.body['stream'])).toEqual([true, undefined]);
  });

  test('a plain JSON answer to a streaming request is taken', async () => {
    await using server = await startModelServer(jsonOf(wholeOpenai));

    const answer = await open({ kind: 'openai', baseUrl: server.url }).completeStreaming(ask('go'), () => {});

    expect(answer.message.content).toEqual([{ type: 'text', text: 'whole' }]);
  });

  test('`stream = false` never asks for a stream', async () => {
    const { openProvider } = await import('../../src/providers/provider.ts');
    const { testDeps } = await import('./support.ts');
    await using server = await startModelServer(jsonOf(wholeOpenai));
    const options = { base_url: server.url, stream: false };

    await openProvider({ name: 'x', kind: 'openai', options }, testDeps()).completeStreaming(ask('go'), () => {});

    expect(server.requests[0]?.body['stream']).toBeUndefined();
  });

  const closed = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };

  test('a refused response schema is left out once, and for the rest of the run', async () => {
    await using server = await startModelServer(
      plain(400, 'response_format is not supported'),
      jsonOf(wholeOpenai),
      jsonOf(wholeOpenai),
    );
    const provider = open({ kind: 'openai', baseUrl: server.url, extra: { json_schema: true } });
    const request = ask('go', { response_schema: closed });

    await provider.complete(request);
    await provider.complete(request);

    expect(server.requests.map((received) => received.body['response_format'])).toEqual([
      { type: 'json_schema', json_schema: { name: 'answer', schema: closed, strict: true } },
      undefined,
      undefined,
    ]);
  });

  test('Claude takes a closed schema in `output_config`, beside the effort', async () => {
    await using server = await startModelServer(streamOf(anthropicStream));
    const provider = open({ kind: 'anthropic', baseUrl: server.url });
    const openSchema = { type: 'object' };

    await provider.completeStreaming(ask('go', { response_schema: closed, thinking_budget: 1024 }), () => {});
    await provider.completeStreaming(ask('go', { response_schema: openSchema }), () => {});
    await provider.completeStreaming(ask('go', { response_schema: closed, model: 'fable' }), () => {});

    expect(server.requests.map((request) => request.body['output_config'])).toEqual([
      { effort: 'low', format: { type: 'json_schema', schema: closed } },
      undefined,
      undefined,
    ]);
  });

  test('Ollama gets the schema only when no tools are on offer', async () => {
    await using server = await startModelServer(jsonOf(wholeOpenai));
    const provider = open({ kind: 'ollama', baseUrl: server.url });
    const tools = [{ name: 'ls', description: '', input_schema: { type: 'object' } }];

    await provider.complete(ask('go', { response_schema: closed }));
    await provider.complete(ask('go', { response_schema: closed, tools }));

    expect(server.requests.map((request) => 'response_format' in request.body)).toEqual([true, false]);
  });
});

test('the headers of each dialect', async () => {
  await using server = await startModelServer(streamOf(anthropicStream), streamOf(openaiStream));
  const env = { ANTHROPIC_WORKSPACE_ID: 'wrk_1' };

  await open({ kind: 'anthropic', baseUrl: server.url, deps: { env } }).completeStreaming(ask('go'), () => {});
  const answer = await open({
    kind: 'openai',
    baseUrl: server.url,
    extra: { headers: { 'X-Title': 'vibe' } },
  }).completeStreaming(ask('go'), () => {});

  expect(server.requests[0]).toMatchObject({
    path: '/v1/messages',
    headers: {
      'x-api-key': 'sk-test-0123456789',
      'anthropic-version': '2023-06-01',
      'anthropic-workspace-id': 'wrk_1',
      'content-type': 'application/json',
    },
  });
  expect(server.requests[1]).toMatchObject({
    path: '/chat/completions',
    headers: { authorization: 'Bearer sk-test-0123456789', 'x-title': 'vibe' },
  });
  expect(answer).toEqual(openaiAnswer);
});
