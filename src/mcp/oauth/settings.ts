import { z } from 'zod';
import type { McpOAuthSettings, McpServerRecord } from '../../protocol/mcp.ts';
import type { Environment } from '../../store/paths.ts';
import { isLoopbackHost } from '../server-url.ts';
import { settingInvalid } from './errors.ts';

/** Where the answer of the browser is expected unless something else is said (mcp-host section 1). */
const defaultPort = 7_879;
/** What the form of the seed asked for when it was left empty. */
const defaultFormScope = 'read';

const line = z.string({ error: 'must be a text' }).min(1, { error: 'must not be empty' });
const address = line.refine((text) => URL.canParse(text), { error: 'must be a URL' });
const remote = address.refine(isHttpsOrLocal, { error: 'must use https, or http on this machine' });
const scopes = z.union([line, z.array(line).transform((list) => list.join(' '))], {
  error: 'must be a text or a list of texts',
});

/** The `oauth` member of a record; unknown members are other hosts'. */
export const oauthSchema = z.looseObject(
  {
    client_id: line.optional(),
    auth_url: remote.optional(),
    token_url: remote.optional(),
    scopes: scopes.optional(),
    redirect_uri: remote.optional(),
    issuer: address.optional(),
    client_metadata_url: remote.optional(),
  },
  { error: 'must be an object' },
);

/** What the user enters when connecting; every field goes before that of the record. The secret is in no file. */
export interface OAuthForm extends McpOAuthSettings {
  readonly client_secret?: string;
}

export interface FlowSettings extends OAuthForm {
  readonly redirect_uri: string;
  /** Both addresses are given by hand: nothing is looked up. */
  readonly endpoints?: { readonly auth_url: string; readonly token_url: string };
}

/** @throws EngineError `config_invalid` */
export function toFlowSettings(record: McpServerRecord, form: OAuthForm, env: Environment): FlowSettings {
  const { client_secret, ...rest } = form;
  const parsed = oauthSchema.safeParse({ ...record.oauth, ...rest });
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw settingInvalid(record.name, `oauth.${(issue?.path ?? []).map(String).join('.')} ${issue?.message ?? ''}`);
  }
  const { client_id, auth_url, token_url, redirect_uri, issuer, client_metadata_url } = parsed.data;
  if ((auth_url === undefined) !== (token_url === undefined)) {
    throw settingInvalid(record.name, 'oauth.auth_url and oauth.token_url belong together');
  }
  const endpoints = auth_url === undefined || token_url === undefined ? undefined : { auth_url, token_url };
  if (endpoints === undefined && record.url === undefined) {
    throw settingInvalid(record.name, 'a server without url needs oauth.auth_url and oauth.token_url');
  }
  if (endpoints !== undefined && client_id === undefined) {
    throw settingInvalid(record.name, 'oauth.auth_url needs oauth.client_id');
  }
  const given = parsed.data.scopes ?? (endpoints === undefined ? undefined : defaultFormScope);
  return {
    redirect_uri: redirect_uri ?? defaultRedirectUri(env),
    ...(endpoints === undefined ? {} : { endpoints }),
    ...(client_id === undefined ? {} : { client_id }),
    ...(client_secret === undefined ? {} : { client_secret }),
    ...(given === undefined ? {} : { scopes: given }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(client_metadata_url === undefined ? {} : { client_metadata_url }),
  };
}

/** Where the answers for a record are expected when no form says otherwise. */
export function redirectUriOf(record: McpServerRecord, env: Environment): string {
  return record.oauth?.redirect_uri ?? defaultRedirectUri(env);
}

function defaultRedirectUri(env: Environment): string {
  return `http://localhost:${callbackPort(env)}/oauth/callback`;
}

function callbackPort(env: Environment): number {
  const text = env['VIBE_OAUTH_PORT'] ?? '';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port >= 1 && port <= 65_535 ? port : defaultPort;
}

function isHttpsOrLocal(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname));
}
