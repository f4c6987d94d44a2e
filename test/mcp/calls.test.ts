import { describe, expect, test } from 'vitest';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import type { McpElicitation } from '../../src/protocol/mcp.ts';
import type { ToolProgress } from '../../src/protocol/tool.ts';
import {
  callResult,
  connect,
  failureOf,
  isAlive,
  legacyScript,
  modernScript,
  type ScriptedServer,
  scriptedServer,
  type Step,
  textOf,
  tool,
  toolPage,
} from './support.ts';
import { carriers, openScripted } from './scripted-web.ts';

const form = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
};

function asks(inputRequests: JsonObject, requestState?: string): Step {
  return {
    result: { resultType: 'input_required', inputRequests, ...(requestState === undefined ? {} : { requestState }) },
  };
}

function calls(server: ScriptedServer): readonly JsonObject[] {
  return server.received().filter((message) => message['method'] === 'tools/call');
}

function paramsOf(message: JsonObject | undefined): JsonObject {
  return isJsonObject(message?.['params']) ? message['params'] : {};
}

describe.each(carriers)('5.4, MP3: input requests of the modern era, %s', (carrier) => {
  test('eight rounds and then a result: nine requests, new ids, same params, state byte for byte', async () => {
    const state = 'a"b\\c ü\u2028 {}';
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [...Array.from({ length: 8 }, () => asks({ q: form }, state)), callResult('at last')],
      }),
    );
    const connection = await connect(server.record);

    const result = await connection.callTool('work', { a: [1, { b: 'ü' }] });

    expect(textOf(result.content)).toBe('at last');
    expect(calls(server)).toHaveLength(9);
    expect(new Set(calls(server).map((message) => message['id'])).size).toBe(9);
    for (const message of calls(server).slice(1)) {
      expect(paramsOf(message)).toMatchObject({
        name: 'work',
        arguments: { a: [1, { b: 'ü' }] },
        requestState: state,
        inputResponses: { q: { action: 'decline' } },
      });
    }
  });

  test('the ninth question ends the call after nine requests', async () => {
    const server = await openScripted(carrier, modernScript({ 'tools/call': [asks({ q: form })] }));
    const connection = await connect(server.record);

    expect(await failureOf(connection.callTool('work', {}))).toMatchObject({
      code: 'input_rounds_exceeded',
      message: 'The server kept asking for input (8 rounds).',
    });
    expect(calls(server)).toHaveLength(9);
  });

  test('an absent state stays absent, an empty one stays empty', async () => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [asks({ q: form }), asks({ q: form }, ''), callResult('ok')] }),
    );
    const connection = await connect(server.record);

    await connection.callTool('work', {});

    expect('requestState' in paramsOf(calls(server)[1])).toBe(false);
    expect(paramsOf(calls(server)[2])['requestState']).toBe('');
  });

  test('a round with a state only waits 250 ms and answers nothing', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [{ result: { resultType: 'input_required', requestState: 'later' } }, callResult('ok')],
      }),
    );
    const connection = await connect(server.record);
    const before = performance.now();

    await connection.callTool('work', {});

    expect(performance.now() - before).toBeGreaterThanOrEqual(245);
    expect('inputResponses' in paramsOf(calls(server)[1])).toBe(false);
  });

  test('the embedder answers for the user', async () => {
    const asked: McpElicitation[] = [];
    const link = {
      method: 'elicitation/create',
      params: { mode: 'url', message: 'Open', url: 'https://example.org/x' },
    };
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [asks({ a: form, b: link }), callResult('ok')] }),
    );
    const connection = await connect(server.record, {
      onElicitation: async (request) => {
        asked.push(request);
        return request.mode === 'form' ? { action: 'accept', content: { name: 'Ada' } } : { action: 'cancel' };
      },
    });

    await connection.callTool('work', {});

    expect(asked).toEqual([
      { server_name: 'scripted', mode: 'form', message: 'Name?', requested_schema: { type: 'object', properties: {} } },
      { server_name: 'scripted', mode: 'url', message: 'Open', url: 'https://example.org/x' },
    ]);
    expect(paramsOf(calls(server)[1])['inputResponses']).toEqual({
      a: { action: 'accept', content: { name: 'Ada' } },
      b: { action: 'cancel' },
    });
  });

  test('an accepted form holds its defaults where nothing else was said', async () => {
    const properties = {
      name: { type: 'string', default: 'Ada' },
      age: { type: 'integer', default: 36 },
      note: { type: 'string' },
    };
    const question = {
      method: 'elicitation/create',
      params: { message: 'Who?', requestedSchema: { type: 'object', properties } },
    };
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [asks({ q: question }), callResult('ok')] }),
    );
    const connection = await connect(server.record, {
      onElicitation: async () => ({ action: 'accept', content: { age: 37 } }),
    });

    await connection.callTool('work', {});

    expect(paramsOf(calls(server)[1])['inputResponses']).toEqual({
      q: { action: 'accept', content: { name: 'Ada', age: 37 } },
    });
  });

  test.each<['prompts/get' | 'resources/read', string, Step]>([
    ['prompts/get', 'prompts', { result: { resultType: 'complete', messages: [] } }],
    ['resources/read', 'resources', { result: { resultType: 'complete', contents: [] } }],
  ])('%s may ask too', async (method, capability, done) => {
    const server = await openScripted(
      carrier,
      modernScript({
        'server/discover': [{ result: { supportedVersions: ['2026-07-28'], capabilities: { [capability]: {} } } }],
        [method]: [asks({ q: form }, 'state'), done],
      }),
    );

    await (await connect(server.record)).read(method, { name: 'x', uri: 'file:///x' });

    const [first, second, ...more] = server.received().filter((message) => message['method'] === method);
    expect(more).toEqual([]);
    expect(second?.['id']).not.toBe(first?.['id']);
    expect(paramsOf(second)).toMatchObject({
      name: 'x',
      uri: 'file:///x',
      requestState: 'state',
      inputResponses: { q: { action: 'decline' } },
    });
  });

  test('a list that asks is a malformed result', async () => {
    const server = await openScripted(carrier, modernScript({ 'tools/list': [asks({ q: form }, 'state')] }));

    expect(await failureOf((await connect(server.record)).listTools())).toMatchObject({
      code: 'result_invalid',
      message: 'malformed result of tools/list',
    });
    expect(server.methods()).toEqual(['server/discover', 'tools/list']);
  });

  test('without an embedder a form and a link are declined', async () => {
    const link = { method: 'elicitation/create', params: { mode: 'url', message: 'Open', url: 'https://example.org' } };
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [asks({ a: form, b: link }), callResult('ok')] }),
    );

    await (await connect(server.record)).callTool('work', {});

    expect(paramsOf(calls(server)[1])['inputResponses']).toEqual({
      a: { action: 'decline' },
      b: { action: 'decline' },
    });
  });

  test('an embedder that throws counts as cancel', async () => {
    const server = await openScripted(carrier, modernScript({ 'tools/call': [asks({ q: form }), callResult('ok')] }));
    const connection = await connect(server.record, {
      onElicitation: () => Promise.reject(new Error('window closed')),
    });

    await connection.callTool('work', {});

    expect(paramsOf(calls(server)[1])['inputResponses']).toEqual({ q: { action: 'cancel' } });
  });

  test.each([
    [undefined, []],
    [[{ uri: 'file:///w', name: 'w' }], [{ uri: 'file:///w', name: 'w' }]],
  ])('roots %j', async (roots, told) => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [asks({ r: { method: 'roots/list' } }), callResult('ok')] }),
    );
    const connection = await connect(server.record, roots === undefined ? {} : { roots });

    await connection.callTool('work', {});

    expect(paramsOf(calls(server)[1])['inputResponses']).toEqual({ r: { roots: told } });
  });

  test.each([
    ['sampling/createMessage', 'The server asked this client to run a model, which it does not offer.'],
    ['vendor/question', 'The server asked this client to answer `vendor/question`, which it does not offer.'],
  ])('%s fails the call naming it, and no retry is sent', async (method, message) => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [asks({ q: { method, params: { messages: [], maxTokens: 1 } } })] }),
    );
    const connection = await connect(server.record);

    expect(await failureOf(connection.callTool('work', {}))).toMatchObject({ code: 'input_unsupported', message });
    expect(calls(server)).toHaveLength(1);
  });

  test('a conforming refusal for want of sampling says the same', async () => {
    const error = { code: -32_021, message: 'need sampling', data: { requiredCapabilities: { sampling: {} } } };
    const server = await openScripted(carrier, modernScript({ 'tools/call': [{ error }] }));

    expect((await failureOf((await connect(server.record)).callTool('work', {}))).code).toBe('input_unsupported');
  });

  test('a real request of the server is dropped', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [{ before: [{ jsonrpc: '2.0', id: 7, method: 'roots/list' }], ...callResult('ok') }],
      }),
    );
    const connection = await connect(server.record);

    await connection.callTool('work', {});
    await connection.stop();

    expect(server.received().filter((message) => message['id'] === 7)).toEqual([]);
  });

  test.each<[string, Step]>([
    ['neither questions nor state', { result: { resultType: 'input_required' } }],
    ['an unknown kind of result', { result: { resultType: 'banana', content: [] } }],
    ['wrong types', { result: { resultType: 'complete', content: 'text' } }],
  ])('%s is a malformed result, and the client stays usable', async (_, step) => {
    const server = await openScripted(carrier, modernScript({ 'tools/call': [step, callResult('ok')] }));
    const connection = await connect(server.record);

    expect(await failureOf(connection.callTool('work', {}))).toMatchObject({
      code: 'result_invalid',
      message: 'malformed result of tools/call',
    });
    expect(textOf((await connection.callTool('work', {})).content)).toBe('ok');
  });
});

