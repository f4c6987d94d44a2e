import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { RpcFailure, type RpcServer, serveRpc } from '../../src/transport/rpc-server.ts';

interface Scene {
  readonly input: PassThrough;
  readonly output: PassThrough;
  readonly server: RpcServer;
  lines(): unknown[];
}

function serve(handle: (method: string) => unknown, drainMs = 50): Scene {
  const input = new PassThrough();
  const output = new PassThrough();
  const server = serveRpc({ input, output, drainMs, lastMethod: 'shutdown', maxLineBytes: 1_000, handle });
  return {
    input,
    output,
    server,
    lines: () =>
      String(output.read() ?? '')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown),
  };
}

test('serving ends with an error when the requests cannot be read', async () => {
  const { input, server } = serve(() => ({}));

  input.destroy(new Error('broken'));

  await expect(server.ended).rejects.toThrow('cannot read requests: broken');
  expect(server.notify('log', {})).toBe(false);
});

test('serving ends with an error when the answers cannot be written', async () => {
  const { input, output, server } = serve(() => ({}));
  output.destroy(new Error('gone'));

  input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');

  await expect(server.ended).rejects.toThrow(/^cannot write responses: ./);
});

test('a handler answers with an error of its choice, any other failure with -32603', async () => {
  const { input, server, lines } = serve((method) => {
    throw method === 'mine' ? new RpcFailure(-32001, 'mine') : new Error('oops');
  });

  input.end('{"jsonrpc":"2.0","id":1,"method":"mine"}\n{"jsonrpc":"2.0","id":2,"method":"other"}\n');
  await server.ended;

  expect(lines()).toEqual([
    { jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'mine' } },
    { jsonrpc: '2.0', id: 2, error: { code: -32603, message: 'oops' } },
  ]);
});

test('a result that is no JSON and a line over the limit are answered with errors', async () => {
  const { input, server, lines } = serve(() => ({ big: 1n }));

  input.end(`{"jsonrpc":"2.0","id":1,"method":"a"}\n${'x'.repeat(2_000)}\n`);
  await server.ended;

  expect(lines()).toEqual([
    {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: expect.stringMatching(/^the result is no JSON/) as string },
    },
    { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'line longer than 1000 bytes' } },
  ]);
});

test('a call that outlives the drain time is aborted and answered; shutdown is answered last', async () => {
  let wasAborted = false;
  const input = new PassThrough();
  const output = new PassThrough();
  const server = serveRpc({
    input,
    output,
    drainMs: 20,
    lastMethod: 'shutdown',
    handle: (_method, _params, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => (wasAborted = true))),
  });

  input.write('{"jsonrpc":"2.0","id":"a","method":"hang"}\n{"jsonrpc":"2.0","id":"z","method":"shutdown"}\n');
  await server.ended;

  expect(wasAborted).toBe(true);
  expect(String(output.read())).toBe(
    '{"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"shutting down"}}\n{"jsonrpc":"2.0","id":"z","result":{}}\n',
  );
});
