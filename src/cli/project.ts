import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type LoadedConfig, loadConfig } from '../config/config.ts';
import { checkTrust, type TrustCheck } from '../config/trust.ts';
import { configDir, toShownPath } from '../store/paths.ts';
import { UsageError } from './failure.ts';
import type { CliIo } from './io.ts';
import type { CommonOptions } from './command.ts';

/** The project a command works on: its folder, both configuration files, what its user trusts. Starts nothing. */
export interface Project {
  readonly root: string;
  readonly configDir: string | undefined;
  readonly loaded: LoadedConfig;
  readonly trust: TrustCheck;
  /** Whether the project's own programs, providers and policy may be used. */
  readonly isTrusted: boolean;
}

/** @throws UsageError when the folder is none; EngineError `config` for a bad file */
export async function openProject(io: CliIo, options: CommonOptions): Promise<Project> {
  const root = await resolveRoot(io, options);
  const folder = configDir(io.env, process.platform);
  const loaded = await loadConfig({ root, configDir: folder });
  const trust = await checkTrust({ root, configDir: folder, loaded });
  return {
    root,
    configDir: folder,
    loaded,
    trust,
    isTrusted: trust.state === 'granted' || trust.state === 'not_needed',
  };
}

async function resolveRoot(io: CliIo, options: CommonOptions): Promise<string> {
  const root = path.resolve(io.cwd, options.root ?? '.');
  const stats = await stat(root).catch(() => undefined);
  if (stats?.isDirectory() !== true) throw new UsageError(`${toShownPath(root, io.env)} is not a folder`);
  return root;
}
