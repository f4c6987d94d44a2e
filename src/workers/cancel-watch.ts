import type { RunLink } from './run-link.ts';

/** What can be done about threads. */
export interface ThreadEnds {
  /** Whether a thread is there and has said hello. */
  isOpen(thread: number): boolean;
  end(thread: number): void;
}

/**
 * Watches a run that was told to end at once. A thread that does not even read its messages is stuck in a computation; only its
 * end ends the run.
 * @returns stops the watch
 */
export function watchCancel(
  link: Pick<RunLink, 'hasHeardCancel' | 'thread' | 'sentTo'>,
  periodMs: number,
  threads: ThreadEnds,
): () => void {
  let looks = 0;
  let timer = setTimeout(look, periodMs);

  function look(): void {
    if (link.hasHeardCancel) return;
    const thread = link.thread ?? link.sentTo;
    const isThere = thread !== undefined && threads.isOpen(thread);
    if (isThere) looks += 1;
    // why: when this thread was busy, the first the run said may wait unread, and the cancel waits for that
    const isEarly = link.thread === undefined && looks < 2;
    if (isThere && !isEarly) threads.end(thread);
    else timer = setTimeout(look, periodMs);
  }

  return () => clearTimeout(timer);
}
