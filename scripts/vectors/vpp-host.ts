import { setTimeout as sleep } from 'node:timers/promises';
import { isEngineError, messageOf } from '../../src/protocol/error.ts';
import { absentCallId } from '../../src/protocol/ids.ts';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import type { ToolContext } from '../../src/protocol/tool.ts';
import type { PlayOptions, VectorCase, VectorFile } from './types.ts';
import { evaluate, isCheck, processesOf } from './vpp-checks.ts';
import { expandInput, fillPlaces, mismatch, show, textOf } from './vpp-pattern.ts';
import { createScene, isRunning, keyOf, objects, type Scene } from './vpp-scene.ts';

/** Host vectors: a real host, real child processes. */
export function playHost(file: VectorFile): readonly VectorCase[] {
  return objects(file.data['vectors']).map((vector) => ({
    id: textOf(vector['id']),
    weight: isTimed(vector) ? 'alone' : 'few',
    play: (options) => playVector(file.path, vector, options),
  }));
}

/** Whether it says how long steps may take, or gives the host time limits of its own. */
function isTimed(vector: JsonObject): boolean {
  return 'timeouts' in vector || objects(vector['steps']).some((step) => 'maxTicks' in step);
}

const vectorKeys = new Set(
  'id title profile differs reference note requires plugins natives launchers dirs hostEnv options timeouts steps after'.split(
    ' ',
  ),
);

async function playVector(file: string, vector: JsonObject, options: PlayOptions): Promise<readonly string[]> {
  const unknown = Object.keys(vector).filter((key) => !vectorKeys.has(key));
  if (unknown.length > 0) return [`unknown keys ${unknown.join(', ')}`];
  const required = Array.isArray(vector['requires']) ? vector['requires'] : [];
  if (required.includes('posix') && process.platform === 'win32') return [];

  const accidents: string[] = [];
  const onAccident = (error: unknown): void => void accidents.push(`unhandled: ${messageOf(error)}`);
  process.on('unhandledRejection', onAccident);
  process.on('uncaughtException', onAccident);
  const scene = await createScene({ file, vector, tickMs: options.tickMs });
  try {
    const differences = await playSteps(scene, vector, options.tickMs);
    await scene.host.stop();
    if (isJsonObject(vector['after'])) differences.push(...(await evaluate(scene, vector['after'])));
    differences.push(...(await leftovers(scene)));
    return [...differences, ...accidents];
  } finally {
    await scene.host.stop();
    await scene.remove();
    process.off('unhandledRejection', onAccident);
    process.off('uncaughtException', onAccident);
  }
}

async function leftovers(scene: Scene): Promise<readonly string[]> {
  const found: string[] = [];
  for (const key of scene.pluginKeys) {
    for (const pid of await processesOf(scene, key)) {
      if (isRunning(pid)) found.push(`process ${pid} of ${key} is still there`);
    }
  }
  return found;
}

type Outcome = { readonly value: unknown } | { readonly error: { readonly kind: string; readonly message: string } };

interface Started {
  readonly outcome: Promise<Outcome>;
  readonly controller: AbortController;
  readonly expect: unknown;
}

async function playSteps(scene: Scene, vector: JsonObject, tickMs: number): Promise<string[]> {
  const started = new Map<string, Started>();
  const differences: string[] = [];
  for (const [index, step] of objects(vector['steps']).entries()) {
    const startedAt = performance.now();
    const found = await playStep(scene, vector, step, started, tickMs);
    const ticks = (performance.now() - startedAt) / tickMs;
    const { minTicks, maxTicks } = step;
    if (typeof minTicks === 'number' && ticks < minTicks)
      found.push(`took ${ticks.toFixed(1)} ticks, at least ${minTicks}`);
    if (typeof maxTicks === 'number' && ticks > maxTicks)
      found.push(`took ${ticks.toFixed(1)} ticks, at most ${maxTicks}`);
    differences.push(...found.map((text) => `step ${index + 1} (${textOf(step['op'])}): ${text}`));
  }
  return differences;
}

