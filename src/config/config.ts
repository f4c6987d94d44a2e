import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { EngineError, toEngineError } from '../protocol/error.ts';
import { projectPaths, userPaths } from '../store/paths.ts';
import { mergeConfig } from './merge.ts';
import { type Config, configSchema, userConfigSchema } from './schema.ts';
import { parseTomlText } from './toml-file.ts';

export interface ConfigLocation {
  /** The project's folder; its file is `.vibe/config.toml`. Absent: no project. */
  readonly root?: string | undefined;
  /** The user's folder (`configDir` of store/paths.ts). Absent: no user file. */
  readonly configDir?: string | undefined;
}

/** One file that was read. */
export interface ConfigLayer {
  readonly from: 'user' | 'project';
  readonly file: string;
  /** SHA-256 of the bytes, in hex: what trust is bound to. */
  readonly sha256: string;
  readonly config: Config;
}

export interface LoadedConfig {
  /** The project's file over the user's: for a project that is trusted. */
  readonly config: Config;
  /** The same without those parts of the project's file that need trust. */
  readonly restricted: Config;
  /** The parts that need trust, in file order; empty when the project's file may be used as it is. */
  readonly untrusted: readonly UntrustedPart[];
  /** The files that exist, the user's first: later ones win. */
  readonly layers: readonly ConfigLayer[];
}

/** A part of a project that starts a program, or decides where prompts and keys go or what is allowed. */
export interface UntrustedPart {
  /** As a user reads it: ``plugin `todo` ``, ``provider `x` ``, `[rules]`. */
  readonly name: string;
  /** Without it the project cannot run: a plugin declared `required = true`. */
  readonly required: boolean;
}

/**
 * Reads both configuration files (contract README, decision 15); a missing one is empty. Defaults are not filled in.
 * @throws EngineError `config` with file, line and column for broken TOML, an unknown key or a wrong value; `storage` when
 * a file cannot be read
 */
export async function loadConfig(location: ConfigLocation): Promise<LoadedConfig> {
  const user =
    location.configDir === undefined
      ? undefined
      : await readLayer('user', userPaths(location.configDir).config, userConfigSchema);
  const project =
    location.root === undefined
      ? undefined
      : await readLayer('project', projectPaths(location.root).config, configSchema);
  const base = user?.config ?? {};
  const own = project?.config ?? {};
  return {
    config: mergeConfig(base, own),
    restricted: mergeConfig(base, toHarmless(own)),
    untrusted: listUntrusted(own),
    layers: [user, project].filter((layer) => layer !== undefined),
  };
}

async function readLayer(
  from: ConfigLayer['from'],
  file: string,
  schema: z.ZodType<Config>,
): Promise<ConfigLayer | undefined> {
  const bytes = await readFile(file).catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) {
      return undefined;
    }
    throw new EngineError('storage', `cannot read ${file}: ${toEngineError(cause).message}`, { cause });
  });
  if (bytes === undefined) return undefined;
  const config = parseTomlText(bytes.toString('utf8'), file, schema);
  return { from, file, sha256: sha256(bytes), config };
}

/** SHA-256 in hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * What an untrusted project still decides: which of the user's models to use and sizes of the run. Everything else starts
 * programs, moves prompts or keys elsewhere, spends money or changes policy (PD7).
 */
export function toHarmless(config: Config): Config {
  const { model, phases, limits } = config;
  return {
    ...(model === undefined ? {} : { model }),
    ...(phases === undefined ? {} : { phases }),
    ...(limits === undefined ? {} : { limits }),
  };
}

function listUntrusted(config: Config): readonly UntrustedPart[] {
  const parts: UntrustedPart[] = [];
  for (const plugin of config.plugins ?? []) {
    parts.push({ name: `plugin \`${plugin.name}\``, required: plugin.required === true });
  }
  for (const name of Object.keys(config.providers ?? {})) parts.push({ name: `provider \`${name}\``, required: false });
  for (const table of ['security', 'rules', 'budget', 'prices'] as const) {
    if (config[table] !== undefined) parts.push({ name: `[${table}]`, required: false });
  }
  return parts;
}
