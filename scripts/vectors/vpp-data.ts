import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PluginDeclaration } from '../../src/plugins/declaration.ts';
import { discoverPlugins } from '../../src/plugins/discovery.ts';
import { parsePluginManifest, readPluginManifest } from '../../src/plugins/manifest.ts';
import { resolveProgram } from '../../src/plugins/program.ts';
import { isEngineError, messageOf } from '../../src/protocol/error.ts';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import { parseMessage } from '../../src/protocol/jsonrpc.ts';
import {
  readAgentSpec,
  readHookAnswer,
  readInitialize,
  readLogParams,
  readToolDescriptor,
  readToolResult,
} from '../../src/protocol/vpp-read.ts';
import type { VectorCase, VectorFile } from './types.ts';
import { type LogRecord, objects, recordLogs } from './vpp-scene.ts';
import { mismatch, type Places, show, textOf } from './vpp-pattern.ts';

const noPlaces: Places = new Map();

function rows(file: VectorFile, play: (vector: JsonObject) => Promise<readonly string[]>): readonly VectorCase[] {
  return objects(file.data['vectors']).map((vector) => ({
    id: textOf(vector['id']),
    weight: 'many',
    play: () => play(vector),
  }));
}

/** Readers of single values. */
export function playParse(file: VectorFile): readonly VectorCase[] {
  return rows(file, (vector) => Promise.resolve(playParseRow(vector)));
}

const readers = new Map<string, (vector: JsonObject) => unknown>([
  ['message', (vector) => readMessage(textOf(vector['line']))],
  ['initialize_result', (vector) => readInitialize(vector['input'])],
  ['tool_descriptor', (vector) => readToolDescriptor(vector['input'])],
  ['tool_result', (vector) => readToolResult(vector['input'])],
  ['hook_result', (vector) => readHookAnswer(vector['input'])],
  ['log_params', (vector) => readLogParams(vector['input'])],
  ['agent_spec', (vector) => readAgentSpec(vector['input'])],
]);

function readMessage(line: string): unknown {
  const message = parseMessage(line);
  if (message.kind === 'invalid') throw new Error(message.detail);
  return message;
}

function playParseRow(vector: JsonObject): readonly string[] {
  const read = readers.get(textOf(vector['type']));
  if (read === undefined) return [`unknown type ${show(vector['type'])}`];
  let value: unknown;
  try {
    value = read(vector);
  } catch (error) {
    return vector['invalid'] === true ? [] : [`refused: ${messageOf(error)}`];
  }
  if (vector['invalid'] === true) return [`accepted as ${show(value)}`];
  return toList(mismatch(vector['expect'], value, noPlaces));
}

/** Manifests: text to declaration. */
export function playManifest(file: VectorFile): readonly VectorCase[] {
  return rows(file, (vector) =>
    inFolder(async (dir) => {
      const places = new Map([['dir', dir]]);
      const text = textOf(vector['toml']);
      const outcome = await settle(async () => {
        if (typeof vector['load'] !== 'string') return parsePluginManifest(text, dir);
        const manifest = path.join(dir, vector['load']);
        await writeFile(manifest, text);
        return await readPluginManifest(manifest);
      });
      return compare(vector, outcome, places);
    }),
  );
}

/** File trees and inline declarations to the merged list. */
export function playDiscovery(file: VectorFile): readonly VectorCase[] {
  return rows(file, (vector) =>
    inFolder(async (tmp) => {
      const places = new Map([['tmp', tmp]]);
      await layOut(vector, tmp);
      const logs: LogRecord[] = [];
      const projectRoot = path.join(tmp, 'proj');
      const outcome = await settle(() =>
        discoverPlugins({
          projectRoot,
          inline: objects(vector['inline']).map(toDeclaration),
          folders: [path.join(projectRoot, '.vibe/plugins'), path.join(tmp, 'user/vibe/plugins')],
          logger: recordLogs(logs),
        }),
      );
      const missing = objects(vector['logs']).filter(
        (pattern) => !logs.some((record) => mismatch(pattern, record, places) === undefined),
      );
      return [
        ...compare(vector, outcome, places),
        ...missing.map((pattern) => `no log line matches ${show(pattern)} in ${show(logs)}`),
      ];
    }),
  );
}

async function layOut(vector: JsonObject, tmp: string): Promise<void> {
  const files = isJsonObject(vector['files']) ? vector['files'] : {};
  for (const [place, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(tmp, place)), { recursive: true });
    await writeFile(path.join(tmp, place), textOf(text));
  }
  const links = isJsonObject(vector['links']) ? vector['links'] : {};
  for (const [place, target] of Object.entries(links)) {
    await mkdir(path.dirname(path.join(tmp, place)), { recursive: true });
    await symlink(textOf(target), path.join(tmp, place));
  }
}

function toDeclaration(entry: JsonObject): PluginDeclaration {
  const { name, command, cwd, required } = entry;
  return {
    name: textOf(name),
    command: Array.isArray(command) ? command.map(textOf) : [],
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(typeof required === 'boolean' ? { required } : {}),
  };
}

/** Programs and working directories to what is started. */
export function playResolve(file: VectorFile): readonly VectorCase[] {
  return rows(file, (vector) => {
    const platform = vector['platform'] === 'win32' ? 'win32' : 'linux';
    const resolved = resolveProgram(textOf(vector['program']), textOf(vector['cwd']), platform);
    return Promise.resolve(toList(mismatch(vector['expect'], resolved, noPlaces)));
  });
}

type Outcome = { readonly value: unknown } | { readonly error: { readonly kind: string; readonly message: string } };

async function settle(work: () => Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await work() };
  } catch (error) {
    return { error: { kind: isEngineError(error) ? error.kind : 'unknown', message: messageOf(error) } };
  }
}

function compare(vector: JsonObject, outcome: Outcome, places: Places): readonly string[] {
  if ('error' in outcome) {
    return vector['error'] === undefined
      ? [`failed: ${outcome.error.message}`]
      : toList(mismatch(vector['error'], outcome.error, places));
  }
  if (vector['error'] !== undefined) return [`expected an error, got ${show(outcome.value)}`];
  return toList(mismatch(vector['expect'], outcome.value, places));
}

async function inFolder(work: (dir: string) => Promise<readonly string[]>): Promise<readonly string[]> {
  const dir = await realpath(await mkdtemp(path.join(tmpdir(), 'vpp-')));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

function toList(difference: string | undefined): readonly string[] {
  return difference === undefined ? [] : [difference];
}
