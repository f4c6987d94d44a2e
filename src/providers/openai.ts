import { isJsonObject } from '../protocol/json.ts';
import type { CompletionRequest, CompletionResponse, Provider } from '../protocol/model.ts';
import { flag } from './extra.ts';
import { extraHeaders, secretValues } from './headers.ts';
import { createHttpProvider, type HttpProviderDeps, missingKey } from './http-provider.ts';
import { isOfficialOpenai, openaiBaseUrl, openaiBody, openaiDefaultModel, takesSchema } from './openai-body.ts';
import { readOpenaiResponse } from './openai-response.ts';
import { createOpenaiAssembler, toOpenaiStreamError } from './openai-stream.ts';
import { endpoint, type ProviderSettings, resolveApiKey } from './settings.ts';

const ollamaBaseUrl = 'http://localhost:11434/v1';
const ollamaDefaultModel = 'qwen3';

type OpenaiDeps = HttpProviderDeps & { readonly env: { readonly [name: string]: string | undefined } };

/**
 * The OpenAI Chat Completions API, or any server that speaks its dialect. Source: agent-runtime section 15.
 * @throws EngineError `config` for wrong settings; a missing key is reported by the first call
 */
export function createOpenaiProvider(settings: ProviderSettings, deps: OpenaiDeps): Provider {
  const wayOut = `check the network and \`base_url\` of provider \`${settings.name}\``;
  return createProvider(settings, deps, settings.baseUrl ?? openaiBaseUrl, openaiDefaultModel, wayOut);
}

/** A local Ollama, through its Chat Completions address. It takes response schemas. */
export function createOllamaProvider(settings: ProviderSettings, deps: OpenaiDeps): Provider {
  const wayOut = `start it with \`ollama serve\`, or set \`base_url\` of provider \`${settings.name}\``;
  const extra = { json_schema: true, ...settings.extra };
  return createProvider({ ...settings, extra }, deps, settings.baseUrl ?? ollamaBaseUrl, ollamaDefaultModel, wayOut);
}

function createProvider(
  settings: ProviderSettings,
  deps: OpenaiDeps,
  baseUrl: string,
  usualModel: string,
  wayOut: string,
): Provider {
  const { extra } = settings;
  const isOfficial = isOfficialOpenai(baseUrl);
  const key = resolveApiKey(settings, deps.env);
  const needsKey = flag(extra, 'require_api_key', isOfficial);
  const configured = extraHeaders(extra);
  const defaultModel = settings.defaultModel ?? usualModel;

  function headers(request: CompletionRequest | undefined): Record<string, string> {
    if (key === undefined && needsKey) throw missingKey(settings.name);
    const own: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
    return { ...own, ...configured, ...extraHeaders(request?.extra ?? {}) };
  }

  function read(data: unknown, request: CompletionRequest): CompletionResponse {
    if (isJsonObject(data) && data['choices'] === undefined && data['error'] !== undefined) {
      throw toOpenaiStreamError(data['error']);
    }
    return readOpenaiResponse(data, request.model === '' ? defaultModel : request.model);
  }

  return createHttpProvider(
    {
      info: {
        name: settings.name,
        supports_tools: true,
        supports_thinking: flag(extra, 'reasoning', isOfficial),
        supports_json_schema: takesSchema(extra, isOfficial),
        input_includes_cached: true,
        default_model: defaultModel,
      },
      completionUrl: endpoint(baseUrl, '/chat/completions'),
      modelsUrl: endpoint(baseUrl, '/models'),
      wayOut,
      secrets: secretValues(key, configured),
      streams: settings.stream,
      streamFields: { stream: true, stream_options: { include_usage: true } },
      retriesUnstreamed: true,
      headers,
      body: (request) => openaiBody(request, { baseUrl, defaultModel, extra }),
      carriesSchema: (body) => body['response_format'] !== undefined,
      openAssembler: createOpenaiAssembler,
      read,
    },
    settings.limits,
    deps,
  );
}
