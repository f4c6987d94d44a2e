import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { loadConfig, type UntrustedPart } from '../config/config.ts';
import { mergeConfig } from '../config/merge.ts';
import type { Config } from '../config/schema.ts';
import { checkTrust } from '../config/trust.ts';
import { EngineError } from '../protocol/error.ts';
import { configDir } from '../store/paths.ts';
import type { EngineOptions } from './options.ts';

/** Where an engine works and what holds there, all files read. */
export interface EngineSetup {
  /** Absolute. */
  readonly root: string;
  readonly configDir: string | undefined;
  /** Inline settings over the project's over the user's. */
  readonly config: Config;
  /** Whether the project's own programs, providers and policy are used. */
  readonly isTrusted: boolean;
  /** Parts of the project that are left out because nobody trusted them. */
  readonly untrusted: readonly UntrustedPart[];
}

/**
 * Reads configuration and trust. Starts nothing.
 * @throws EngineError `config` for a bad file or a root that is no folder; code `untrusted` when the project needs a part
 * nobody trusted
 */
export async function openSetup(options: EngineOptions, env: NodeJS.ProcessEnv): Promise<EngineSetup> {
  const root = path.resolve(options.root ?? '.');
  const given = options.config ?? {};
  if (options.bare === true) {
    return { root, configDir: options.configDir, config: given, isTrusted: true, untrusted: [] };
  }
  await realpath(root).catch((cause: unknown) => {
    throw new EngineError('config', `the engine's root \`${root}\` is not a folder that can be opened`, { cause });
  });
  const named = options.configDir ?? configDir(env, process.platform);
  const folder = named === undefined ? undefined : await realpath(named).catch(() => named);
  const loaded = await loadConfig({ root, configDir: folder });
  const check = await checkTrust({ root, configDir: folder, loaded });
  const decided = typeof options.trust === 'function' ? await options.trust(check) : options.trust;
  const isTrusted = decided ?? (check.state === 'granted' || check.state === 'not_needed');
  const untrusted = isTrusted ? [] : check.parts;
  const required = untrusted.find((part) => part.required);
  if (required !== undefined) {
    const message = `${required.name} of this project is required and not trusted yet; run \`vibe-bus trust\` in \`${root}\``;
    throw new EngineError('config', message, { code: 'untrusted' });
  }
  const config = mergeConfig(isTrusted ? loaded.config : loaded.restricted, given);
  return { root, configDir: folder, config, isTrusted, untrusted };
}
