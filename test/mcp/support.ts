import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';
import type { BusEvent } from '../../src/bus/events.ts';
import type { ContributionRegistry } from '../../src/protocol/contributions.ts';
import type { LogFields, Logger, LogLevel } from '../../src/protocol/deps.ts';
import { isEngineError } from '../../src/protocol/error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import type { McpServerInput } from '../../src/protocol/mcp.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import { openMcpConnection } from '../../src/mcp/connect.ts';
import type { ConnectDeps } from '../../src/mcp/connect-deps.ts';
import type { McpConnection } from '../../src/mcp/connection.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';

/** Lets tests wait for a condition that can only come true when something was told. */
export interface SignalBox {
  notify(): void;
  until(condition: () => boolean): Promise<void>;
}

export function createSignalBox(): SignalBox {
  let waiting: (() => void)[] = [];
  return {
    notify() {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    async until(condition) {
      while (!condition()) await new Promise<void>((resolve) => waiting.push(resolve));
    },
  };
}

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface RecordingLogger extends Logger {
  readonly lines: readonly LogLine[];
  find(message: string): readonly LogFields[];
  /** Settles when a line with this message has been written. */
  written(message: string): Promise<void>;
}

export function createRecordingLogger(): RecordingLogger {
  const lines: LogLine[] = [];
  const changes = createSignalBox();
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields });
      changes.notify();
    };
  return {
    lines,
    find: (message) => lines.filter((line) => line.message === message).map((line) => line.fields),
    written: (message) => changes.until(() => lines.some((line) => line.message === message)),
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}

/** A step of the scripted server; see the fixture. */
export type Step = JsonObject;
export type Script = { readonly [key: string]: readonly Step[] | boolean };

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export function onCleanup(work: () => Promise<void> | void): void {
  cleanups.push(work);
}

export function tempFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'vibe-mcp-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const fixtures = path.join(import.meta.dirname, '..', 'fixtures', 'mcp');

export interface ScriptedServer {
  readonly record: McpServerInput;
  /** What the server wrote down: one entry per start and per message received. */
  received(): readonly JsonObject[];
  methods(): readonly string[];
  starts(): readonly number[];
  children(): readonly number[];
  /** Settles when so many messages of a method (of any, without one) have arrived. */
  arrived(method?: string, count?: number): Promise<void>;
}

/** A record of a scripted server; `more` are further fields of the record. */
export function scriptedServer(script: Script, more: JsonObject = {}): ScriptedServer {
  const folder = tempFolder();
  const scriptFile = path.join(folder, 'script.json');
  const log = path.join(folder, 'log.jsonl');
  writeFileSync(scriptFile, JSON.stringify(script));
  writeFileSync(log, '');
  const received = (): readonly JsonObject[] =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as JsonObject);
  const numbers = (key: string): readonly number[] =>
    received().flatMap((entry) => (typeof entry[key] === 'number' ? [entry[key]] : []));
  return {
    record: {
      name: 'scripted',
      command: process.execPath,
      args: [path.join(fixtures, 'scripted-server.mjs'), scriptFile, log],
      sandbox: { read: [fixtures], write: [folder] },
      ...more,
    },
    received,
    methods: () => received().flatMap((entry) => (typeof entry['method'] === 'string' ? [entry['method']] : [])),
    starts: () => numbers('start'),
    children: () => numbers('child'),
    async arrived(method, count = 1) {
      const isThere = (): boolean =>
        received().filter(
          (entry) => typeof entry['method'] === 'string' && (method ?? entry['method']) === entry['method'],
        ).length >= count;
      const changes = createSignalBox();
      const watcher = watch(log, () => changes.notify());
      try {
        await changes.until(isThere);
      } finally {
        watcher.close();
      }
    },
  };
}

export const modernDiscover = discoverOf({ tools: {} });

/** The answer of a modern server that can do this. */
export function discoverOf(capabilities: JsonObject): Step {
  return {
    result: {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities,
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1.0.0' } },
    },
  };
}

export const legacyInitialize: Step = {
  result: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'scripted', version: '1.0.0' },
  },
};

