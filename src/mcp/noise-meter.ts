import type { Clock, Logger } from '../protocol/deps.ts';
import { createWindowGate } from '../transport/flood-gate.ts';
import { toPrintable } from './log-text.ts';

export interface NoiseMeterOptions {
  readonly server: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  /** Called once when there is so much that the program cannot be a server. */
  readonly onFlood: () => void;
}

/** Counts what a server prints besides messages (FR4, mcp-host 13.1). */
export interface NoiseMeter {
  add(text: string, bytes: number): void;
  /** A real message came: what was printed so far was a banner. */
  valid(): void;
  /** Logs what was counted since the last line, if the minute allows. */
  report(): void;
  readonly total: { readonly lines: number; readonly bytes: number };
  /** The first five lines, cut to 1 024 characters, for whoever looks for the cause. */
  readonly first: readonly string[];
}

const maxNoiseLines = 100_000;
const maxNoiseBytes = 64 * 1024 * 1024;
const keptLines = 5;
const keptCharacters = 1_024;
const reportEveryMs = 60_000;

export function createNoiseMeter(options: NoiseMeterOptions): NoiseMeter {
  const { clock, logger, server } = options;
  const reports = createWindowGate(1, reportEveryMs, clock.elapsed);
  const shown = createWindowGate(20, 60_000, clock.elapsed);
  const first: string[] = [];
  const total = { lines: 0, bytes: 0 };
  let sinceValid = { lines: 0, bytes: 0 };
  let reported = { lines: 0, bytes: 0 };
  let isFlooded = false;

  function report(): void {
    if (total.lines === reported.lines || !reports.admit()) return;
    logger.warn('mcp.server.noise', {
      server_name: server,
      lines: total.lines - reported.lines,
      bytes: total.bytes - reported.bytes,
    });
    reported = { ...total };
  }

  return {
    total,
    first,
    report,
    add(text, bytes) {
      total.lines += 1;
      total.bytes += bytes;
      sinceValid.lines += 1;
      sinceValid.bytes += bytes;
      if (first.length < keptLines || shown.admit()) {
        const line = toPrintable(options.redact(text.slice(0, keptCharacters)));
        if (first.length < keptLines) first.push(line);
        logger.debug('mcp.server.noise.line', { server_name: server, line });
      }
      report();
      if (!isFlooded && (sinceValid.lines > maxNoiseLines || sinceValid.bytes > maxNoiseBytes)) {
        isFlooded = true;
        options.onFlood();
      }
    },
    valid() {
      sinceValid = { lines: 0, bytes: 0 };
    },
  };
}
