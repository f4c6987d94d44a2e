import type { FetchLike } from '@modelcontextprotocol/client';
import { isEngineError } from '../../protocol/error.ts';
import { toHttpFailure } from '../http-failure.ts';
import type { AuthorizationServer, Sdk } from './discovery.ts';
import { oauthError } from './errors.ts';
import type { FlowSettings } from './settings.ts';
import type { ClientRow, Vault } from './vault.ts';

export interface ClientChoice {
  readonly sdk: Sdk;
  readonly server: AuthorizationServer;
  readonly settings: FlowSettings;
  readonly scope: string | undefined;
  readonly vault: Vault;
  readonly fetch: FetchLike;
}

/**
 * Who this client is to an authorization server (mcp-host 10.1): the configured id, else its own description's address
 * where such ids are announced, else a registration, kept for the next time.
 * @throws EngineError `oauth_client_id_needed`, `oauth_registration_failed`
 */
export async function chooseClient(choice: ClientChoice): Promise<ClientRow> {
  const { server, settings, vault } = choice;
  const { client_id, client_secret, client_metadata_url, redirect_uri, endpoints } = settings;
  const { issuer, metadata } = server;
  const known = await vault.client(issuer);
  if (client_id !== undefined) {
    const kept = known?.client_id === client_id ? known : undefined;
    const secret = client_secret ?? kept?.client_secret;
    const row: ClientRow = {
      v: 1,
      issuer,
      client_id,
      ...(secret === undefined ? {} : { client_secret: secret }),
      ...(endpoints === undefined ? {} : { endpoints }),
    };
    await vault.saveClient(row);
    return row;
  }
  if (client_metadata_url !== undefined && metadata?.client_id_metadata_document_supported === true) {
    const row: ClientRow = { v: 1, issuer, client_id: client_metadata_url };
    await vault.saveClient(row);
    return row;
  }
  if (known !== undefined && (known.redirect_uri ?? redirect_uri) === redirect_uri) return known;
  const row = await register(choice);
  await vault.saveClient(row);
  return row;
}

async function register({ sdk, server, settings, scope, fetch }: ClientChoice): Promise<ClientRow> {
  const { metadata, url, issuer } = server;
  const { redirect_uri } = settings;
  if (metadata !== undefined && metadata.registration_endpoint === undefined)
    throw oauthError('oauth_client_id_needed');
  try {
    const { client_id, client_secret, token_endpoint_auth_method } = await sdk.registerClient(url, {
      ...(metadata === undefined ? {} : { metadata }),
      clientMetadata: {
        client_name: 'vibe-bus',
        redirect_uris: [redirect_uri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
      ...(scope === undefined ? {} : { scope }),
      fetchFn: fetch,
    });
    return {
      v: 1,
      issuer,
      client_id,
      redirect_uri,
      ...(client_secret === undefined ? {} : { client_secret }),
      ...(token_endpoint_auth_method === undefined ? {} : { token_endpoint_auth_method }),
    };
  } catch (error) {
    if (isEngineError(error)) throw error;
    if (error instanceof TypeError) throw toHttpFailure(error) ?? error;
    // why: the SDK's error quotes the whole answer
    throw oauthError('oauth_registration_failed');
  }
}
