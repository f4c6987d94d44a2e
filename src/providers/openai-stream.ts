import { EngineError, type ErrorKind } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, toWellFormed } from '../protocol/json.ts';
import type { OnDelta } from '../protocol/model.ts';
import { isQuotaText, kindOfStatus } from './classify.ts';
import { answerTextOf, reasoningTextOf } from './openai-response.ts';
import { scrubSecrets } from './scrub.ts';
import { createDeltaSink, endedEarly, parseEventData, type StreamAssembler } from './stream-events.ts';

/** Reads the event stream of the Chat Completions API, and of the servers that speak its dialect. */
export function createOpenaiAssembler(onDelta: OnDelta): StreamAssembler {
  const send = createDeltaSink(onDelta);
  const calls: OpenCall[] = [];
  let text = '';
  let thinking = '';
  let model: Json = null;
  let usage: Json = null;
  let finishReason: Json = null;
  let hasChoice = false;
  let isClosed = false;

  function addCall(piece: JsonObject): void {
    const call = callFor(calls, piece);
    const target = isJsonObject(piece['function']) ? piece['function'] : {};
    if (typeof piece['id'] === 'string' && call.id === '') call.id = piece['id'];
    if (typeof target['name'] === 'string' && call.name === '') call.name = target['name'];
    const { arguments: more } = target;
    if (typeof more === 'string') call.text += more;
    else if (isJsonObject(more)) call.whole = more;
  }

  function addChoice(choice: JsonObject): void {
    hasChoice = true;
    // some servers send their last piece as a message
    const piece = choice['delta'] ?? choice['message'];
    if (isJsonObject(piece)) {
      const thought = reasoningTextOf(piece);
      const words = answerTextOf(piece);
      thinking += thought;
      text += words;
      send('thinking', thought);
      send('text', words);
      if (Array.isArray(piece['tool_calls'])) piece['tool_calls'].filter(isJsonObject).forEach(addCall);
    }
    finishReason = choice['finish_reason'] ?? finishReason;
  }

  return {
    take: (event) => {
      if (event.data.trim() === '[DONE]') {
        isClosed = true;
        return true;
      }
      const data = parseEventData(event.data);
      if (!isJsonObject(data)) return true;
      if (data['error'] !== undefined && data['error'] !== null) throw toOpenaiStreamError(data['error']);
      if (Array.isArray(data['choices'])) {
        const first: unknown = data['choices'][0];
        if (isJsonObject(first)) addChoice(first);
      }
      if (typeof data['model'] === 'string') model = data['model'];
      if (isJsonObject(data['usage'])) usage = data['usage'];
      return true;
    },
    isClosed: () => isClosed,
    finish: () => {
      if (!isClosed && finishReason === null) throw endedEarly();
      if (!hasChoice) return { choices: [] };
      const message = { content: text, reasoning_content: thinking, tool_calls: calls.map(closeCall) };
      return { model, usage, choices: [{ finish_reason: finishReason, message }] };
    },
  };
}

interface OpenCall {
  readonly index: unknown;
  id: string;
  name: string;
  text: string;
  /** Arguments that came as an object. */
  whole: JsonObject | undefined;
}

/**
 * The call a piece belongs to: the last one with its index, unless the piece brings another id (some servers give every
 * call the index 0, or none). A piece without index and id continues the last call.
 */
function callFor(calls: OpenCall[], piece: JsonObject): OpenCall {
  const { id, index } = piece;
  const isNumbered = typeof index === 'number';
  const found = isNumbered ? calls.findLast((call) => call.index === index) : calls.at(-1);
  const bringsOtherId =
    typeof id === 'string' && id !== '' && found !== undefined && found.id !== '' && found.id !== id;
  if (found !== undefined && !bringsOtherId) return found;
  const call: OpenCall = { index, id: '', name: '', text: '', whole: undefined };
  calls.push(call);
  return call;
}

function closeCall(call: OpenCall): JsonObject {
  const { id, name, text, whole } = call;
  return { id, function: { name, arguments: whole !== undefined && text === '' ? whole : text } };
}

const typeKinds: readonly (readonly [part: string, kind: ErrorKind])[] = [
  ['rate_limit', 'rate_limited'],
  ['ratelimit', 'rate_limited'],
  ['authentication', 'auth_failed'],
  ['permission', 'auth_failed'],
  ['invalid_request', 'invalid_request'],
  ['badrequest', 'invalid_request'],
];

/**
 * An error that came with status 200, in an event or as the body: judged by the HTTP status it names, else by its text
 * and type, else a fault of the server.
 */
export function toOpenaiStreamError(error: unknown): EngineError {
  const fields = isJsonObject(error) ? error : {};
  const message = typeof fields['message'] === 'string' ? fields['message'] : error;
  const text = typeof message === 'string' ? message : 'unknown error';
  const facts = JSON.stringify(error).toLowerCase();
  const status = Number(fields['code'] ?? fields['status']);
  const isStatus = Number.isInteger(status) && status >= 400 && status < 600;
  const byType = typeKinds.find(([part]) => facts.includes(part))?.[1];
  const kind = isStatus ? kindOfStatus(status, facts) : (kindOfText(facts) ?? byType ?? 'server_error');
  return new EngineError(kind, `stream error: ${scrubSecrets(toWellFormed(text))}`, {
    data: { status: isStatus ? status : 200, quota: isQuotaText(facts) },
    ...(status === 529 || facts.includes('overloaded') ? { code: 'overloaded' } : {}),
  });
}

/** What the text alone says: the rows of the table that look at it. */
function kindOfText(facts: string): ErrorKind | undefined {
  const kind = kindOfStatus(400, facts);
  // 400 without a telling text is `invalid_request`, 0 is not
  return kind === 'invalid_request' && kindOfStatus(0, facts) !== kind ? undefined : kind;
}
