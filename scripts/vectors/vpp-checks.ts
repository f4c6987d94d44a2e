import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import { mismatch, missingInOrder, show, textOf } from './vpp-pattern.ts';
import { isRunning, type Scene } from './vpp-scene.ts';

type Check = (scene: Scene, expected: unknown) => Promise<readonly string[]> | readonly string[];

/** Every check a step or `after` may hold. */
const checks = new Map<string, Check>([
  ['logs', checkLogs],
  ['noLogs', checkNoLogs],
  ['maxLogs', checkMaxLogs],
  ['logsInOrder', (scene, expected) => inOrder('logsInOrder', expected, scene.logs, scene)],
  ['events', (scene, expected) => inOrder('events', expected, scene.events, scene)],
  ['received', checkReceived],
  ['receivedAll', checkReceivedAll],
  ['notReceived', checkNotReceived],
  ['receivedCount', checkReceivedCount],
  ['peer', checkPeer],
  ['alive', checkAlive],
  ['plugins', (scene, expected) => same('plugins', expected, scene.host.records(), scene)],
  ['tools', (scene, expected) => same('tools', expected, scene.toolRows(), scene)],
  ['agents', (scene, expected) => same('agents', expected, scene.agents(), scene)],
  ['hooks', (scene, expected) => same('hooks', expected, scene.hooks.names(), scene)],
]);

export function isCheck(name: string): boolean {
  return checks.has(name);
}

/** Evaluates all checks of an object; other members are left to the caller. */
export async function evaluate(scene: Scene, expected: JsonObject): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [name, value] of Object.entries(expected)) {
    const check = checks.get(name);
    if (check !== undefined) found.push(...(await check(scene, value)));
  }
  return found;
}

function same(name: string, expected: unknown, actual: unknown, scene: Scene): readonly string[] {
  const difference = mismatch(expected, actual, scene.places, name);
  return difference === undefined ? [] : [difference];
}

function inOrder(name: string, expected: unknown, actual: readonly unknown[], scene: Scene): readonly string[] {
  const missing = missingInOrder(toArray(expected), actual, scene.places);
  return missing === undefined ? [] : [`${name}: no place for ${show(missing)} in ${show(actual)}`];
}

function countLogs(scene: Scene, pattern: JsonObject): number {
  const { count: _count, max: _max, ...wanted } = pattern;
  return scene.logs.filter((record) => mismatch(wanted, record, scene.places) === undefined).length;
}

function checkLogs(scene: Scene, expected: unknown): readonly string[] {
  return toObjects(expected).flatMap((pattern) => {
    const seen = countLogs(scene, pattern);
    const isRight = typeof pattern['count'] === 'number' ? seen === pattern['count'] : seen > 0;
    return isRight ? [] : [`logs: ${seen} lines match ${show(pattern)} in ${show(scene.logs)}`];
  });
}

function checkNoLogs(scene: Scene, expected: unknown): readonly string[] {
  return toObjects(expected).flatMap((pattern) =>
    countLogs(scene, pattern) === 0 ? [] : [`noLogs: a line matches ${show(pattern)} in ${show(scene.logs)}`],
  );
}

function checkMaxLogs(scene: Scene, expected: unknown): readonly string[] {
  return toObjects(expected).flatMap((pattern) => {
    const seen = countLogs(scene, pattern);
    return seen <= Number(pattern['max']) ? [] : [`maxLogs: ${seen} lines match ${show(pattern)}`];
  });
}

/** The messages a scripted plugin received. */
async function received(scene: Scene, key: string): Promise<readonly JsonObject[]> {
  const entries = await scene.transcript(key);
  return entries.filter((entry) => entry['ev'] === 'in').map((entry) => toMessage(textOf(entry['line'])));
}

function toMessage(line: string): JsonObject {
  try {
    const message: unknown = JSON.parse(line);
    return isJsonObject(message) ? message : { unparsed: line };
  } catch {
    return { unparsed: line };
  }
}

async function perPlugin(
  expected: unknown,
  check: (key: string, wanted: unknown) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [key, wanted] of Object.entries(isJsonObject(expected) ? expected : {})) {
    found.push(...(await check(key, wanted)));
  }
  return found;
}

function checkReceived(scene: Scene, expected: unknown): Promise<readonly string[]> {
  return perPlugin(expected, async (key, wanted) =>
    inOrder(`received by ${key}`, wanted, await received(scene, key), scene),
  );
}

function checkReceivedAll(scene: Scene, expected: unknown): Promise<readonly string[]> {
  return perPlugin(expected, async (key, wanted) =>
    same(`received by ${key}`, wanted, await received(scene, key), scene),
  );
}

function checkNotReceived(scene: Scene, expected: unknown): Promise<readonly string[]> {
  return perPlugin(expected, async (key, wanted) => {
    const messages = await received(scene, key);
    return toArray(wanted).flatMap((pattern) =>
      messages.some((message) => mismatch(pattern, message, scene.places) === undefined)
        ? [`${key} received ${show(pattern)}`]
        : [],
    );
  });
}

function checkReceivedCount(scene: Scene, expected: unknown): Promise<readonly string[]> {
  return perPlugin(expected, async (key, wanted) => {
    const messages = await received(scene, key);
    return Object.entries(isJsonObject(wanted) ? wanted : {}).flatMap(([method, count]) => {
      const seen = messages.filter((message) => message['method'] === method).length;
      return seen === count ? [] : [`${key} received ${seen} times ${method}, expected ${show(count)}`];
    });
  });
}

function checkPeer(scene: Scene, expected: unknown): Promise<readonly string[]> {
  return perPlugin(expected, async (key, wanted) =>
    inOrder(`transcript of ${key}`, wanted, await scene.transcript(key), scene),
  );
}

function checkAlive(scene: Scene, expected: unknown): Promise<readonly string[]> {
  return perPlugin(expected, async (key, wanted) => {
    const isAlive = (await processesOf(scene, key)).some(isRunning);
    return isAlive === wanted ? [] : [`${key} is ${isAlive ? 'alive' : 'gone'}`];
  });
}

/** Every process a transcript names. */
export async function processesOf(scene: Scene, key: string): Promise<readonly number[]> {
  const entries = await scene.transcript(key);
  return entries
    .filter((entry) => entry['ev'] === 'start' || entry['ev'] === 'grandchild')
    .map((entry) => Number(entry['pid']));
}

function toArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function toObjects(value: unknown): readonly JsonObject[] {
  return toArray(value).filter(isJsonObject);
}
