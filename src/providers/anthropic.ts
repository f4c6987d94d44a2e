import { EngineError } from '../protocol/error.ts';
import { isJsonObject, type JsonObject } from '../protocol/json.ts';
import type { CompletionRequest, CompletionResponse, Provider } from '../protocol/model.ts';
import { anthropicBody, anthropicDefaultModel, toAnthropicModel } from './anthropic-body.ts';
import { readAnthropicResponse, signedThinkingOf, thoughtOf } from './anthropic-response.ts';
import { createAnthropicAssembler, toStreamError } from './anthropic-stream.ts';
import { flag } from './extra.ts';
import { extraHeaders, secretValues } from './headers.ts';
import { createHttpProvider, type HttpProviderDeps, missingKey } from './http-provider.ts';
import { endpoint, type ProviderSettings, resolveApiKey } from './settings.ts';
import { createSignedThinkingCache, firstCallIdOf } from './signed-thinking.ts';

const baseUrl = 'https://api.anthropic.com';
const apiVersion = '2023-06-01';
const oauthBeta = 'oauth-2025-04-20';

/**
 * The Anthropic Messages API. Source: agent-runtime section 15.
 * @throws EngineError `config` for wrong settings; a missing key is reported by the first call
 */
export function createAnthropicProvider(
  settings: ProviderSettings,
  deps: HttpProviderDeps & { readonly env: { readonly [name: string]: string | undefined } },
): Provider {
  const base = settings.baseUrl ?? baseUrl;
  const key = resolveApiKey(settings, deps.env);
  const needsKey = flag(settings.extra, 'require_api_key', true);
  const usesBearer = usesBearerToken(settings.extra, key);
  const { workspace_id: workspace } = { ...anthropicExtraFrom(deps.env), ...settings.extra };
  const configured = extraHeaders(settings.extra);
  const signedThinking = createSignedThinkingCache(thoughtOf);
  const defaultModel = toAnthropicModel(settings.defaultModel ?? '', anthropicDefaultModel);

  function headers(request: CompletionRequest | undefined): Record<string, string> {
    if (key === undefined && needsKey) throw missingKey(settings.name);
    const own: Record<string, string> = { 'anthropic-version': apiVersion };
    if (typeof workspace === 'string' && workspace !== '') own['anthropic-workspace-id'] = workspace;
    if (key !== undefined && usesBearer) {
      own['authorization'] = `Bearer ${key}`;
      own['anthropic-beta'] = oauthBeta;
    } else if (key !== undefined) own['x-api-key'] = key;
    const given = { ...configured, ...extraHeaders(request?.extra ?? {}) };
    const betas = [own['anthropic-beta'], given['anthropic-beta']].filter((beta) => beta !== undefined);
    return { ...own, ...given, ...(betas.length > 1 ? { 'anthropic-beta': betas.join(',') } : {}) };
  }

  function read(data: unknown, request: CompletionRequest): CompletionResponse {
    if (isJsonObject(data) && data['type'] === 'error') throw toStreamError(data['error']);
    const model = toAnthropicModel(request.model, defaultModel);
    const response = readAnthropicResponse(data, model);
    const firstCall = firstCallIdOf(response.message);
    if (firstCall !== undefined) signedThinking.remember(firstCall, signedThinkingOf(data, model));
    return response;
  }

  return createHttpProvider(
    {
      info: {
        name: settings.name,
        supports_tools: true,
        supports_thinking: true,
        supports_json_schema: true,
        default_model: defaultModel,
      },
      completionUrl: endpoint(base, '/v1/messages'),
      modelsUrl: endpoint(base, '/v1/models'),
      wayOut: `check the network and \`base_url\` of provider \`${settings.name}\``,
      secrets: secretValues(key, configured),
      streams: settings.stream,
      streamFields: { stream: true },
      retriesUnstreamed: false,
      signedThinking,
      headers,
      body: (request) => anthropicBody(request, { signedThinking, defaultModel, extra: settings.extra }),
      carriesSchema: (body) => isJsonObject(body['output_config']) && body['output_config']['format'] !== undefined,
      openAssembler: createAnthropicAssembler,
      read,
    },
    settings.limits,
    deps,
  );
}

/** A subscription token goes out as a bearer token; `extra.auth` decides for gateways. */
function usesBearerToken(extra: JsonObject, key: string | undefined): boolean {
  const auth = extra['auth'] ?? (key?.startsWith('sk-ant-oat') === true ? 'bearer' : 'api_key');
  if (auth === 'bearer' || auth === 'api_key') return auth === 'bearer';
  throw new EngineError('config', `\`extra.auth\` must be "bearer" or "api_key", not ${JSON.stringify(auth)}`);
}

/** The workspace of the environment, for a table that names none. */
export function anthropicExtraFrom(env: { readonly [name: string]: string | undefined }): JsonObject {
  const workspace = env['ANTHROPIC_WORKSPACE_ID']?.trim() ?? '';
  return workspace === '' ? {} : { workspace_id: workspace };
}
