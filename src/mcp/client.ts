import type { Client, McpSubscription, PriorDiscovery, Progress } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { type EngineError, isEngineError } from '../protocol/error.ts';
import { isJsonObject, type Json, type JsonObject, ownValue } from '../protocol/json.ts';
import {
  type McpCallResult,
  type McpEra,
  mcpLegacyVersions,
  mcpModernVersion,
  type McpToolDefinition,
} from '../protocol/mcp.ts';
import { maxTimerMs } from '../protocol/signal.ts';
import type { ToolProgress } from '../protocol/tool.ts';
import { type CallTimerOptions, createCallTimer } from './call-timer.ts';
import { clientCapabilities, type ClientIdentity, handoverKeys, serverInfoKey } from './envelope.ts';
import { connectError, handshakeError } from './errors.ts';
import { type InputPolicy, maxInputRounds } from './input-policy.ts';
import { checkOutput } from './output-check.ts';
import { toRequestError } from './sdk-errors.ts';
import type { McpTransport } from './transport.ts';

export type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list';

export interface RawPage {
  readonly items: readonly unknown[];
  readonly nextCursor: unknown;
  readonly ttlMs: unknown;
  /** Tools left out of this page. */
  readonly rejected: readonly unknown[];
}

export interface CallRequest extends CallTimerOptions {
  readonly name: string;
  readonly args: JsonObject;
  /** The definition the call is made by: header mirroring and the check of structured content go by it. */
  readonly tool?: McpToolDefinition;
  readonly onProgress?: (progress: ToolProgress) => void;
}

/** The one adapter to the SDK's client. Everything it rejects with is an EngineError. */
export interface McpClient {
  readonly era: McpEra;
  readonly protocolVersion: string;
  /** Self-reported. */
  readonly server: { readonly name: string; readonly version: string };
  readonly capabilities: JsonObject;
  /** Whether the server announces change notices for a kind of list. */
  announcesChanges(kind: 'tools' | 'prompts' | 'resources'): boolean;
  page(method: ListMethod, cursor: string | undefined, signal: AbortSignal): Promise<RawPage>;
  call(request: CallRequest): Promise<McpCallResult>;
  /** `prompts/get` or `resources/read`. */
  read(method: 'prompts/get' | 'resources/read', params: JsonObject, limits: CallTimerOptions): Promise<JsonObject>;
  /** Modern only: opens the stream of change notices. */
  listen(signal: AbortSignal): Promise<McpSubscription>;
  onToolsChanged(listener: () => void): void;
}

export type EraVerdict = { readonly kind: 'modern'; readonly discover: JsonObject } | { readonly kind: 'legacy' };

export interface ClientOptions {
  readonly server: string;
  readonly transport: McpTransport;
  readonly verdict: EraVerdict;
  readonly identity: ClientIdentity;
  readonly input: InputPolicy;
  /** Whether calls mirror parameters in headers: HTTP in the modern era. */
  readonly mirrorsHeaders: boolean;
  readonly signal: AbortSignal;
  readonly closedError: () => EngineError;
}

const anyResult = z.looseObject({});

/** Connects the SDK's client over a transport whose era is known. @throws EngineError */
export async function connectClient(options: ClientOptions): Promise<McpClient> {
  const { Client } = await import('@modelcontextprotocol/client');
  const sdk = new Client(options.identity, {
    capabilities: clientCapabilities,
    inputRequired: { maxRounds: maxInputRounds },
    supportedProtocolVersions: [mcpModernVersion, ...mcpLegacyVersions],
    // why: structured content is checked by our own means, which cannot be made to run for ever
    jsonSchemaValidator: {
      getValidator: () => (value) => ({ valid: true, data: value as never, errorMessage: undefined }),
    },
  });
  sdk.onerror = () => {};
  for (const method of ['elicitation/create', 'roots/list'] as const) {
    sdk.setRequestHandler(method, { params: anyResult }, async (params, context) => ({
      ...(await options.input.answer(method, params as JsonObject, context.mcpReq.signal)),
    }));
  }
  options.transport.setEra(options.verdict.kind);
  try {
    await sdk.connect(options.transport, {
      prior: toPrior(options.verdict),
      signal: options.signal,
      timeout: maxTimerMs,
    });
  } catch (error) {
    throw toHandshakeFailure(toRequestError(error, { ...options, method: 'initialize' }));
  }
  return adapt(sdk, options);
}

/** What a failed `initialize` says about the connect (mcp-host section 15). */
function toHandshakeFailure(error: unknown): unknown {
  if (!isEngineError(error)) return error;
  if (error.code === 'result_invalid') return handshakeError('the answer is malformed');
  if (error.code !== 'remote') return error;
  const text = 'the server refused the handshake. The program ended or refused before speaking MCP.';
  return connectError('connect_failed', text, { cause: error });
}

