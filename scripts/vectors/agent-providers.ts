import { isDeepStrictEqual } from 'node:util';
import { isEngineError, messageOf } from '../../src/protocol/error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import type { Message } from '../../src/protocol/message.ts';
import type { CompletionRequest, CompletionResponse } from '../../src/protocol/model.ts';
import type { ToolSpec } from '../../src/protocol/tool.ts';
import { anthropicBody, toAnthropicModel } from '../../src/providers/anthropic-body.ts';
import { readAnthropicResponse, thoughtOf } from '../../src/providers/anthropic-response.ts';
import { classifyHttpFailure } from '../../src/providers/classify.ts';
import { openaiBody } from '../../src/providers/openai-body.ts';
import { readOpenaiResponse } from '../../src/providers/openai-response.ts';
import { parseRetryAfter, retryDelayMs } from '../../src/providers/retry.ts';
import { scrubSecrets } from '../../src/providers/scrub.ts';
import { createSignedThinkingCache } from '../../src/providers/signed-thinking.ts';
import { difference, expand, toList, toObject, unknownKeys } from './agent-compare.ts';
import type { Player, VectorCase } from './types.ts';

type Check = (row: JsonObject) => readonly (string | undefined)[];

const tables: ReadonlyMap<string, Check> = new Map([
  ['http_errors', playHttpError],
  ['scrub', playScrub],
  ['retry_after', playRetryAfter],
  ['retry_delays', playRetryDelay],
  ['anthropic_bodies', playAnthropicBody],
  ['openai_bodies', playOpenaiBody],
  ['responses', playResponse],
  ['model_shorthands', playShorthand],
]);

/** Plays `providers.json`: classification, scrubbing, delays, request bodies and answers of both dialects. */
export const playProviders: Player = ({ data }) => {
  const { format: _format, group: _group, title: _title, ...given } = data;
  const cases: VectorCase[] = [];
  for (const [table, rows] of Object.entries(given)) {
    const check = tables.get(table);
    if (check === undefined) throw new Error(`unknown table \`${table}\``);
    for (const [index, row] of toList(rows).map(toObject).entries()) {
      const id = typeof row['id'] === 'string' ? row['id'] : `${table}-${index + 1}`;
      const play = (): Promise<readonly string[]> => Promise.resolve(check(row).filter((line) => line !== undefined));
      cases.push({ id, weight: 'many', play });
    }
  }
  return cases;
};

function playHttpError(row: JsonObject): ReturnType<Check> {
  const error = classifyHttpFailure({ status: Number(row['status']), body: String(expand(row['body'])) });
  return [
    difference(row['kind'], error.kind, 'kind'),
    difference(row['message'], error.message, 'message'),
    ...unknownKeys(row, ['id', 'status', 'body', 'kind', 'message']),
  ];
}

function playScrub(row: JsonObject): ReturnType<Check> {
  return [
    difference(row['output'], scrubSecrets(textIn(row, 'text')), 'output'),
    ...unknownKeys(row, ['id', 'text', 'output']),
  ];
}

function playRetryAfter(row: JsonObject): ReturnType<Check> {
  const now = typeof row['now'] === 'string' ? Date.parse(row['now']) : Date.now();
  return [
    difference(row['delay_ms'], parseRetryAfter(textIn(row, 'header'), now) ?? null, 'delay_ms'),
    ...unknownKeys(row, ['id', 'why', 'header', 'now', 'delay_ms']),
  ];
}

const jitter = 'factor in [0.75, 1.25), then capped at 60000';

function playRetryDelay(row: JsonObject): ReturnType<Check> {
  const asked = row['retry_after_ms'];
  const delay = (random: number): number =>
    retryDelayMs(Number(row['retry']), typeof asked === 'number' ? asked : undefined, random);
  const middle = Number(row['delay_ms']);
  const isSpread = row['jitter'] === jitter;
  if (!isSpread && row['jitter'] !== 'none') return [`unknown jitter ${JSON.stringify(row['jitter'])}`];
  const least = isSpread ? middle * 0.75 : middle;
  const most = isSpread ? Math.min(middle * 1.25, 60_000) : middle;
  return [
    difference(middle, delay(0.5), 'delay in the middle'),
    difference(least, delay(0), 'least delay'),
    difference(most, Math.round(delay(1 - Number.EPSILON)), 'longest delay'),
    ...unknownKeys(row, ['retry', 'retry_after_ms', 'delay_ms', 'jitter']),
  ];
}

