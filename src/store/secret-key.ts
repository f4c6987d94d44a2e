import { randomBytes } from 'node:crypto';
import { lstat, readFile } from 'node:fs/promises';
import type { Logger } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import { writeFileAtomic } from './atomic-file.ts';
import type { Keyring } from './keyring.ts';
import { withLock } from './lock.ts';
import { storeUnavailable } from './store-unavailable.ts';

const keyBytes = 32;

export interface SecretKeyOptions {
  /** Where the key lies when no keyring keeps it. */
  readonly keyFile: string;
  /** Absent: the key file always. @throws when it cannot be reached */
  readonly openKeyring?: () => Keyring;
  /** Whether something is stored already: then a new key would open none of it. */
  readonly hasRows: () => boolean;
  readonly logger: Logger;
}

/**
 * The key of the secrets: from the keyring of the system, else from the key file; made when nothing is stored yet
 * (mcp-host 10.5).
 * @throws EngineError `store_unavailable`
 */
export async function loadSecretKey(options: SecretKeyOptions): Promise<Buffer> {
  const keyring = openQuietly(options);
  const kept = keyring?.read();
  if (kept !== undefined) return parseKey(kept);
  const inFile = await readKeyFile(options.keyFile);
  if (inFile !== undefined) return inFile;
  return await withLock(options.keyFile, async () => {
    // why: another process may have made it meanwhile
    const made = keyring?.read();
    const found = made === undefined ? await readKeyFile(options.keyFile) : parseKey(made);
    if (found !== undefined) return found;
    if (options.hasRows()) throw storeUnavailable('key missing');
    const key = randomBytes(keyBytes);
    const text = key.toString('hex');
    if (keyring === undefined) await writeFileAtomic(options.keyFile, `${text}\n`, { mode: 0o600 });
    else keyring.write(text);
    return key;
  });
}

function openQuietly({ openKeyring, logger }: SecretKeyOptions): Keyring | undefined {
  if (openKeyring === undefined) return undefined;
  try {
    return openKeyring();
  } catch (error) {
    logger.info('secrets.keyring.unavailable', { problem: messageOf(error).split('\n')[0]?.slice(0, 200) ?? '' });
    return undefined;
  }
}

async function readKeyFile(file: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    // why: a link may lead to a file that others can read or choose
    if (!(await lstat(file)).isFile()) throw storeUnavailable('key missing');
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw storeUnavailable('key missing', error);
  }
  return parseKey(text.trim());
}

function parseKey(text: string): Buffer {
  if (!/^[0-9a-f]{64}$/.test(text)) throw storeUnavailable('key missing');
  return Buffer.from(text, 'hex');
}