/** The part of a discover result the SDK needs, in the form it insists on. */
function toPrior(verdict: EraVerdict): PriorDiscovery {
  if (verdict.kind === 'legacy') return { kind: 'legacy' };
  const capabilities = ownValue(verdict.discover, 'capabilities');
  const instructions = ownValue(verdict.discover, 'instructions');
  const meta = ownValue(verdict.discover, '_meta');
  const info = isJsonObject(meta) ? ownValue(meta, serverInfoKey) : undefined;
  const name = isJsonObject(info) ? ownValue(info, 'name') : undefined;
  const version = isJsonObject(info) ? ownValue(info, 'version') : undefined;
  const isNamed = typeof name === 'string' && typeof version === 'string';
  return {
    kind: 'modern',
    discover: {
      supportedVersions: [mcpModernVersion],
      capabilities: isJsonObject(capabilities) ? cleanCapabilities(capabilities) : {},
      ttlMs: 0,
      cacheScope: 'private',
      ...(typeof instructions === 'string' ? { instructions } : {}),
      ...(isNamed ? { _meta: { [serverInfoKey]: { name, version } } } : {}),
    },
  };
}

function cleanCapabilities(capabilities: JsonObject): { [key: string]: { listChanged?: boolean } } {
  return Object.fromEntries(
    ['tools', 'prompts', 'resources', 'completions'].flatMap((key) => {
      const value = ownValue(capabilities, key);
      return isJsonObject(value) ? [[key, value['listChanged'] === true ? { listChanged: true } : {}]] : [];
    }),
  );
}

function adapt(sdk: Client, options: ClientOptions): McpClient {
  const { server, closedError } = options;
  const capabilities = (sdk.getServerCapabilities() ?? {}) as JsonObject;
  const info = sdk.getServerVersion();

  async function attempt<T>(method: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (sdk.transport === undefined) throw closedError();
    try {
      return await work();
    } catch (error) {
      throw toRequestError(error, { server, method, signal, closedError });
    }
  }

  return {
    era: options.verdict.kind,
    protocolVersion: sdk.getNegotiatedProtocolVersion() ?? mcpModernVersion,
    server: { name: info?.name ?? 'unknown', version: info?.version ?? 'unknown' },
    capabilities,
    announcesChanges(kind) {
      const value = ownValue(capabilities, kind);
      return isJsonObject(value) && value['listChanged'] === true;
    },
    page: (method, cursor, signal) =>
      attempt(method, signal, async () => {
        const params = cursor === undefined ? {} : { params: { cursor } };
        const result = await sdk.request({ method, ...params }, anyResult, { signal, timeout: maxTimerMs });
        return readPage(method, result);
      }),
    call: (request) => callTool(sdk, { ...request, mirrorsHeaders: options.mirrorsHeaders }, attempt),
    async read(method, params, limits) {
      using timer = createCallTimer(limits);
      return await attempt(method, timer.signal, async () => {
        const result = await sdk.request({ method, params }, anyResult, { signal: timer.signal, timeout: maxTimerMs });
        return result as JsonObject;
      });
    },
    listen: (signal) =>
      attempt('subscriptions/listen', signal, () => sdk.listen({ toolsListChanged: true }, { signal })),
    onToolsChanged(listener) {
      sdk.setNotificationHandler('notifications/tools/list_changed', listener);
    },
  };
}

function readPage(method: ListMethod, result: { readonly [key: string]: unknown }): RawPage {
  const meta = isJsonObject(result['_meta']) ? result['_meta'] : {};
  if (method === 'tools/list') {
    const given = ownValue(meta, handoverKeys.raw);
    const raw = isJsonObject(given) ? given : {};
    return {
      items: asList(raw['tools']),
      nextCursor: raw['nextCursor'],
      ttlMs: result['ttlMs'],
      rejected: asList(meta[handoverKeys.rejected]),
    };
  }
  const key = method === 'prompts/list' ? 'prompts' : method === 'resources/list' ? 'resources' : 'resourceTemplates';
  return { items: asList(result[key]), nextCursor: result['nextCursor'], ttlMs: result['ttlMs'], rejected: [] };
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

async function callTool(
  sdk: Client,
  request: CallRequest & { readonly mirrorsHeaders: boolean },
  attempt: <T>(method: string, signal: AbortSignal, work: () => Promise<T>) => Promise<T>,
): Promise<McpCallResult> {
  using timer = createCallTimer(request);
  const onprogress = (progress: Progress & { readonly _meta?: Json }): void => {
    const meta = progress._meta;
    if (isJsonObject(meta) && meta[handoverKeys.task] === true) timer.becomeTask();
    else timer.progress();
    request.onProgress?.(toProgress(progress));
  };
  const params = { name: request.name, arguments: { ...request.args } };
  const limits = { signal: timer.signal, timeout: maxTimerMs, onprogress };
  const { tool } = request;
  // why: only on the web are parameters mirrored in headers, which is what the longer way is for
  const result = await attempt('tools/call', timer.signal, () =>
    tool === undefined || !request.mirrorsHeaders
      ? sdk.request({ method: 'tools/call', params }, anyResult, limits)
      : sdk.callTool(params, {
          ...limits,
          toolDefinition: { name: tool.name, inputSchema: { ...tool.inputSchema, type: 'object' } },
        }),
  );
  const meta = isJsonObject(result['_meta']) ? result['_meta'] : {};
  const raw = ownValue(meta, handoverKeys.raw);
  // why: put there by our own transport, which has read it from the wire
  const read = (raw ?? { content: [], isError: false }) as McpCallResult;
  checkOutput(tool, read);
  return read;
}

function toProgress(progress: Progress): ToolProgress {
  return {
    progress: progress.progress,
    ...(progress.total === undefined ? {} : { total: progress.total }),
    ...(progress.message === undefined ? {} : { message: progress.message }),
  };
}
