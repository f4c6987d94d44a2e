import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createMcpHost } from '../../../src/mcp/host.ts';
import type { McpHost, McpHostOptions } from '../../../src/mcp/host-options.ts';
import type { JsonObject } from '../../../src/protocol/json.ts';
import type { McpAuthorization } from '../../../src/protocol/mcp.ts';
import { systemClock } from '../../../src/protocol/signal.ts';
import { createMemorySecrets } from '../../../src/store/memory-secrets.ts';
import type { SecretStore } from '../../../src/store/secret-store.ts';
import {
  createEventLog,
  createRecordingLogger,
  createRecordingRegistry,
  type EventLog,
  onCleanup,
  type RecordingLogger,
  tempFolder,
} from '../support.ts';

/** A redirect URI of another machine: no port is opened, the answer is handed in. */
export const elsewhere = 'https://client.example/callback';

export interface OAuthHost {
  readonly host: McpHost;
  readonly logger: RecordingLogger;
  readonly events: EventLog;
  readonly secrets: SecretStore;
}

/** A host with one server named `web`, whose user agrees to everything unless told otherwise. */
export async function startHost(
  url: string,
  oauth: JsonObject = {},
  options: Partial<McpHostOptions> = {},
): Promise<OAuthHost> {
  const logger = createRecordingLogger();
  const events = createEventLog();
  const secrets = options.secrets ?? createMemorySecrets();
  const host = createMcpHost({
    registry: createRecordingRegistry(),
    logger,
    publish: events.publish,
    clock: systemClock,
    version: '0.1.0',
    projectRoot: tempFolder(),
    trusted: true,
    records: [{ name: 'web', url, oauth: { redirect_uri: elsewhere, ...oauth } }],
    onAuthorization: agree,
    ...options,
    secrets,
  });
  onCleanup(() => host.stop());
  await host.start();
  return { host, logger, events, secrets };
}

/** Where a browser is sent when its user agrees. */
export async function visit(authorization: McpAuthorization): Promise<string> {
  const response = await fetch(authorization.url, { redirect: 'manual' });
  return response.headers.get('location') ?? '';
}

export async function agree(authorization: McpAuthorization): Promise<void> {
  await authorization.complete(await visit(authorization));
}

/** The row of the token, as it is stored. */
export async function tokenRow(secrets: SecretStore): Promise<JsonObject | undefined> {
  const stored = await secrets.read('mcp.oauth.web');
  return stored.kind === 'found' ? (JSON.parse(stored.value) as JsonObject) : undefined;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
