import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createHooks, type Hooks } from '../../src/bus/hooks.ts';
import type { PluginDeclaration } from '../../src/plugins/declaration.ts';
import { createPluginHost, type PluginHost } from '../../src/plugins/host.ts';
import type { NativePlugin } from '../../src/plugins/native.ts';
import type { PluginHostSettings } from '../../src/plugins/settings.ts';
import type { PluginRegistry } from '../../src/plugins/tool-placement.ts';
import type { AgentSpec } from '../../src/protocol/agent.ts';
import type { Logger, LogLevel } from '../../src/protocol/deps.ts';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import type { Tool } from '../../src/protocol/tool.ts';
import type { PluginEvent } from '../../src/protocol/vpp.ts';
import { createToolRegistry } from '../../src/tools/registry.ts';
import { fillPlaces, type Places, textOf } from './vpp-pattern.ts';

export interface LogRecord {
  readonly level: LogLevel;
  readonly message: string;
  readonly plugin?: unknown;
}

/** A host built from one vector, and everything that can be seen of it. */
export interface Scene {
  readonly host: PluginHost;
  readonly hooks: Hooks;
  readonly places: Places;
  readonly declarations: readonly PluginDeclaration[];
  readonly logs: readonly LogRecord[];
  readonly events: readonly PluginEvent[];
  /** A tool by name, also when it is no longer registered. */
  findTool(name: string): Tool | undefined;
  toolRows(): readonly object[];
  agents(): readonly AgentSpec[];
  /** What a scripted plugin wrote down, oldest first. */
  transcript(key: string): Promise<readonly JsonObject[]>;
  readonly pluginKeys: readonly string[];
  remove(): Promise<void>;
}

interface SceneOptions {
  readonly file: string;
  readonly vector: JsonObject;
  readonly tickMs: number;
}

const timeoutTicks: { readonly [name: string]: number } = { default: 40, toolCall: 40, shutdownGrace: 10 };

export async function createScene({ file, vector, tickMs }: SceneOptions): Promise<Scene> {
  // why: the first start of a process loads this for good, and no vector shall pay for it
  await import('execa');
  const tmp = await realpath(await mkdtemp(path.join(tmpdir(), 'vpp-')));
  const records = path.join(await realpath(await mkdtemp(path.join(tmpdir(), 'vpp-transcripts-'))));
  const ticks = readTimeouts(vector);
  const places = new Map([
    ['tmp', tmp],
    ['node', process.execPath],
    ...Object.entries(ticks).map(([name, count]): [string, string] => [
      `seconds:${name}`,
      String((count * tickMs) / 1_000),
    ]),
  ]);
  const script = await findScript(file);
  const plugins = objects(vector['plugins']);
  const commandOf = (key: string): string[] => [
    process.execPath,
    script,
    file,
    textOf(vector['id']),
    '--plugin',
    key,
    '--tick',
    String(tickMs),
    '--transcript',
    path.join(records, `${key}.jsonl`),
  ];
  await layOut(vector, tmp, commandOf);

  const logs: LogRecord[] = [];
  const events: PluginEvent[] = [];
  const logger = recordLogs(logs);
  const hooks = createHooks({ logger });
  const tools = createToolRegistry();
  const agents = new Map<string, AgentSpec>();
  const seen = new Map<string, Tool>();
  const registry: PluginRegistry = {
    findTool: (name) => tools.get(name),
    registerTool(tool) {
      seen.set(tool.name, tool);
      return { replaced: tools.register(tool).replaced !== undefined };
    },
    removeTool: (name, owner) => tools.remove(name, owner),
    registerAgent: (spec) => void agents.set(spec.role, spec),
    registerHooks: (set) => void hooks.register(set),
    registerProvider: () => {},
  };
  const host = createPluginHost({
    ...readSettings(vector, tickMs, ticks),
    registry,
    logger,
    projectRoot: tmp,
    publish: (event) => void events.push(event),
  });
  for (const native of objects(vector['natives'])) host.addNative(toNative(native));

  return {
    host,
    hooks,
    places,
    declarations: plugins.map((plugin) => toDeclaration(plugin, places, commandOf)),
    logs,
    events,
    findTool: (name) => tools.get(name) ?? seen.get(name),
    toolRows: () =>
      tools.list().map((tool) => ({
        name: tool.name,
        description: tool.description,
        input_schema: tool.input_schema,
        mutating: tool.is_mutating ?? false,
        plugin: tool.owner,
      })),
    agents: () => [...agents.values()],
    pluginKeys: plugins.map(keyOf),
    transcript: (key) => readTranscript(path.join(records, `${key}.jsonl`)),
    async remove() {
      await rm(tmp, { recursive: true, force: true });
      await rm(records, { recursive: true, force: true });
    },
  };
}

function readTimeouts(vector: JsonObject): { readonly [name: string]: number } {
  const own = isJsonObject(vector['timeouts']) ? vector['timeouts'] : {};
  const ticks: { [name: string]: number } = { ...timeoutTicks };
  for (const [name, count] of Object.entries(own)) ticks[name] = Number(count);
  ticks['hook'] ??= ticks['default'] ?? 0;
  return ticks;
}

