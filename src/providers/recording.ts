import { canonicalHash } from '../protocol/canonical.ts';
import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import type { CompletionRequest, ProviderInfo } from '../protocol/model.ts';
import { parseScriptEntry, type ScriptEntry } from './script-entry.ts';

/** The format's number, in the first line of a recording. */
export const recordingVersion = 1;

/** One model call as it was made. */
export interface RecordedCall {
  /** Counted from 1 in the order in which calls began. */
  readonly call: number;
  /** SHA-256 of the request's canonical JSON. */
  readonly sha256: string;
  /** The request without its signal. */
  readonly request: JsonObject;
  /** How it ended, in the form of a script entry: an answer or an error, with the deltas before it. */
  readonly answer: JsonObject;
  /** The model that answered. */
  readonly model?: string;
}

/** What a provider said while it was recorded. */
export interface Recording {
  readonly info: ProviderInfo;
  readonly calls: readonly RecordedCall[];
}

/** A request as data: what is recorded and compared. Equal requests of two runs have equal hashes. */
export function toRecordedRequest(request: CompletionRequest): {
  readonly request: JsonObject;
  readonly sha256: string;
} {
  const { signal: _signal, ...data } = request;
  // what is left is JSON: absent options, which `undefined` may stand for, leave no trace in it
  const plain = JSON.parse(JSON.stringify(data)) as JsonObject;
  return { request: plain, sha256: canonicalHash(plain) };
}

/** The first line of a recording. */
export function toHeaderLine(info: ProviderInfo): string {
  return `${JSON.stringify({ recording: recordingVersion, provider: info })}\n`;
}

export function toCallLine(call: RecordedCall): string {
  return `${JSON.stringify(call)}\n`;
}

/**
 * Reads a recording: one JSON object a line, the first about the provider. A last line that was cut off is left out.
 * @param where names it in messages
 * @throws EngineError `config` with the number of the line
 */
export function parseRecording(text: string, where = 'the recording'): Recording {
  const lines = text.split('\n');
  // why: a program that was killed leaves a line without its end, and what it was about never came back
  lines.pop();
  const [first, ...rest] = lines.map((line, index) => parseLine(line, `${where}, line ${index + 1}`));
  const info = first === undefined ? undefined : readInfo(first);
  if (info === undefined) throw new EngineError('config', `${where} is not a recording of version ${recordingVersion}`);
  return { info, calls: rest.map((line, index) => readCall(line, `${where}, line ${index + 2}`)) };
}

function parseLine(line: string, where: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line);
    if (isJsonObject(value)) return value;
  } catch {
    // told below
  }
  throw new EngineError('config', `${where}: not a JSON object`);
}

function readInfo(header: JsonObject): ProviderInfo | undefined {
  const provider = ownValue(header, 'provider');
  if (ownValue(header, 'recording') !== recordingVersion || !isJsonObject(provider)) return undefined;
  const { name, default_model: model } = provider;
  if (typeof name !== 'string' || typeof model !== 'string') return undefined;
  return {
    name,
    supports_tools: provider['supports_tools'] !== false,
    supports_thinking: provider['supports_thinking'] !== false,
    supports_json_schema: provider['supports_json_schema'] === true,
    ...(provider['input_includes_cached'] === true ? { input_includes_cached: true } : {}),
    default_model: model,
  };
}

function readCall(line: JsonObject, where: string): RecordedCall {
  const { call, sha256, request, answer, model } = line;
  const isNumbered = typeof call === 'number' && Number.isSafeInteger(call) && call >= 1;
  if (!isNumbered || typeof sha256 !== 'string' || !isJsonObject(request) || !isJsonObject(answer)) {
    throw new EngineError('config', `${where}: not a recorded call`);
  }
  return { call, sha256, request, answer, ...(typeof model === 'string' ? { model } : {}) };
}

/** The answer of a recorded call, ready to be played. @throws EngineError `config` naming the call */
export function readAnswer({ call, answer }: RecordedCall): ScriptEntry {
  return parseScriptEntry(answer, call);
}
