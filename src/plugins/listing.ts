import type { AgentSpec } from '../protocol/agent.ts';
import type { Logger } from '../protocol/deps.ts';
import { EngineError, isEngineError } from '../protocol/error.ts';
import { readAgents, readToolsPage } from '../protocol/vpp-read.ts';
import { type ToolDescriptor, vppMethods } from '../protocol/vpp.ts';
import { formatSeconds } from '../transport/duration.ts';
import type { RpcPeer } from '../transport/rpc-peer.ts';

export interface ListingDeps {
  readonly plugin: string;
  readonly peer: Pick<RpcPeer<never>, 'request'>;
  readonly logger: Logger;
  readonly elapsed: () => number;
  readonly maxPages: number;
  /** Of one page. */
  readonly timeoutMs: number;
  /** Of all pages. */
  readonly listingMs: number;
}

/**
 * All tools of a plugin, page by page. Ends with what it has after the last allowed page or at a cursor it has seen.
 * @throws EngineError `plugin`
 */
export async function listTools(deps: ListingDeps, signal?: AbortSignal): Promise<readonly ToolDescriptor[]> {
  const limit = deps.elapsed() + deps.listingMs;
  const seen = new Set<string>();
  const tools: ToolDescriptor[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages += 1) {
    const page = await listPage(deps, cursor, limit - deps.elapsed(), signal);
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor === undefined) return tools;
    if (seen.has(cursor)) {
      deps.logger.warn(`tools/list repeated a cursor; stopping after ${pages} pages`);
      return tools;
    }
    if (pages >= deps.maxPages) {
      deps.logger.warn(`tools/list stopped after ${pages} pages`);
      return tools;
    }
    seen.add(cursor);
  }
}

async function listPage(
  deps: ListingDeps,
  cursor: string | undefined,
  remainingMs: number,
  signal: AbortSignal | undefined,
): Promise<ReturnType<typeof readToolsPage>> {
  const timeoutMs = Math.min(deps.timeoutMs, Math.max(1, remainingMs));
  try {
    const params = cursor === undefined ? {} : { cursor };
    return await deps.peer.request(vppMethods.listTools, params, { timeoutMs, signal, read: readToolsPage });
  } catch (error) {
    const isLate = isEngineError(error) && error.code === 'timeout' && timeoutMs < deps.timeoutMs;
    if (!isLate) throw error;
    const seconds = formatSeconds(deps.listingMs);
    throw new EngineError('plugin', `plugin \`${deps.plugin}\` did not answer \`tools/list\` within ${seconds}s`, {
      code: 'timeout',
      cause: error,
    });
  }
}

/** @throws EngineError `plugin` */
export function listAgents(deps: ListingDeps, signal?: AbortSignal): Promise<readonly AgentSpec[]> {
  return deps.peer.request(vppMethods.listAgents, {}, { timeoutMs: deps.timeoutMs, signal, read: readAgents });
}
