import { createHash } from 'node:crypto';
import type { McpServerRecord } from '../protocol/mcp.ts';

/** Remembers which servers are taken for legacy without asking (mcp-host 4.3). */
export interface EraMemory {
  isLegacy(record: McpServerRecord): Promise<boolean>;
  /** After a verdict that came from silence or exit. Never rejects: a lost memory costs one more probe. */
  rememberLegacy(record: McpServerRecord): Promise<void>;
}

/** What a remembered verdict holds for: the same program, arguments and address. Hides their text. */
export function recordFingerprint(record: McpServerRecord): string {
  const parts = [
    record.name,
    record.type,
    record.command ?? null,
    record.args,
    record.url ?? null,
    Object.keys(record.env).toSorted(),
    Object.keys(record.headers).toSorted(),
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
