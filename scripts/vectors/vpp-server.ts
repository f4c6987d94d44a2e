import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlugin, type Plugin } from '../../src/plugins/server.ts';
import { messageOf } from '../../src/protocol/error.ts';
import { isJsonObject, type JsonObject } from '../../src/protocol/json.ts';
import type { PluginLogLevel } from '../../src/protocol/vpp.ts';
import type { VectorCase, VectorFile } from './types.ts';
import { objects } from './vpp-scene.ts';
import { mismatch, type Places, show, textOf } from './vpp-pattern.ts';

const noPlaces: Places = new Map();

/** Server vectors: the author kit on a pair of streams. */
export function playServer(file: VectorFile): readonly VectorCase[] {
  return objects(file.data['vectors']).map((vector) => ({
    id: textOf(vector['id']),
    weight: 'few',
    play: (options) => playVector(vector, options.tickMs),
  }));
}

const logLevels: readonly PluginLogLevel[] = ['error', 'warn', 'info', 'debug', 'trace'];

function toLevel(value: unknown): PluginLogLevel {
  const level = logLevels.find((entry) => entry === value);
  if (level === undefined) throw new Error(`unknown level ${show(value)}`);
  return level;
}

/** The plugins the vectors are about, made with the public kit. */
function createFixture(name: unknown, tickMs: number): Plugin {
  switch (name) {
    case 'bare':
      return createPlugin({ name: 'bare', version: '0' });
    case 'dup':
      return withEcho(createPlugin({ name: 'fixture', version: '1.2.3', drainMs: 10 * tickMs }))
        .tool({ name: 'other', execute: () => 'other' })
        .tool({ name: 'echo', description: 'second', execute: () => 'second' });
    case 'full':
      return createFull(tickMs);
    default:
      throw new Error(`unknown fixture ${show(name)}`);
  }
}

function withEcho(plugin: Plugin): Plugin {
  return plugin.tool({
    name: 'echo',
    description: 'Return the text.',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    mutating: false,
    execute(input) {
      const text = isJsonObject(input) ? input['text'] : undefined;
      if (typeof text !== 'string') throw new Error('missing string argument `text`');
      return text;
    },
  });
}

function createFull(tickMs: number): Plugin {
  const messageIn = (input: unknown): string => textOf(isJsonObject(input) ? input['message'] : undefined);
  return withEcho(createPlugin({ name: 'fixture', version: '1.2.3', drainMs: 10 * tickMs }))
    .tool({
      name: 'where',
      description: 'Where the call comes from.',
      execute: (_input, call) => (call.context === undefined ? 'none' : JSON.stringify(call.context)),
    })
    .tool({
      name: 'slow',
      description: 'Takes its time.',
      async execute(input, call) {
        const ticks = isJsonObject(input) ? Number(input['ticks']) : 0;
        await sleep(ticks * tickMs, undefined, { signal: call.signal });
        return 'slow done';
      },
    })
    .tool({
      name: 'fail',
      description: 'Fails.',
      execute: (input) => ({ content: messageIn(input), is_error: true }),
    })
    .tool({
      name: 'throw',
      description: 'Throws.',
      execute(input) {
        throw new Error(messageIn(input));
      },
    })
    .tool({
      name: 'log',
      description: 'Logs.',
      execute(input, call) {
        call.log(toLevel(isJsonObject(input) ? input['level'] : undefined), messageIn(input));
        return 'logged';
      },
    })
    .agent({
      role: 'fixture_agent',
      system_prompt: 'You are a fixture.',
      description: 'Fixture',
      tools: { named: ['echo'] },
    })
    .beforeTool(({ tool }) => {
      if (tool === 'boom') throw new Error('boom');
      return tool === 'forbidden' ? { abort: 'the fixture forbids this tool' } : undefined;
    });
}

interface Session {
  readonly plugin: Plugin;
  readonly input: PassThrough;
  /** Lines written so far and not yet taken by a step. */
  readonly lines: unknown[];
  readonly served: Promise<string>;
  readonly tickMs: number;
}

