import path from 'node:path';
import type { Clock, Logger } from '../protocol/deps.ts';
import { openKeyring } from './keyring.ts';
import type { Environment } from './paths.ts';
import { createSecretDatabase } from './secret-database.ts';
import type { SecretStore } from './secret-store.ts';

/** The secrets of a user (mcp-host sections 1 and 10.5). Nothing is opened before the first use. */
export function createUserSecrets(options: {
  readonly configDir: string;
  readonly env: Environment;
  readonly clock: Clock;
  readonly logger: Logger;
}): SecretStore {
  const { configDir, env, clock, logger } = options;
  const named = env['VIBE_SECRETS_KEY_FILE'];
  return createSecretDatabase({
    file: path.join(configDir, 'secrets.db'),
    keyFile: named === undefined || named === '' ? path.join(configDir, 'secrets.key') : path.resolve(named),
    ...(env['VIBE_KEYRING'] === 'off' ? {} : { openKeyring }),
    clock,
    logger,
  });
}
