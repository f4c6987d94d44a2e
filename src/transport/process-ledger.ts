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
  /** Ends what carries a marker, wherever it is; absent: only groups are ended. */
  readonly endMarked?: (marker: string) => Promise<unknown>;
}

/**
 * The processes of one engine, on disk, so that the next start can end those which outlived a killed engine. Trouble with
 * the files is logged and otherwise ignored: the ledger is a safety net, not a condition.
 */
export interface ProcessLedger {
  /**
   * Writes a child down that has just started.
   * @param marker what all of its descendants carry in their environment, by which those that left its group are found
   */
  add(pid: number, marker?: string): void;
  remove(pid: number): void;
  /** A clean end: removes the file. */
  close(): void;
}

/**
 * `<pid>.<start time>.<id>.ledger`: the engine stands in the name, so that a file of which nothing can be read - empty, cut,
 * damaged - still belongs to somebody and goes when that one is gone.
 */
const filePattern = /^([1-9]\d{0,9})\.([\w-]+)\.[0-9a-f-]{36}\.ledger$/;

export async function openProcessLedger(deps: ProcessLedgerDeps): Promise<ProcessLedger> {
  const own = await deps.startTimeOf(process.pid);
  // why: where the system tells no start times no child is written down, and so there is never a file
  const file = path.join(deps.folder, `${process.pid}.${own ?? 'unknown'}.${randomUUID()}.ledger`);
  let exists = false;

  function append(line: string): void {
    try {
      if (!exists) mkdirSync(deps.folder, { recursive: true, mode: 0o700 });
      // why: synchronous, a few microseconds: a kill right after the start of a child must find it on disk
      appendFileSync(file, line, { mode: 0o600 });
      exists = true;
    } catch (error) {
      deps.logger.debug(`cannot write ${file}: ${messageOf(error)}`);
    }
  }

  const running = new Set<number>();

  async function writeDown(pid: number, marker: string | undefined): Promise<void> {
    if (own === undefined) return;
    const start = await deps.startTimeOf(pid).catch(() => undefined);
    if (start !== undefined && running.has(pid))
      append(`+ ${pid} ${start}${marker === undefined ? '' : ` ${marker}`}\n`);
  }

  return {
    add(pid, marker) {
      running.add(pid);
      void writeDown(pid, marker); // handles its own failures
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
  for (const { file, engine } of await listLedgers(deps.folder)) {
    if ((await deps.startTimeOf(engine.pid)) === engine.start) continue;
    for (const entry of parseChildren(await readFile(file, 'utf8').catch(() => ''))) {
      if (entry.marker !== undefined) await deps.endMarked?.(entry.marker);
      if ((await deps.startTimeOf(entry.pid)) !== entry.start) continue;
      signalGroup(entry.pid, 'SIGKILL');
      ended.push(entry.pid);
      deps.logger.warn(`ended process ${entry.pid}, left behind by an engine that was killed`, { pid: entry.pid });
    }
    await rm(file, { force: true }).catch((error: unknown) => {
      deps.logger.debug(`cannot remove ${file}: ${messageOf(error)}`);
    });
  }
  return ended;
}

interface LedgerEntry {
  readonly pid: number;
  readonly start: string;
}

interface LedgerChild extends LedgerEntry {
  readonly marker: string | undefined;
}

async function listLedgers(folder: string): Promise<readonly { file: string; engine: LedgerEntry }[]> {
  const names = await readdir(folder).catch(() => []);
  return names.flatMap((name) => {
    const engine = parseEntry(filePattern.exec(name));
    return engine === undefined ? [] : [{ file: path.join(folder, name), engine }];
  });
}

/** Lines that are cut or damaged are passed over. */
function parseChildren(text: string): readonly LedgerChild[] {
  const children = new Map<number, LedgerChild>();
  for (const line of text.split('\n').slice(0, -1)) {
    const match = /^\+ ([1-9]\d{0,9}) (\S+)(?: ([\w-]{1,64}))?$/.exec(line);
    const started = parseEntry(match);
    if (started !== undefined) children.set(started.pid, { ...started, marker: match?.[3] });
    const gone = /^- ([1-9]\d{0,9})$/.exec(line)?.[1];
    if (gone !== undefined) children.delete(Number(gone));
  }
  return [...children.values()];
}

function parseEntry(match: RegExpExecArray | null): LedgerEntry | undefined {
  const [, pid, start] = match ?? [];
  return pid === undefined || start === undefined ? undefined : { pid: Number(pid), start };
}
