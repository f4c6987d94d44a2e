import { isJsonObject, type JsonObject, ownValue } from '../protocol/json.ts';
import type { McpElicitation, McpElicitationAnswer } from '../protocol/mcp.ts';
import { mcpError } from './errors.ts';

/** How many times one call may ask for input (mcp-host 5.4). */
export const maxInputRounds = 8;

export interface InputPolicyOptions {
  readonly server: string;
  /** Asks the user; without it every elicitation is declined. A throw counts as `cancel`. */
  readonly onElicitation?: (request: McpElicitation, signal: AbortSignal) => Promise<McpElicitationAnswer>;
  /** `file:` URIs told to a server that asks for roots; default none. */
  readonly roots?: readonly { readonly uri: string; readonly name?: string }[];
}

/** Answers what a server may ask of this client, in both eras and inside tasks (mcp-host 5.4). */
export interface InputPolicy {
  /** @throws EngineError `input_unsupported` naming the kind, for anything but elicitation and roots */
  answer(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>;
}

export function createInputPolicy(options: InputPolicyOptions): InputPolicy {
  async function elicit(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    if (options.onElicitation === undefined) return { action: 'decline' };
    try {
      const request = readElicitation(options.server, params);
      return toWire(await options.onElicitation(request, signal), request);
    } catch {
      // why: whatever went wrong on the user's side, the server learns only that there is no answer
      return { action: 'cancel' };
    }
  }

  return {
    async answer(method, params, signal) {
      if (method === 'elicitation/create') return await elicit(params, signal);
      if (method === 'roots/list') return { roots: (options.roots ?? []).map((root) => ({ ...root })) };
      throw unsupportedInput(method);
    },
  };
}

/** The failure of a call whose server wants something this client does not do. */
export function unsupportedInput(method: string): Error {
  const what =
    method === 'sampling/createMessage'
      ? 'run a model'
      : `answer \`${method.replaceAll(/[^\w/.-]/g, '?').slice(0, 64)}\``;
  return mcpError('input_unsupported', `The server asked this client to ${what}, which it does not offer.`);
}

export function roundsExceeded(): Error {
  return mcpError('input_rounds_exceeded', `The server kept asking for input (${maxInputRounds} rounds).`);
}

function readElicitation(server: string, params: JsonObject): McpElicitation {
  const message = ownValue(params, 'message');
  const schema = ownValue(params, 'requestedSchema');
  const url = ownValue(params, 'url');
  const isUrl = ownValue(params, 'mode') === 'url';
  return {
    server_name: server,
    mode: isUrl ? 'url' : 'form',
    message: typeof message === 'string' ? message : '',
    ...(!isUrl && isJsonObject(schema) ? { requested_schema: schema } : {}),
    ...(isUrl && typeof url === 'string' ? { url } : {}),
  };
}

function toWire(answer: McpElicitationAnswer, request: McpElicitation): JsonObject {
  if (answer.action !== 'accept') return { action: answer.action };
  const content = { ...defaultsOf(request.requested_schema), ...answer.content };
  const isEmpty = answer.content === undefined && Object.keys(content).length === 0;
  return isEmpty ? { action: 'accept' } : { action: 'accept', content };
}

/** What the fields of a form hold before the user changes them: an accepted form holds it where nothing else was said. */
function defaultsOf(schema: JsonObject | undefined): JsonObject {
  const properties = schema === undefined ? undefined : ownValue(schema, 'properties');
  if (!isJsonObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).flatMap(([key, field]) => {
      const value = isJsonObject(field) ? field['default'] : undefined;
      return value === undefined ? [] : [[key, value] as const];
    }),
  );
}
