import { expect, test } from 'vitest';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { Placement, RunOptions } from '../../src/engine/options.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { Message } from '../../src/protocol/message.ts';
import {
  jsonOf,
  type ModelServer,
  type ReceivedRequest,
  startModelServer,
  streamOf,
} from '../providers/model-server.ts';
import { anthropicSigned, anthropicStream } from '../providers/recorded.ts';
import { toolNamed, worker } from './support.ts';

const thinker = { ...worker, thinking: 'medium' } as const;

const answer = jsonOf({
  model: 'claude-sonnet-5',
  stop_reason: 'end_turn',
  content: [{ type: 'text', text: 'Both seen.' }],
  usage: { input_tokens: 1, output_tokens: 2 },
});

/** Asks for two calls, then answers; and so again. */
async function startServer(): Promise<ModelServer> {
  return await startModelServer(streamOf(anthropicStream), answer, streamOf(anthropicStream), answer);
}

async function openEngine(server: ModelServer): Promise<Engine> {
  return await createEngine({
    bare: true,
    model: 'claude/',
    config: {
      providers: { claude: { kind: 'anthropic', api_key: 'sk-test-01234567', base_url: server.url, stream: true } },
    },
    tools: [toolNamed('look', () => 'big'), toolNamed('ls', () => 'x')],
  });
}

/** Plays one run and gives back its transcript as a program would store it. */
async function play(engine: Engine, message: string, options: RunOptions = {}): Promise<readonly Message[]> {
  const outcome = await engine.run(thinker, message, options).outcome;
  expect(outcome.stop).toEqual({ reason: 'completed' });
  return JSON.parse(JSON.stringify(outcome.messages)) as Message[];
}

function turn(request: ReceivedRequest | undefined, index: number): JsonObject[] {
  const { messages } = JSON.parse(JSON.stringify(request?.body ?? {})) as { messages: { content: JsonObject[] }[] };
  return messages[index]?.content ?? [];
}

const places: readonly (readonly [Placement, Placement])[] = [
  ['inline', 'inline'],
  ['thread', 'inline'],
  ['inline', 'thread'],
  ['thread', 'thread'],
];

test.each(places)(
  'signed thinking of a run %s goes back byte for byte when a run %s continues it (AG6)',
  async (first, second) => {
    await using server = await startServer();
    await using engine = await openEngine(server);

    const history = await play(engine, 'Look.', { placement: first });
    await play(engine, 'Look again.', { placement: second, history });

    // within the first run, then as its history, then within the second run beside its own
    expect(turn(server.requests[1], 1)).toMatchObject([...anthropicSigned, { type: 'text' }, {}, {}]);
    expect(turn(server.requests[2], 1)).toMatchObject([...anthropicSigned, { type: 'text' }, {}, {}]);
    expect(turn(server.requests[3], 1)).toMatchObject([...anthropicSigned, { type: 'text' }, {}, {}]);
    expect(turn(server.requests[3], 5)).toMatchObject([...anthropicSigned, { type: 'text' }, {}, {}]);
    expect(server.requests.every(({ body }) => body['thinking'] !== undefined)).toBe(true);
    expect(server.problems).toEqual([]);
  },
);

test('another model does not get the thinking of the one before', async () => {
  await using server = await startServer();
  await using engine = await openEngine(server);

  const history = await play(engine, 'Look.');
  await play(engine, 'Look again.', { model: 'claude/claude-opus-5', history });

  expect(turn(server.requests[2], 1).map(({ type }) => type)).toEqual(['text', 'tool_use', 'tool_use']);
  expect(server.problems).toEqual([]);
});

test('another engine that was not told sends the history without, and thinking is off while a tool turn is open', async () => {
  await using server = await startServer();
  let history: readonly Message[];
  {
    await using engine = await openEngine(server);
    history = await play(engine, 'Look.');
  }
  await using engine = await openEngine(server);
  // as a run that was cut off between the results and the answer
  await play(engine, 'Look again.', { history: history.slice(0, 3) });

  expect(turn(server.requests[2], 1).map(({ type }) => type)).toEqual(['text', 'tool_use', 'tool_use']);
  expect(server.requests[2]?.body['thinking']).toBeUndefined();
  expect(server.problems).toEqual([]);
});