describe.each(carriers)('5.4: requests of a legacy server, %s', (carrier) => {
  const question = {
    method: 'elicitation/create',
    params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
  };

  test('the same answers go to its real requests', async () => {
    const server = await openScripted(
      carrier,
      legacyScript({
        'tools/call': [{ ask: [question, { method: 'roots/list' }, { method: 'ping' }], ...callResult('ok') }],
      }),
    );
    const connection = await connect(server.record);

    await connection.callTool('work', {});

    expect(
      server
        .received()
        .filter((message) => 'result' in message)
        .map((message) => message['result']),
    ).toEqual([{ action: 'decline' }, { roots: [] }, {}]);
  });

  test('at most eight per call: the ninth is refused and ends the call', async () => {
    const server = await openScripted(
      carrier,
      legacyScript({ 'tools/call': [{ ask: Array(9).fill(question), ...callResult('ok') }] }),
    );
    const connection = await connect(server.record);

    expect((await failureOf(connection.callTool('work', {}))).code).toBe('input_rounds_exceeded');
    expect(server.received().filter((message) => 'result' in message)).toHaveLength(8);
  });

  test('sampling was never offered and is refused', async () => {
    const ask = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } };
    const server = await openScripted(carrier, legacyScript({ 'tools/call': [{ ask, ...callResult('ok') }] }));

    await (await connect(server.record)).callTool('work', {});

    expect(server.received().find((message) => 'error' in message)).toMatchObject({ error: { code: -32_601 } });
  });
});

