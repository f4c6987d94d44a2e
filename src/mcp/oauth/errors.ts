import { EngineError } from '../../protocol/error.ts';
import { mcpError } from '../errors.ts';

/** Codes with one sentence each (mcp-host section 15). */
const sentences = {
  oauth_state_mismatch: 'This answer does not belong to a waiting authorization; begin again and use the newest page.',
  oauth_issuer_mismatch: 'The authorization data names another server than the one that was asked; nothing was sent.',
  oauth_pkce_unsupported: 'The authorization server does not offer the code flow with PKCE (S256), which is required.',
  oauth_insecure_url:
    'An address of the authorization server is not allowed: it must use https and lie on the public internet.',
  oauth_flow_expired: 'The authorization was not finished within 10 minutes; begin again.',
  oauth_client_id_needed:
    'The authorization server registers no clients by itself; enter the client id it gave you (`oauth.client_id`).',
  oauth_registration_failed: 'The authorization server refused to register this client; enter a client id of your own.',
} as const;

export function oauthError(code: keyof typeof sentences): EngineError {
  return mcpError(code, sentences[code]);
}

export function portInUse(port: number): EngineError {
  const text = `Port ${port} is in use, so the answer of the browser cannot arrive; set VIBE_OAUTH_PORT to a free port.`;
  return mcpError('oauth_port_in_use', text);
}

/**
 * @param detail the error code of the server, or the status and content type of an answer that was none; never its text
 * @param oauthCode the same error code, for callers
 */
export function exchangeFailed(detail: string, redirectUri: string, oauthCode?: string): EngineError {
  const hint = `Most often the redirect URI differs from the registered one; register exactly ${redirectUri}.`;
  const options = oauthCode === undefined ? {} : { data: { oauth_error: oauthCode } };
  return mcpError('oauth_token_exchange_failed', `Token exchange failed: ${detail}. ${hint}`, options);
}

/** What the authorization server answered to the browser instead of a code. */
export function callbackError(code: string | undefined): EngineError {
  return mcpError(
    'oauth_callback_error',
    `The authorization server refused: ${toOAuthCode(code) ?? 'no reason given'}.`,
  );
}

/** The remote text that may be shown: an error code of RFC 6749; undefined when it is not of that form. */
export function toOAuthCode(text: unknown): string | undefined {
  return typeof text === 'string' && /^[a-z_]{1,40}$/.test(text) ? text : undefined;
}

export function needsAuth(): EngineError {
  return mcpError('needs_auth', 'Authorization needed: use Connect via OAuth.');
}

export function settingInvalid(server: string, problem: string): EngineError {
  return new EngineError('config', `${server}: ${problem}.`, { code: 'config_invalid' });
}
