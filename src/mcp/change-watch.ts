import type { Clock, Logger } from '../protocol/deps.ts';
import { codeOf } from './errors.ts';
import { childSignal } from '../protocol/signal.ts';
import type { McpClient } from './client.ts';

/** Quiet after a notice before the list is asked for again, in milliseconds (mcp-host 6.4). */
const quietMs = 250;
/** A server that never stops sending notices is asked at least this often, in milliseconds. */
const maxDelayMs = 5_000;
const firstReopenMs = 1_000;
const maxReopenMs = 60_000;

export interface ChangeWatchOptions {
  readonly server: string;
  readonly client: McpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called at once for every notice: what is kept of the list is old. */
  readonly onNotice: () => void;
  /** Called once the notices have come to rest. */
  readonly onQuiet: () => void;
}

export interface ChangeWatch extends Disposable {
  /** Opens the stream of notices, where the era has one; later calls do nothing. */
  open(): void;
}

/** Listens for changes of the tool list in both eras (mcp-host 6.4). */
export function createChangeWatch(options: ChangeWatchOptions): ChangeWatch {
  const { client, clock } = options;
  const end = childSignal(undefined);
  let wait: AbortController | undefined;
  let firstNotice = 0;
  let isOpen = false;

  if (client.announcesChanges('tools') || client.era === 'legacy') client.onToolsChanged(notice);

  function notice(): void {
    if (end.signal.aborted) return;
    options.onNotice();
    const now = clock.elapsed();
    if (wait === undefined) firstNotice = now;
    wait?.abort();
    const mine = new AbortController();
    wait = mine;
    const delay = Math.max(0, Math.min(quietMs, firstNotice + maxDelayMs - now));
    clock.sleep(delay, mine.signal).then(
      () => {
        wait = undefined;
        if (!end.signal.aborted) options.onQuiet();
      },
      () => {
        // why: replaced by a later notice, or the connection is gone
      },
    );
  }

  async function keepListening(): Promise<void> {
    let delay = firstReopenMs;
    while (!end.signal.aborted) {
      const subscription = await client.listen(end.signal);
      const opened = clock.elapsed();
      const reason = await subscription.closed;
      if (reason === 'local') return;
      if (clock.elapsed() - opened > maxReopenMs) delay = firstReopenMs;
      await clock.sleep(delay, end.signal);
      delay = Math.min(delay * 2, maxReopenMs);
      // why: what changed while nobody listened was not told
      notice();
    }
  }

  return {
    open() {
      if (isOpen || client.era === 'legacy' || !client.announcesChanges('tools')) return;
      isOpen = true;
      keepListening().catch((error: unknown) => {
        if (end.signal.aborted) return;
        options.logger.warn('mcp.server.listen.failed', {
          server_name: options.server,
          error_code: codeOf(error),
        });
      });
    },
    [Symbol.dispose]() {
      end.abort(new Error('connection ended'));
      end[Symbol.dispose]();
      wait?.abort();
    },
  };
}