describe.each(carriers)('5.5: tasks, %s', (carrier) => {
  const task = (status: string, more: JsonObject = {}): JsonObject => ({
    taskId: 't1',
    status,
    createdAt: '2026-01-01T00:00:00Z',
    lastUpdatedAt: '2026-01-01T00:00:00Z',
    ttlMs: null,
    pollIntervalMs: 1,
    ...more,
  });
  const created = (more: JsonObject = {}): Step => ({ result: { resultType: 'task', ...task('working', more) } });
  const state = (status: string, more: JsonObject = {}): Step => ({
    result: { resultType: 'complete', ...task(status, more) },
  });
  const acknowledged: Step = { result: { resultType: 'complete' } };

  test('the final result comes back, status changes are progress, polls obey the clamp', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created({ statusMessage: 'begun' })],
        'tasks/get': [
          state('working', { statusMessage: 'half' }),
          state('completed', { result: { content: [{ type: 'text', text: 'final' }] } }),
        ],
      }),
    );
    const connection = await connect(server.record);
    const progress: ToolProgress[] = [];
    const before = performance.now();

    const result = await connection.callTool('work', {}, { onProgress: (entry) => progress.push(entry) });

    expect(textOf(result.content)).toBe('final');
    expect(performance.now() - before).toBeGreaterThanOrEqual(495);
    expect(progress.map((entry) => entry.message)).toEqual(['begun', 'half', 'completed']);
    const polls = server.received().filter((message) => message['method'] === 'tasks/get');
    expect(polls).toHaveLength(2);
    expect(paramsOf(polls[0])).toMatchObject({
      taskId: 't1',
      _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
    });
  });

  test('only changes of the status are progress', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created({ statusMessage: 'begun' })],
        'tasks/get': [
          state('working', { statusMessage: 'begun' }),
          state('working', { statusMessage: 'half' }),
          state('completed', { result: { content: [] } }),
        ],
      }),
    );
    const progress: (string | undefined)[] = [];

    const connection = await connect(server.record);
    await connection.callTool('work', {}, { onProgress: ({ message }) => progress.push(message) });

    expect(progress).toEqual(['begun', 'half', 'completed']);
  });

  test('a task outlives the limits of a call', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created()],
        'tasks/get': [state('working'), state('working'), state('completed', { result: { content: [] } })],
      }),
      { timeouts: { call_ms: 300, call_max_ms: 400 } },
    );

    expect((await (await connect(server.record)).callTool('work', {})).content).toEqual([]);
  });

  test('new questions are answered once each', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created()],
        'tasks/get': [
          state('input_required', { inputRequests: { a: form } }),
          state('input_required', { inputRequests: { a: form, b: { method: 'roots/list' } } }),
          state('completed', { result: { content: [] } }),
        ],
        'tasks/update': [acknowledged],
      }),
    );

    await (await connect(server.record)).callTool('work', {});

    const updates = server
      .received()
      .filter((message) => message['method'] === 'tasks/update')
      .map(paramsOf);
    expect(updates.map((params) => params['inputResponses'])).toEqual([
      { a: { action: 'decline' } },
      { b: { roots: [] } },
    ]);
  });

  test('a question this client does not answer ends the call and the task', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created()],
        'tasks/get': [
          state('input_required', { inputRequests: { a: { method: 'sampling/createMessage', params: {} } } }),
        ],
        'tasks/cancel': [acknowledged],
      }),
    );

    expect((await failureOf((await connect(server.record)).callTool('work', {}))).code).toBe('input_unsupported');
    expect(server.methods()).toContain('tasks/cancel');
    expect(server.methods()).not.toContain('tasks/update');
  });

  test('a failed task is its error, a cancelled one says so', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created()],
        'tasks/get': [state('failed', { error: { code: -32_050, message: 'disk full' } }), state('cancelled')],
      }),
    );
    const connection = await connect(server.record);

    expect(await failureOf(connection.callTool('work', {}))).toMatchObject({
      code: 'remote',
      message: expect.stringContaining('disk full (code -32050)'),
    });
    expect((await failureOf(connection.callTool('work', {}))).code).toBe('call_cancelled');
    expect(server.methods()).not.toContain('tasks/cancel');
  });

  test.each([
    ['its lifetime', { ttlMs: 400 }, {}],
    ['the limit of tasks', {}, { timeouts: { task_max_ms: 400 } }],
  ])('a task past %s is cancelled and its outcome unknown', async (_, more, record) => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [created(more)],
        'tasks/get': [state('working', more)],
        'tasks/cancel': [acknowledged],
      }),
      record,
    );

    const failure = await failureOf((await connect(server.record)).callTool('work', {}));

    expect(failure.code).toBe('call_timeout');
    expect(failure.message).toMatch(/^The tool did not finish within [\d.]+ s; outcome unknown\.$/);
    expect(server.methods()).toContain('tasks/cancel');
  });

  test('cancelling the call cancels the task, not the answered request', async () => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [created()], 'tasks/get': [state('working')], 'tasks/cancel': [acknowledged] }),
    );
    const connection = await connect(server.record);
    const caller = new AbortController();
    const call = connection.callTool('work', {}, { signal: caller.signal });
    await server.arrived('tasks/get');

    caller.abort(new Error('enough'));

    expect((await failureOf(call)).code).toBe('call_cancelled');
    await server.arrived('tasks/cancel');
    expect(server.methods()).not.toContain('notifications/cancelled');
  });

  test.each(['tools/list', 'prompts/get'] as const)('a task in %s is malformed', async (method) => {
    const server = await openScripted(
      carrier,
      modernScript({
        'server/discover': [
          { result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, prompts: {} } } },
        ],
        [method]: [created()],
      }),
    );
    const connection = await connect(server.record);

    const failure = await failureOf(
      method === 'tools/list' ? connection.listTools() : connection.read(method, { name: 'x' }),
    );

    expect(failure).toMatchObject({ code: 'result_invalid', message: `malformed result of ${method}` });
    expect(server.methods()).not.toContain('tasks/get');
  });

  test('a task whose result is of the wrong type is malformed', async () => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [created()], 'tasks/get': [state('completed', { result: { content: 'text' } })] }),
    );

    expect((await failureOf((await connect(server.record)).callTool('work', {}))).code).toBe('result_invalid');
  });

  test('a task the server lost is its error', async () => {
    const error = { code: -32_602, message: 'no such task' };
    const server = await openScripted(carrier, modernScript({ 'tools/call': [created()], 'tasks/get': [{ error }] }));

    expect(await failureOf((await connect(server.record)).callTool('work', {}))).toMatchObject({
      code: 'remote',
      message: expect.stringContaining('no such task (code -32602)'),
    });
  });
});