function readSettings(
  vector: JsonObject,
  tickMs: number,
  ticks: { readonly [name: string]: number },
): PluginHostSettings {
  const options = isJsonObject(vector['options']) ? vector['options'] : {};
  const timeouts = Object.fromEntries(Object.entries(ticks).map(([name, count]) => [name, count * tickMs]));
  let settings: PluginHostSettings = { timeouts };
  for (const [name, value] of Object.entries(options)) {
    const table = isJsonObject(value) ? value : {};
    switch (name) {
      case 'maxLineBytes':
        settings = { ...settings, maxLineBytes: Number(value) };
        break;
      case 'envPolicy':
        settings = { ...settings, envPolicy: value === 'minimal' ? 'minimal' : 'inherit' };
        break;
      case 'termGraceTicks':
        settings = { ...settings, timeouts: { ...settings.timeouts, termGrace: Number(value) * tickMs } };
        break;
      case 'restart': {
        const delay = Number(table['delayTicks']) * tickMs;
        const policy = table['policy'] === 'on-failure' ? 'on-failure' : 'never';
        const restart = { policy, max: Number(table['max']), firstDelayMs: delay, longestDelayMs: delay } as const;
        settings = { ...settings, restart };
        break;
      }
      case 'stderr': {
        const perSecond = (Number(table['perTick']) * 1_000) / tickMs;
        settings = { ...settings, stderr: { burst: Number(table['burst']), perSecond } };
        break;
      }
      default:
        throw new Error(`unknown option ${name}`);
    }
  }
  const added = isJsonObject(vector['hostEnv']) ? vector['hostEnv'] : {};
  const environment: { [name: string]: string | undefined } = { ...process.env };
  for (const [name, value] of Object.entries(added)) environment[name] = textOf(value);
  return { ...settings, environment };
}

async function layOut(vector: JsonObject, tmp: string, commandOf: (key: string) => string[]): Promise<void> {
  for (const dir of Array.isArray(vector['dirs']) ? vector['dirs'] : []) {
    await mkdir(path.join(tmp, textOf(dir)), { recursive: true });
  }
  const launchers = isJsonObject(vector['launchers']) ? vector['launchers'] : {};
  for (const [place, key] of Object.entries(launchers)) {
    const target = path.join(tmp, place);
    const words = commandOf(textOf(key)).map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
    await chmod(target, 0o755);
  }
}

function toDeclaration(plugin: JsonObject, places: Places, commandOf: (key: string) => string[]): PluginDeclaration {
  const filled = fillPlaces({ ...plugin, script: null }, places) as JsonObject;
  const { name, required, cwd, restart, env_policy, cancel } = filled;
  const command = Array.isArray(filled['command']) ? filled['command'].map(textOf) : commandOf(keyOf(plugin));
  const env = isJsonObject(filled['env']) ? filled['env'] : undefined;
  return {
    name: textOf(name),
    command,
    ...(env === undefined ? {} : { env: Object.fromEntries(Object.entries(env).map(([k, v]) => [k, textOf(v)])) }),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(typeof required === 'boolean' ? { required } : {}),
    ...(restart === 'never' || restart === 'on-failure' ? { restart } : {}),
    ...(env_policy === 'inherit' || env_policy === 'minimal' ? { env_policy } : {}),
    ...(typeof cancel === 'boolean' ? { cancel } : {}),
  };
}

function toNative(native: JsonObject): NativePlugin {
  const name = textOf(native['name']);
  const vetoes = isJsonObject(native['hook']) ? native['hook'] : undefined;
  return {
    name,
    ...(typeof native['version'] === 'string' ? { version: native['version'] } : {}),
    register(registry) {
      for (const tool of objects(native['tools'])) {
        const description = typeof tool['description'] === 'string' ? tool['description'] : '';
        const input_schema = { type: 'object' };
        registry.registerTool({ name: textOf(tool['name']), description, input_schema, call: () => 'native' });
      }
      if (vetoes === undefined) return;
      registry.registerHooks({
        name,
        beforeTool: ({ tool }) => (Object.hasOwn(vetoes, tool) ? { abort: textOf(vetoes[tool]) } : undefined),
      });
    },
  };
}

/** A logger that keeps every line as data. */
export function recordLogs(logs: LogRecord[]): Logger {
  const at =
    (level: LogLevel): Logger[LogLevel] =>
    (message, fields) =>
      void logs.push({ level, message, ...(fields?.['plugin'] === undefined ? {} : { plugin: fields['plugin'] }) });
  return { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

async function readTranscript(file: string): Promise<readonly JsonObject[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
}

/** The program the vectors come with: beside the file, else the project's copy. */
async function findScript(file: string): Promise<string> {
  const beside = path.join(path.dirname(file), 'scripted-plugin.mjs');
  const own = path.join(import.meta.dirname, '../../test/vectors/vpp/scripted-plugin.mjs');
  return await readFile(beside).then(
    () => beside,
    () => own,
  );
}

export function keyOf(plugin: JsonObject): string {
  return textOf(plugin['key'] ?? plugin['name']);
}

export function objects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Whether a process runs; one that ended but was not collected yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform !== 'linux';
  }
}
