import path from 'node:path';
import { z } from 'zod';
import type { Clock, Logger } from '../protocol/deps.ts';
import { readJsonFile, updateJsonFile } from '../store/json-file.ts';
import { type EraMemory, recordFingerprint } from './era-memory.ts';
import { codeOf } from './errors.ts';
import type { PinStore } from './pins.ts';

/** `<config>/mcp-registry.json`. Loose: other parts keep their own members in it. */
const schema = z.looseObject({
  /** Record fingerprint to the time (ms since the epoch) until which the server is taken for legacy. */
  legacy: z.record(z.string(), z.number()).optional(),
  /** What was accepted, by id: the hash of a tool's definition, or of the way a server is started. */
  definitions: z.record(z.string(), z.string()).optional(),
});
type RegistryFile = z.infer<typeof schema>;

/** How long a legacy verdict that came from silence or exit holds, in milliseconds: 24 h (mcp-host 4.3). */
const rememberMs = 86_400_000;

/** What the host keeps between runs about servers and their tools. */
export interface RegistryStore extends EraMemory, PinStore {}

export function createRegistryStore(configDir: string, clock: Clock, logger: Logger): RegistryStore {
  const file = path.join(configDir, 'mcp-registry.json');

  /** A broken file costs what it held and nothing else; it is left for the user to look at. */
  async function readQuietly(): Promise<RegistryFile> {
    try {
      return (await readJsonFile(file, schema)) ?? {};
    } catch (error) {
      logger.warn('mcp.registry.unreadable', { error_code: codeOf(error) });
      return {};
    }
  }

  return {
    async isLegacy(record) {
      const until = (await readQuietly()).legacy?.[recordFingerprint(record)];
      return until !== undefined && clock.now() < until && until - clock.now() <= rememberMs;
    },
    async rememberLegacy(record) {
      const now = clock.now();
      try {
        await updateJsonFile(file, schema, (current = {}) => ({
          ...current,
          legacy: {
            ...Object.fromEntries(Object.entries(current.legacy ?? {}).filter(([, until]) => until > now)),
            [recordFingerprint(record)]: now + rememberMs,
          },
        }));
      } catch (error) {
        logger.warn('mcp.registry.unwritable', { error_code: codeOf(error) });
      }
    },
    async definitions() {
      return new Map(Object.entries((await readQuietly()).definitions ?? {}));
    },
    async approve(entries) {
      await updateJsonFile(file, schema, (current = {}) => ({
        ...current,
        definitions: { ...current.definitions, ...Object.fromEntries(entries) },
      }));
    },
  };
}