describe('5.6: limits and cancellation', () => {
  test.each([
    ['modern', modernScript],
    ['legacy', legacyScript],
  ] as const)(
    'a cancelled call of the %s era tells the server, and a late answer reaches nobody',
    async (_, scriptOf) => {
      const server = scriptedServer(
        scriptOf({
          'tools/call:slow': [{ delay: 150, ...callResult('late') }],
          'tools/call': [{ delay: 300, ...callResult('next') }],
        }),
      );
      const connection = await connect(server.record);
      const caller = new AbortController();
      const call = connection.callTool('slow', {}, { signal: caller.signal });
      await server.arrived('tools/call');

      caller.abort(new Error('enough'));

      expect((await failureOf(call)).code).toBe('call_cancelled');
      await server.arrived('notifications/cancelled');
      const [slow] = calls(server);
      const notice = server.received().find((message) => message['method'] === 'notifications/cancelled');
      expect(paramsOf(notice)['requestId']).toBe(slow?.['id']);
      expect(textOf((await connection.callTool('work', {})).content)).toBe('next');
    },
  );

  test('a call that was cancelled before it began is not sent', async () => {
    const server = scriptedServer(modernScript());
    const connection = await connect(server.record);

    expect((await failureOf(connection.callTool('work', {}, { signal: AbortSignal.abort() }))).code).toBe(
      'call_cancelled',
    );
    await connection.callTool('work', {});
    expect(calls(server)).toHaveLength(1);
  });

  test('silence ends a call, its outcome unknown; progress keeps it alive', async () => {
    const notice =
      '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$id,"progress":1,"total":2,"message":"m"}}';
    const server = scriptedServer(
      modernScript({
        'tools/call:silent': [{ silent: true }],
        'tools/call:lively': [{ ask: [], delay: 250, before: [notice], ...callResult('ok') }],
      }),
      { timeouts: { call_ms: 400 } },
    );
    const connection = await connect(server.record);
    const progress: ToolProgress[] = [];

    expect(await failureOf(connection.callTool('silent', {}))).toMatchObject({
      code: 'call_timeout',
      message: 'The tool did not finish within 0.4 s; outcome unknown.',
    });
    expect(calls(server)).toHaveLength(1);
    await connection.callTool('lively', {}, { onProgress: (entry) => progress.push(entry) });
    expect(progress).toEqual([{ progress: 1, total: 2, message: 'm' }]);
  });

  test('progress never prolongs a call past its absolute limit (MP7)', async () => {
    const server = scriptedServer(
      modernScript({
        'tools/call': [
          {
            flood: {
              count: 2,
              line: '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$id,"progress":1}}',
            },
            silent: true,
          },
        ],
      }),
      { timeouts: { call_ms: 5_000, call_max_ms: 300 } },
    );

    expect((await failureOf((await connect(server.record)).callTool('work', {}))).message).toContain('within 0.3 s');
  });

  test('100 000 notices during a call leave it unharmed (MP6)', async () => {
    const server = scriptedServer(
      modernScript({
        'tools/call': [
          {
            flood: {
              count: 100_000,
              line: '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}',
            },
            ...callResult('ok'),
          },
        ],
      }),
    );
    const connection = await connect(server.record);
    const before = process.memoryUsage().heapUsed;

    expect(textOf((await connection.callTool('work', {})).content)).toBe('ok');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('a process that ends fails its pending calls at once, with exit code and stderr as fields (FR8)', async () => {
    const server = scriptedServer(
      modernScript({ 'tools/call:wait': [{ silent: true }], 'tools/call:die': [{ stderr: ['last words'], exit: 9 }] }),
    );
    const connection = await connect(server.record);
    const waiting = [failureOf(connection.callTool('wait', {})), failureOf(connection.callTool('wait', {}))];

    const died = await failureOf(connection.callTool('die', {}));

    expect(died).toMatchObject({
      code: 'closed',
      message: 'connection ended (exit code 9)',
      data: { exit_code: 9, signal: null },
    });
    expect((await Promise.all(waiting)).map((failure) => failure.code)).toEqual(['closed', 'closed']);
    expect((await failureOf(connection.callTool('work', {}))).code).toBe('closed');
    expect((await connection.exited).stderr_tail).toEqual(['last words']);
    expect(server.starts().filter(isAlive)).toEqual([]);
    expect(calls(server)).toHaveLength(3);
  });

  test('a process that ends fails its tasks at once', async () => {
    const task = { taskId: 't', status: 'working', pollIntervalMs: 250 };
    const server = scriptedServer(
      modernScript({ 'tools/call': [{ result: { resultType: 'task', ...task } }], 'tasks/get': [{ exit: 4 }] }),
    );

    expect(await failureOf((await connect(server.record)).callTool('work', {}))).toMatchObject({
      code: 'closed',
      message: 'connection ended (exit code 4)',
    });
  });

  test('the answer that was written before the exit still arrives', async () => {
    const server = scriptedServer(modernScript({ 'tools/call': [{ ...callResult('bye'), exit: 0 }] }));

    expect(textOf((await (await connect(server.record)).callTool('work', {})).content)).toBe('bye');
  });
});

describe.each(carriers)('5.7: errors of the server, %s', (carrier) => {
  test('-32602 refreshes the list once, tells the model, and is not repeated', async () => {
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/call': [{ error: { code: -32_602, message: 'Unknown tool: gone' } }],
        'tools/list': [toolPage([tool('work')])],
      }),
    );
    const connection = await connect(server.record);
    await connection.listTools();

    const failure = await failureOf(connection.callTool('gone', {}));

    expect(failure).toMatchObject({
      code: 'remote',
      message: 'MCP server `scripted` returned an error: Unknown tool: gone (code -32602)',
    });
    await server.arrived('tools/list', 2);
    expect(calls(server)).toHaveLength(1);
  });

  test('-32020 fetches the list again and repeats the call once', async () => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [{ error: { code: -32_020, message: 'headers' } }, callResult('ok')] }),
    );
    const connection = await connect(server.record);

    expect(textOf((await connection.callTool('work', {})).content)).toBe('ok');
    expect(server.methods().filter((method) => method === 'tools/list')).toHaveLength(1);
  });

  test('structured content is held against the output schema', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const server = await openScripted(
      carrier,
      modernScript({
        'tools/list': [toolPage([tool('work', { outputSchema })])],
        'tools/call': [
          callResult('x', { structuredContent: { n: 'one' } }),
          callResult('x', { structuredContent: { n: 1 } }),
        ],
      }),
    );
    const connection = await connect(server.record);
    await connection.listTools();

    expect((await failureOf(connection.callTool('work', {}))).code).toBe('result_invalid');
    expect((await connection.callTool('work', {})).structuredContent).toEqual({ n: 1 });
  });

  test('control characters in the error text of a server do not reach the model', async () => {
    const server = await openScripted(
      carrier,
      modernScript({ 'tools/call': [{ error: { code: 5, message: 'a\u001b[2Jb\nc' } }] }),
    );

    expect((await failureOf((await connect(server.record)).callTool('work', {}))).message).toContain(
      'a [2Jb c (code 5)',
    );
  });
});

test('fifty callers of one connection get their own answers and notices (MP11)', async () => {
  const server = scriptedServer(
    modernScript(
      Object.fromEntries(
        Array.from({ length: 50 }, (_, index) => [
          `tools/call:t${index}`,
          [
            {
              before: [
                `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$id,"progress":${index}}}`,
              ],
              delay: (index * 37) % 100,
              ...callResult(`answer ${index}`),
            },
          ],
        ]),
      ),
    ),
  );
  const connection = await connect(server.record);

  const results = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      const notices: number[] = [];
      const result = await connection.callTool(
        `t${index}`,
        {},
        { onProgress: ({ progress }) => notices.push(progress) },
      );
      return [textOf(result.content), ...notices];
    }),
  );

  expect(results).toEqual(Array.from({ length: 50 }, (_, index) => [`answer ${index}`, index]));
});
