import { toShownPath } from '../store/paths.ts';
import type { ServerList } from './servers.ts';

/** `features.mcp` of `/health` (mcp-host 12.1). The first five never change their meaning. */
export interface McpHealth {
  readonly available: true;
  readonly transport: 'daemon' | 'embedded';
  readonly config_path: string;
  readonly server_count: number;
  readonly configured: boolean;
  readonly config_error?: 'invalid_json';
}

export interface HealthOptions {
  readonly userFile: string;
  readonly transport: 'daemon' | 'embedded';
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Valid records count, enabled or not; a file that cannot be read makes the count 0. */
export function toHealth(list: ServerList, options: HealthOptions): McpHealth {
  const isBroken = list.problems.length > 0;
  const valid = list.entries.filter((entry) => 'record' in entry || entry.state === 'needs_trust');
  const server_count = isBroken ? 0 : valid.length;
  return {
    available: true,
    transport: options.transport,
    config_path: toShownPath(options.userFile, options.env),
    server_count,
    configured: server_count > 0,
    ...(isBroken ? { config_error: 'invalid_json' } : {}),
  };
}