function playAnthropicBody(row: JsonObject): ReturnType<Check> {
  const signedThinking = createSignedThinkingCache(thoughtOf);
  for (const [firstCall, blocks] of Object.entries(toObject(row['signed_thinking']))) {
    signedThinking.set(firstCall, { blocks: toList(blocks).map(toObject) });
  }
  return [
    ...compare(row['body'], () => anthropicBody(toRequest(row['request']), { signedThinking })),
    ...unknownKeys(row, ['id', 'why', 'request', 'signed_thinking', 'body']),
    ...unknownKeys(toObject(row['request']), requestKeys),
  ];
}

function playOpenaiBody(row: JsonObject): ReturnType<Check> {
  const { base_url: baseUrl, ...extra } = toObject(row['options']);
  const options = typeof baseUrl === 'string' ? { baseUrl, extra } : { extra };
  return [
    ...compare(row['body'], () => openaiBody(toRequest(row['request']), options)),
    ...unknownKeys(row, ['id', 'why', 'request', 'options', 'body']),
    ...unknownKeys(extra, ['reasoning', 'max_tokens_param', 'require_api_key', 'headers']),
    ...unknownKeys(toObject(row['request']), requestKeys),
  ];
}

function playResponse(row: JsonObject): ReturnType<Check> {
  const model = textIn(row, 'requested_model');
  const read = row['provider'] === 'anthropic' ? readAnthropicResponse : readOpenaiResponse;
  const result = toObject(row['result']);
  const differences = isJsonObject(result['error'])
    ? [
        difference(
          result['error'],
          failureOf(() => read(row['response'], model)),
          'error',
        ),
      ]
    : compare(result, () => flatten(read(row['response'], model)));
  return [
    ...differences,
    ...(['anthropic', 'openai'].includes(textIn(row, 'provider'))
      ? []
      : [`unknown provider ${textIn(row, 'provider')}`]),
    ...unknownKeys(row, ['id', 'why', 'provider', 'requested_model', 'response', 'result']),
  ];
}

function playShorthand(row: JsonObject): ReturnType<Check> {
  return [
    difference(row['model'], toAnthropicModel(textIn(row, 'name')), 'model'),
    ...unknownKeys(row, ['name', 'model']),
  ];
}

function textIn(row: JsonObject, key: string): string {
  const text = row[key];
  if (typeof text !== 'string') throw new Error(`\`${key}\` must be text`);
  return text;
}

const requestKeys = [
  'model',
  'system',
  'messages',
  'tools',
  'max_tokens',
  'temperature',
  'thinking_budget',
  'stop_sequences',
  'extra',
];

/** A request of a row over the defaults of section 15; its shape is the product's own. */
function toRequest(row: Json | undefined): CompletionRequest {
  return {
    model: '',
    system: '',
    messages: [] as readonly Message[],
    tools: [] as readonly ToolSpec[],
    max_tokens: 8192,
    ...toObject(row),
  };
}

function flatten({ message, ...rest }: CompletionResponse): object {
  return { content: message.content, ...rest };
}

/** Bodies and answers are compared whole, as JSON values. */
function compare(expected: unknown, make: () => object): readonly (string | undefined)[] {
  const actual: unknown = JSON.parse(JSON.stringify(make()));
  if (isDeepStrictEqual(expected, actual)) return [];
  return [difference(expected, actual, 'result') ?? `result: more than expected: ${JSON.stringify(actual)}`];
}

function failureOf(work: () => unknown): { readonly kind: string; readonly message: string } {
  try {
    work();
  } catch (error) {
    return { kind: isEngineError(error) ? error.kind : 'no kind', message: messageOf(error) };
  }
  return { kind: 'none', message: 'nothing was thrown' };
}