export function tool(name: string, more: JsonObject = {}): JsonObject {
  return { name, description: `does ${name}`, inputSchema: { type: 'object' }, ...more };
}

export function toolPage(tools: readonly Json[], more: JsonObject = {}): Step {
  return { result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', tools, ...more } };
}

export function callResult(text: string, more: JsonObject = {}): Step {
  return { result: { resultType: 'complete', content: [{ type: 'text', text }], ...more } };
}

/** A server of the modern era with a `work` tool; `more` replaces or adds keys. */
export function modernScript(more: Script = {}): Script {
  return {
    'server/discover': [modernDiscover],
    'tools/list': [toolPage([tool('work')])],
    'tools/call': [callResult('done')],
    ...more,
  };
}

export function legacyScript(more: Script = {}): Script {
  return {
    initialize: [legacyInitialize],
    'tools/list': [{ result: { tools: [tool('work')] } }],
    'tools/call': [{ result: { content: [{ type: 'text', text: 'done' }] } }],
    ...more,
  };
}

export function connectDeps(more: Partial<ConnectDeps> = {}): ConnectDeps & { readonly logger: Logger } {
  const folder = tmpdir();
  return {
    clock: systemClock,
    logger: createRecordingLogger(),
    identity: { name: 'vibe-bus', version: '0.1.0' },
    env: process.env,
    newMarker: () => randomUUID(),
    workspaceFolder: folder,
    userHome: folder,
    folder,
    fetch: globalThis.fetch,
    ...more,
  };
}

/** Connects and ends the connection after the test. */
export async function connect(record: McpServerInput, more: Partial<ConnectDeps> = {}): Promise<McpConnection> {
  const connection = await openMcpConnection(requireServerRecord(record), connectDeps(more));
  onCleanup(async () => {
    await connection.stop();
  });
  return connection;
}

/** The code and text a promise is rejected with; fails the test when it is not. */
export async function failureOf(
  work: Promise<unknown>,
): Promise<{ readonly code: string; readonly message: string; readonly data: unknown }> {
  try {
    await work;
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return { code: error.code, message: error.message, data: error.data };
  }
  throw new Error('expected a rejection');
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // why: an ended process that nobody has collected yet still has a pid
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return !stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
}

export interface RecordingRegistry extends ContributionRegistry {
  readonly tools: ReadonlyMap<string, Tool>;
}

export function createRecordingRegistry(): RecordingRegistry {
  const tools = new Map<string, Tool>();
  return {
    tools,
    registerTool(entry) {
      const replaced = tools.has(entry.name);
      tools.set(entry.name, entry);
      return { replaced };
    },
    removeTool(name, owner) {
      if (tools.get(name)?.owner === owner) tools.delete(name);
    },
    registerAgent: () => {},
    registerHooks: () => {},
    registerProvider: () => {},
  };
}

/** Remembers events and lets a test wait for one. */
export interface EventLog {
  readonly events: readonly BusEvent[];
  publish(event: BusEvent): void;
  ofType<T extends BusEvent['type']>(type: T): readonly BusEvent<T>[];
  /** The next event of a type that was not waited for yet. */
  next<T extends BusEvent['type']>(type: T): Promise<BusEvent<T>>;
}

export function createEventLog(): EventLog {
  const events: BusEvent[] = [];
  const taken = new Map<string, number>();
  let wake: (() => void)[] = [];
  const ofType = <T extends BusEvent['type']>(type: T): readonly BusEvent<T>[] =>
    events.filter((event): event is BusEvent<T> => event.type === type);
  return {
    events,
    ofType,
    publish(event) {
      events.push(event);
      const waiting = wake;
      wake = [];
      for (const go of waiting) go();
    },
    async next(type) {
      const index = taken.get(type) ?? 0;
      taken.set(type, index + 1);
      for (;;) {
        const found = ofType(type)[index];
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => wake.push(resolve));
      }
    },
  };
}

export function textOf(content: readonly Json[]): string {
  return content
    .map((block) => (isJsonObject(block) && typeof block['text'] === 'string' ? block['text'] : ''))
    .join('\n');
}