async function playVector(vector: JsonObject, tickMs: number): Promise<readonly string[]> {
  const plugin = createFixture(vector['fixture'], tickMs);
  const steps = objects(vector['steps']);
  const differences: string[] = [];
  const early = steps.filter((step) => step['when'] === 'before');
  for (const step of early) differences.push(...playLog(plugin, step));

  const input = new PassThrough();
  const output = new PassThrough();
  const lines: unknown[] = [];
  readLines(output, lines);
  const served = plugin.serve({ input, output }).then(
    () => 'ok',
    (error: unknown) => `error: ${messageOf(error)}`,
  );
  const session: Session = { plugin, input, lines, served, tickMs };
  try {
    for (const [index, step] of steps.entries()) {
      if (early.includes(step)) continue;
      const found = await playStep(session, step);
      differences.push(...found.map((text) => `step ${index + 1}: ${text}`));
    }
    if (lines.length > 0) differences.push(`unexpected lines ${show(lines)}`);
    return differences;
  } finally {
    input.end();
    await served;
  }
}

async function playStep(session: Session, step: JsonObject): Promise<readonly string[]> {
  const { input, lines, tickMs, plugin } = session;
  const [operation] = Object.keys(step);
  const operand: unknown = operation === undefined ? undefined : step[operation];
  switch (operation) {
    case 'in':
      input.write(`${JSON.stringify(operand)}\n`);
      return [];
    case 'raw':
      input.write(textOf(operand));
      return [];
    case 'hex':
      input.write(Buffer.from(textOf(operand).replaceAll(' ', ''), 'hex'));
      return [];
    case 'bytewise':
      for (const byte of Buffer.from(textOf(operand))) {
        input.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      return [];
    case 'rawBig': {
      const big = isJsonObject(operand) ? operand : {};
      const { prefix = '', unit = 'x', count, suffix = '\n' } = big;
      input.write(textOf(prefix) + textOf(unit).repeat(Number(count)) + textOf(suffix));
      return [];
    }
    case 'eof':
      input.end();
      return [];
    case 'out':
      return await expectLines(session, step);
    case 'quiet':
      await sleep(Number(operand) * tickMs);
      return lines.length === 0 ? [] : [`unexpected lines ${show(lines.splice(0))}`];
    case 'ended': {
      const end = await Promise.race([session.served, sleep(20 * tickMs, 'still serving')]);
      return end.startsWith(textOf(operand)) ? [] : [`ended with ${end}`];
    }
    case 'log':
      return playLog(plugin, step);
    default:
      return [`unknown step ${show(operation)}`];
  }
}

function playLog(plugin: Plugin, step: JsonObject): readonly string[] {
  const entry = isJsonObject(step['log']) ? step['log'] : {};
  const isSent = plugin.log(toLevel(entry['level']), textOf(entry['message']));
  return isSent === step['expect'] ? [] : [`the logger answered ${isSent}`];
}

async function expectLines(session: Session, step: JsonObject): Promise<readonly string[]> {
  const { lines, tickMs } = session;
  const wanted: readonly unknown[] = Array.isArray(step['out']) ? step['out'] : [];
  const until = performance.now() + Number(step['within'] ?? 20) * tickMs;
  while (lines.length < wanted.length && performance.now() < until) await sleep(1);
  const taken = lines.splice(0, wanted.length);
  if (taken.length < wanted.length) return [`expected ${wanted.length} lines, got ${show(taken)}`];
  if (step['unordered'] !== true) {
    return wanted.flatMap((pattern, index) => mismatch(pattern, taken[index], noPlaces) ?? []);
  }
  const rest = [...taken];
  return wanted.flatMap((pattern) => {
    const at = rest.findIndex((line) => mismatch(pattern, line, noPlaces) === undefined);
    if (at < 0) return [`no line matches ${show(pattern)} in ${show(rest)}`];
    rest.splice(at, 1);
    return [];
  });
}

function readLines(output: PassThrough, lines: unknown[]): void {
  let rest = '';
  output.setEncoding('utf8');
  output.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) lines.push(JSON.parse(part));
  });
}
