import type { Clock, Logger } from '../protocol/deps.ts';
import { EngineError, isEngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import type {
  CompletionRequest,
  CompletionResponse,
  OnDelta,
  Provider,
  ProviderInfo,
  SignedThinkingStore,
} from '../protocol/model.ts';
import { createAttempts } from './attempts.ts';
import { type Fetch, type HttpCall, requestJson, requestStream } from './http.ts';
import { encodeBody } from './json-body.ts';
import type { HttpLimits } from './limits.ts';
import { cancelledCall } from './retry.ts';
import type { StreamAssembler } from './stream-events.ts';

/** What differs between the APIs: addresses, headers, bodies, answers. */
export interface Dialect {
  readonly info: ProviderInfo;
  readonly completionUrl: string;
  /** A cheap address that needs the key, for the health check. */
  readonly modelsUrl: string;
  /** What a user can do when the host cannot be reached. */
  readonly wayOut: string;
  readonly secrets: readonly string[];
  /** Whether answers are streamed when the caller wants deltas. */
  readonly streams: boolean;
  /** Fields that turn a body into one for a stream. */
  readonly streamFields: JsonObject;
  /** Ask again without streaming when the streaming request is refused before it said anything. */
  readonly retriesUnstreamed: boolean;
  readonly signedThinking?: SignedThinkingStore;
  /** @throws EngineError `auth_failed` when the key is missing */
  headers(request: CompletionRequest | undefined): Readonly<Record<string, string>>;
  body(request: CompletionRequest): JsonObject;
  /** Whether a body holds a response schema. */
  carriesSchema(body: JsonObject): boolean;
  openAssembler(onDelta: OnDelta): StreamAssembler;
  read(data: unknown, request: CompletionRequest): CompletionResponse;
}

export interface HttpProviderDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const healthCheckMs = 30_000;

/** A provider that speaks HTTP: one request per attempt, retries, streaming and its fall-backs are the same for all dialects. */
export function createHttpProvider(dialect: Dialect, limits: HttpLimits, deps: HttpProviderDeps): Provider {
  const httpDeps = { fetch: deps.fetch, now: () => deps.clock.now(), limits };
  const attempts = createAttempts({ ...deps, name: dialect.info.name, limits });
  // why: a schema that was refused once would be refused at each step of its run
  const refusedSchemas = new WeakSet<JsonObject>();

  function toCall(request: CompletionRequest, body: JsonObject): HttpCall {
    return {
      url: dialect.completionUrl,
      method: 'POST',
      headers: { ...dialect.headers(request), 'content-type': 'application/json' },
      body: encodeBody(body),
      signal: request.signal,
      wayOut: dialect.wayOut,
      secrets: dialect.secrets,
    };
  }

  async function whole(request: CompletionRequest, body: JsonObject): Promise<CompletionResponse> {
    const call = toCall(request, body);
    return await attempts.repeat(request.signal, async () => dialect.read(await requestJson(call, httpDeps), request));
  }

  async function streamed(request: CompletionRequest, body: JsonObject, onDelta: OnDelta): Promise<CompletionResponse> {
    if (!dialect.streams) return await whole(request, body);
    const call = toCall(request, { ...body, ...dialect.streamFields });
    try {
      return await attempts.repeatStreaming(request.signal, onDelta, async (pass) =>
        dialect.read(await requestStream(call, httpDeps, dialect.openAssembler(pass)), request),
      );
    } catch (error) {
      const asksAgain = dialect.retriesUnstreamed && !dialect.carriesSchema(body) && refusesForm(error);
      if (asksAgain) return await whole(request, body);
      throw error;
    }
  }

  type Complete = (request: CompletionRequest, body: JsonObject) => Promise<CompletionResponse>;

  /** Native JSON (agent-runtime 18.7): a request refused with its schema is sent once more without it. */
  async function withSchema(request: CompletionRequest, complete: Complete): Promise<CompletionResponse> {
    if (request.signal?.aborted === true) throw cancelledCall(request.signal.reason);
    const { response_schema: schema, ...plain } = request;
    if (schema === undefined || refusedSchemas.has(schema)) return await complete(plain, dialect.body(plain));
    const body = dialect.body(request);
    try {
      return await complete(request, body);
    } catch (error) {
      if (!dialect.carriesSchema(body) || !refusesForm(error)) throw error;
      const answer = await complete(plain, dialect.body(plain));
      // only now is it known that the schema was what was refused
      refusedSchemas.add(schema);
      return answer;
    }
  }

  return {
    info: () => dialect.info,
    complete: (request) => withSchema(request, whole),
    completeStreaming: (request, onDelta) => withSchema(request, (next, body) => streamed(next, body, onDelta)),
    healthCheck: async (signal) => {
      const { modelsUrl: url, wayOut, secrets } = dialect;
      const call: HttpCall = { url, method: 'GET', headers: dialect.headers(undefined), signal, wayOut, secrets };
      await requestJson(call, httpDeps, Math.min(healthCheckMs, limits.requestMs)).catch((error: unknown) => {
        // a gateway need not list its models: it is there and took the key
        if (!isEngineError(error) || error.kind !== 'invalid_request') throw error;
      });
    },
    ...(dialect.signedThinking === undefined ? {} : { signedThinking: dialect.signedThinking }),
  };
}

/** Statuses that can mean "not in this form" (200: told in the stream); other refusals would be the same in any form. */
const formStatuses: ReadonlySet<unknown> = new Set([200, 400, 405, 415, 422]);

function refusesForm(error: unknown): boolean {
  if (!isEngineError(error) || error.kind !== 'invalid_request') return false;
  const data = isJsonObject(error.data) ? error.data : {};
  return formStatuses.has(ownValue(data, 'status')) && ownValue(data, 'quota') !== true;
}

/** @throws EngineError `auth_failed` in the words of agent-runtime section 15 */
export function missingKey(name: string): EngineError {
  return new EngineError(
    'auth_failed',
    `no API key configured for provider \`${name}\` (set \`api_key\` or \`api_key_env\`)`,
  );
}
