import { randomBytes } from 'node:crypto';
import type { Clock } from '../../protocol/deps.ts';
import { childSignal } from '../../protocol/signal.ts';
import { mcpError } from '../errors.ts';
import { type CallbackAnswer, isSameText, readPasted } from './answer.ts';
import type { AuthorizationServer, Sdk } from './discovery.ts';
import { callbackError, oauthError } from './errors.ts';

/** How long a flow waits for the browser, in milliseconds (mcp-host 10.1, OA1). */
const flowMs = 600_000;

export interface FlowOptions {
  readonly sdk: Sdk;
  readonly server: AuthorizationServer;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Exchanges the code and stores the tokens. */
  readonly finish: (given: {
    readonly code: string;
    readonly iss: string | undefined;
    readonly codeVerifier: string;
  }) => Promise<void>;
}

/** One authorization from the address for the browser to the stored token. */
export interface Flow {
  /** What the callback must bring back: 32 random bytes, for this flow only. */
  readonly state: string;
  readonly url: URL;
  readonly done: Promise<void>;
  /**
   * Takes the browser's answer. One that is not of this flow is refused and leaves it waiting.
   * @throws EngineError
   */
  answer(given: CallbackAnswer): Promise<void>;
  paste(text: string): Promise<void>;
  cancel(): void;
}

/** @throws EngineError `oauth_pkce_unsupported` */
export async function openFlow(options: FlowOptions): Promise<Flow> {
  const { sdk, server, redirectUri, scope } = options;
  const state = randomBytes(32).toString('base64url');
  const { authorizationUrl, codeVerifier } = await start();
  const limit = childSignal(options.signal);
  let settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
  let isTaken = false;
  const done = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  }).finally(() => {
    limit.abort(oauthError('oauth_state_mismatch'));
    limit[Symbol.dispose]();
  });
  // why: who only hands in answers learns of the end there
  done.catch(() => {});
  limit.signal.addEventListener('abort', () => settle?.reject(limit.signal.reason), { once: true });
  options.clock.sleep(flowMs, limit.signal).then(
    () => limit.abort(oauthError('oauth_flow_expired')),
    () => {
      // why: the flow has ended before its time
    },
  );

  async function start(): Promise<{ readonly authorizationUrl: URL; readonly codeVerifier: string }> {
    try {
      return await sdk.startAuthorization(server.url, {
        ...(server.metadata === undefined ? {} : { metadata: server.metadata }),
        ...(server.resource === undefined ? {} : { resource: server.resource }),
        ...(scope === undefined ? {} : { scope }),
        clientInformation: { client_id: options.clientId },
        redirectUrl: redirectUri,
        state,
      });
    } catch {
      // why: it knows no other failures than a server without the code flow or without S256
      throw oauthError('oauth_pkce_unsupported');
    }
  }

  async function answer(given: CallbackAnswer): Promise<void> {
    limit.signal.throwIfAborted();
    if (isTaken) throw oauthError('oauth_state_mismatch');
    if (given.state === undefined) requireNoIssuer();
    else if (!isSameText(given.state, state)) throw oauthError('oauth_state_mismatch');
    isTaken = true;
    try {
      checkIssuer(given);
      if (given.code === undefined) throw callbackError(given.error);
      await options.finish({ code: given.code, iss: given.iss, codeVerifier });
      settle?.resolve();
    } catch (error) {
      settle?.reject(error);
      throw error;
    }
  }

  /** Before anything of the answer is used or shown (OA5). */
  function checkIssuer(given: CallbackAnswer): void {
    const { metadata } = server;
    if (given.state === undefined || metadata === undefined) return;
    try {
      sdk.validateAuthorizationResponseIssuer({
        iss: given.iss,
        expectedIssuer: metadata.issuer,
        issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
      });
    } catch {
      throw oauthError('oauth_issuer_mismatch');
    }
  }

  /** A bare code says nothing of where it comes from: it will not do where the server would have said it. */
  function requireNoIssuer(): void {
    if (server.metadata?.authorization_response_iss_parameter_supported !== true) return;
    throw mcpError('oauth_state_mismatch', 'Paste the whole address the browser was sent to, not the code alone.');
  }

  return {
    state,
    url: authorizationUrl,
    done,
    answer,
    paste: async (text) => await answer(readPasted(text, redirectUri)),
    cancel: () => limit.abort(mcpError('cancelled', 'the authorization was cancelled')),
  };
}
