import type { Clock, Logger } from '../protocol/deps.ts';
import { createWindowGate, type FloodGate } from '../transport/flood-gate.ts';
import { toPrintable } from './log-text.ts';

export interface NoiseMeterOptions {
  readonly server: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly redact: (text: string) => string;
  /** Default: limits of this process alone. */
  readonly limits?: NoiseLimits | undefined;
  /** Called once when there is so much that the program cannot be a server. */
  readonly onFlood: () => void;
}

/** How much of it is logged, for all starts of one server. */
export interface NoiseLimits {
  readonly reports: FloodGate;
  readonly lines: FloodGate;
}

/** What a server printed besides messages. */
export interface Noise {
  readonly lines: number;
  readonly bytes: number;
  /** The first five lines, cut to 1 024 characters, for whoever looks for the cause. */
  readonly first: readonly string[];
}

/** Counts what a server prints besides messages (FR4, mcp-host 13.1). */
export interface NoiseMeter {
  add(text: string, bytes: number): void;
  /** A real message came: what was printed so far was a banner. */
  valid(): void;
  /** Logs what was counted since the last line, if the minute allows. */
  report(): void;
  read(): Noise;
}

const maxNoiseLines = 100_000;
const maxNoiseBytes = 64 * 1024 * 1024;
const keptLines = 5;
const keptCharacters = 1_024;
const windowMs = 60_000;

/** One report and 20 lines a minute (mcp-host 12.2, FR4). */
export function createNoiseLimits(clock: Clock): NoiseLimits {
  return {
    reports: createWindowGate(1, windowMs, clock.elapsed),
    lines: createWindowGate(20, windowMs, clock.elapsed),
  };
}

export function createNoiseMeter(options: NoiseMeterOptions): NoiseMeter {
  const { clock, logger, server } = options;
  const limits = options.limits ?? createNoiseLimits(clock);
  const first: string[] = [];
  const total = { lines: 0, bytes: 0 };
  let sinceValid = { lines: 0, bytes: 0 };
  let reported = { lines: 0, bytes: 0 };
  let isFlooded = false;

  function report(): void {
    if (total.lines === reported.lines || !limits.reports.admit()) return;
    logger.warn('mcp.server.noise', {
      server_name: server,
      lines: total.lines - reported.lines,
      bytes: total.bytes - reported.bytes,
    });
    reported = { ...total };
  }

  return {
    read: () => ({ ...total, first: [...first] }),
    report,
    add(text, bytes) {
      total.lines += 1;
      total.bytes += bytes;
      sinceValid.lines += 1;
      sinceValid.bytes += bytes;
      const isKept = first.length < keptLines;
      const isLogged = limits.lines.admit();
      if (isKept || isLogged) {
        const line = toPrintable(options.redact(text.slice(0, keptCharacters)));
        if (isKept) first.push(line);
        if (isLogged) logger.debug('mcp.server.noise.line', { server_name: server, line });
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