async function playStep(
  scene: Scene,
  vector: JsonObject,
  step: JsonObject,
  started: Map<string, Started>,
  tickMs: number,
): Promise<string[]> {
  switch (step['op']) {
    case 'load':
      return judge(await settle(load(scene, vector, step['only'])), step['expect'], scene);
    case 'call':
    case 'hook': {
      const running = start(scene, step);
      if (typeof step['start'] === 'string') {
        started.set(step['start'], running);
        return [];
      }
      return judge(await running.outcome, step['expect'], scene);
    }
    case 'calls': {
      const list = objects(step['list']);
      const all = list.map((entry) => start(scene, entry));
      const outcomes = await Promise.all(all.map((entry) => entry.outcome));
      return outcomes.flatMap((outcome, index) => judge(outcome, list[index]?.['expect'], scene));
    }
    case 'request': {
      const { plugin, method, params, timeout } = step;
      const timeoutMs = typeof timeout === 'number' ? timeout * tickMs : undefined;
      const given = isJsonObject(params) ? (expandInput(params) as JsonObject) : undefined;
      const request = scene.host.request(textOf(plugin), textOf(method), given, timeoutMs);
      return judge(await settle(request.then((result) => ({ result }))), step['expect'], scene);
    }
    case 'await': {
      const running = started.get(textOf(step['of']));
      if (running === undefined) return [`nothing started as ${show(step['of'])}`];
      return judge(await running.outcome, step['expect'] ?? running.expect, scene);
    }
    case 'cancel':
      started.get(textOf(step['of']))?.controller.abort();
      return [];
    case 'sleep':
      await sleep(Number(step['ticks']) * tickMs);
      return [];
    case 'check':
      return await check(scene, step, tickMs);
    case 'shutdown':
      await scene.host.stop();
      return [];
    default:
      return [`unknown step ${show(step['op'])}`];
  }
}

async function load(scene: Scene, vector: JsonObject, only: unknown): Promise<unknown> {
  const keys = objects(vector['plugins']).map(keyOf);
  const wanted = Array.isArray(only)
    ? scene.declarations.filter(({ name }, index) => only.includes(name) || only.includes(keys[index] ?? name))
    : scene.declarations;
  await scene.host.load(wanted);
  return {
    plugins: scene.host.records(),
    tools: scene.toolRows(),
    agents: scene.agents(),
    hooks: scene.hooks.names(),
  };
}

function start(scene: Scene, step: JsonObject): Started {
  const controller = new AbortController();
  const work = step['op'] === 'hook' ? askHooks(scene, step, controller) : callTool(scene, step, controller);
  return { outcome: settle(work), controller, expect: step['expect'] };
}

async function callTool(scene: Scene, step: JsonObject, controller: AbortController): Promise<unknown> {
  const tool = scene.findTool(textOf(step['tool']));
  if (tool === undefined) throw new Error(`no tool ${show(step['tool'])}`);
  return await tool.call(toInput(step), toContext(step, controller, scene));
}

async function askHooks(scene: Scene, step: JsonObject, controller: AbortController): Promise<unknown> {
  const context = toContext(step, controller, scene);
  const decision = await scene.hooks.runBeforeTool({ tool: textOf(step['tool']), input: toInput(step), context });
  return decision.kind === 'continue'
    ? { decision: 'continue' }
    : { decision: decision.kind, reason: `${decision.hook}: ${decision.reason}` };
}

function toInput(step: JsonObject): JsonObject {
  return isJsonObject(step['input']) ? (expandInput(step['input']) as JsonObject) : {};
}

function toContext(step: JsonObject, controller: AbortController, scene: Scene): ToolContext {
  const given = isJsonObject(step['context']) ? (fillPlaces(step['context'], scene.places) as JsonObject) : {};
  return {
    workspace_root: '/ws',
    agent: 'anonymous',
    permissions: { read: true, write: true, execute: true, network: false },
    call: absentCallId,
    signal: controller.signal,
    ...given,
  };
}

async function settle(work: Promise<unknown>): Promise<Outcome> {
  try {
    return { value: await work };
  } catch (error) {
    return { error: { kind: isEngineError(error) ? error.kind : 'unknown', message: messageOf(error) } };
  }
}

function judge(outcome: Outcome, expect: unknown, scene: Scene): string[] {
  if (isJsonObject(expect) && 'error' in expect) {
    if (!('error' in outcome)) return [`expected an error, got ${show(outcome.value)}`];
    const found = mismatch(expect['error'], outcome.error, scene.places, 'error');
    return found === undefined ? [] : [found];
  }
  if ('error' in outcome) return [`failed: ${outcome.error.kind}: ${outcome.error.message}`];
  if (expect === undefined) return [];
  const found = mismatch(expect, outcome.value, scene.places);
  return found === undefined ? [] : [found];
}

async function check(scene: Scene, step: JsonObject, tickMs: number): Promise<string[]> {
  const unknown = Object.keys(step).filter(
    (key) => !isCheck(key) && !['op', 'within', 'note', 'minTicks', 'maxTicks'].includes(key),
  );
  if (unknown.length > 0) return [`unknown checks ${unknown.join(', ')}`];
  const until = performance.now() + Number(step['within'] ?? 0) * tickMs;
  for (;;) {
    const found = await evaluate(scene, step);
    if (found.length === 0 || performance.now() >= until) return [...found];
    await sleep(Math.max(2, tickMs / 10));
  }
}
