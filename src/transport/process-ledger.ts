import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import { signalGroup } from './process-group.ts';

export interface ProcessLedgerDeps {
  /** A private folder, created when the first process is written down: `<config>/run`. */
  readonly folder: string;
  readonly logger: Logger;
  /** Tells a process from a later one with the same pid; undefined when it is gone or the system does not say. */
  readonly startTimeOf: (pid: number) => Promise<string | undefined>;
}

/**
 * The processes of one engine, on disk, so that the next start can end those which outlived a killed engine. Trouble with
 * the files is logged and otherwise ignored: the ledger is a safety net, not a condition.
 */
export interface ProcessLedger {
  /** Writes a child down that has just started. */
  add(pid: number): void;
  remove(pid: number): void;
  /** A clean end: removes the file. */
  close(): void;
}

const filePattern = /^[0-9a-f-]{36}\.ledger$/;

export async function openProcessLedger(deps: ProcessLedgerDeps): Promise<ProcessLedger> {
  const file = path.join(deps.folder, `${randomUUID()}.ledger`);
  const own = await deps.startTimeOf(process.pid);
  let exists = false;

  function append(line: string): void {
    try {
      if (!exists) {
        mkdirSync(deps.folder, { recursive: true, mode: 0o700 });
        appendFileSync(file, `engine ${process.pid} ${own ?? '-'}\n`, { mode: 0o600 });
        exists = true;
      }
      // why: synchronous, a few microseconds: a kill right after the start of a child must find it on disk
      appendFileSync(file, line);
    } catch (error) {
      deps.logger.debug(`cannot write ${file}: ${messageOf(error)}`);
    }
  }

  const running = new Set<number>();

  async function writeDown(pid: number): Promise<void> {
    const start = await deps.startTimeOf(pid).catch(() => undefined);
    if (start !== undefined && running.has(pid)) append(`+ ${pid} ${start}\n`);
  }

  return {
    add(pid) {
      running.add(pid);
      void writeDown(pid); // handles its own failures
    },
    remove(pid) {
      if (running.delete(pid) && exists) append(`- ${pid}\n`);
    },
    close() {
      running.clear();
      try {
        if (exists) rmSync(file, { force: true });
      } catch (error) {
        deps.logger.debug(`cannot remove ${file}: ${messageOf(error)}`);
      }
      exists = false;
    },
  };
}

/**
 * Ends what engines that no longer run have left behind, and removes their files. A process is ended only when both its
 * pid and its start time are those written down.
 * @returns the pids that were ended
 */
export async function reapSurvivors(deps: ProcessLedgerDeps): Promise<readonly number[]> {
  const ended: number[] = [];
  for (const name of await listLedgers(deps.folder)) {
    const file = path.join(deps.folder, name);
    const ledger = parseLedger(await readFile(file, 'utf8').catch(() => ''));
    if (ledger === undefined || (await isRunning(ledger.engine, deps))) continue;
    for (const entry of ledger.children) {
      if ((await deps.startTimeOf(entry.pid)) !== entry.start) continue;
      signalGroup(entry.pid, 'SIGKILL');
      ended.push(entry.pid);
      deps.logger.warn(`ended process ${entry.pid}, left behind by an engine that was killed`, { pid: entry.pid });
    }
    await rm(file, { force: true });
  }
  return ended;
}

interface LedgerEntry {
  readonly pid: number;
  readonly start: string;
}

async function listLedgers(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => filePattern.test(name));
}

/** An engine whose start time the system does not tell counts as running: better a survivor than a wrong kill. */
async function isRunning(engine: LedgerEntry, deps: ProcessLedgerDeps): Promise<boolean> {
  if (engine.start === '-') return true;
  return (await deps.startTimeOf(engine.pid)) === engine.start;
}

/** Undefined for a file without a whole first line. Later lines that are cut or damaged are passed over. */
function parseLedger(text: string): { engine: LedgerEntry; children: readonly LedgerEntry[] } | undefined {
  const lines = text.split('\n').slice(0, -1);
  const engine = parseEntry(/^engine ([1-9]\d{0,9}) (\S+)$/.exec(lines[0] ?? ''));
  if (engine === undefined) return undefined;
  const children = new Map<number, LedgerEntry>();
  for (const line of lines.slice(1)) {
    const started = parseEntry(/^\+ ([1-9]\d{0,9}) (\S+)$/.exec(line));
    if (started !== undefined) children.set(started.pid, started);
    const gone = /^- ([1-9]\d{0,9})$/.exec(line)?.[1];
    if (gone !== undefined) children.delete(Number(gone));
  }
  return { engine, children: [...children.values()] };
}

function parseEntry(match: RegExpExecArray | null): LedgerEntry | undefined {
  const [, pid, start] = match ?? [];
  return pid === undefined || start === undefined ? undefined : { pid: Number(pid), start };
}
