import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Envelope } from '../../src/bus/envelope.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { EngineOptions } from '../../src/engine/options.ts';
import type { AgentOutcome } from '../../src/protocol/agent.ts';
import type { CallId, NewId, RunId } from '../../src/protocol/ids.ts';
import { recordProvider } from '../../src/providers/record.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { calling, toolNamed, worker } from './support.ts';

let folder: string;
let recording: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'vibe-replay-')));
  recording = join(folder, 'run.jsonl');
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Ids that count. */
function createCountedIds(): NewId {
  let count = 0;
  const next = (digits: number): string => String((count += 1)).padStart(digits, '0');
  return {
    run: () => `00000000-0000-4000-8000-${next(12)}` as RunId,
    call: () => next(12) as CallId,
    uuid: () => `00000000-0000-4000-9000-${next(12)}`,
  };
}

const script = [
  {
    thinking: 'where to begin',
    text: 'I look.',
    tool_calls: [
      { id: 'a', name: 'look', input: { at: 'x' } },
      { id: 'a', name: 'unknown', input: {} },
      { id: '', name: 'long', input: {} },
    ],
    deltas: [
      { kind: 'thinking', text: 'where to ' },
      { kind: 'thinking', text: 'begin' },
      { kind: 'text', text: 'I look.' },
    ],
  },
  { error: { kind: 'rate_limited', message: 'slow down', retry_after_ms: 0 } },
  { text: 'cut here', stop_reason: 'max_tokens' },
  calling(['look', { at: 'y' }]),
  { text: 'All seen.', usage: { input_tokens: 7, output_tokens: 3, cache_read_tokens: 2 } },
];

const tools = [
  toolNamed('look', ({ at }) => `nothing at ${String(at)}`),
  toolNamed('long', () => 'line\n'.repeat(100)),
];

async function play(options: EngineOptions): Promise<{ envelopes: readonly Envelope[]; outcome: AgentOutcome }> {
  const envelopes: Envelope[] = [];
  await using engine: Engine = await createEngine({
    bare: true,
    root: folder,
    tools,
    clock: createManualClock(),
    newId: createCountedIds(),
    // only one of the calls that run side by side waits for the disk, else the disk decides who returns first
    maxToolOutputChars: 60,
    ...options,
  });
  engine.bus.on('*', (envelope) => void envelopes.push(envelope));
  engine.hooks.augmentPrompt('date', () => 'Be brief.');
  const outcome = await engine.run(worker, 'Look around.').outcome;
  return { envelopes, outcome };
}

test('a recorded run, replayed with fixed ids and clock, yields the same events and the same outcome', async () => {
  const provider = recordProvider(createScriptedProvider({ script, default_model: 'm-1' }), recording);
  const recorded = await play({ provider });
  await rm(join(folder, '.vibe'), { recursive: true });

  const replayed = await play({
    config: { providers: { demo: { kind: 'replay', extra: { recording } } } },
    model: 'demo/',
  });

  expect(recorded.envelopes.map(({ event }) => event.type)).toEqual(
    expect.arrayContaining(['agent_delta', 'retrying', 'tool_returned', 'agent_finished']),
  );
  expect(replayed.envelopes).toEqual(recorded.envelopes);
  expect(replayed.outcome).toEqual(recorded.outcome);
});

test('a run that no longer asks the same stops at that call with `replay mismatch`', async () => {
  await play({ provider: recordProvider(createScriptedProvider({ script }), recording) });
  const changed = [toolNamed('look', () => 'something else'), ...tools.slice(1)];

  const { outcome } = await play({
    tools: changed,
    config: { providers: { demo: { kind: 'replay', extra: { recording } } } },
    model: 'demo/',
  });

  expect(outcome).toMatchObject({
    stop: { reason: 'error', kind: 'invalid_request', message: 'replay mismatch at call 2' },
    steps: 1,
  });
});

test('a recording of a run that was killed replays up to where it was', async () => {
  await play({ provider: recordProvider(createScriptedProvider({ script }), recording) });
  const lines = (await readFile(recording, 'utf8')).split('\n');
  await rm(join(folder, '.vibe'), { recursive: true });
  await writeFile(recording, `${lines.slice(0, 3).join('\n')}\n${lines[3]?.slice(0, 100) ?? ''}`);

  const { outcome } = await play({
    config: { providers: { demo: { kind: 'replay', extra: { recording } } } },
    model: 'demo/',
  });

  expect(outcome.stop).toMatchObject({ reason: 'error', message: 'replay mismatch at call 3' });
});

test('a run in a thread is replayed as one on the main thread', async () => {
  // what a thread cannot share must not be part of what is compared: real ids, the real clock
  const usual: EngineOptions = { maxToolOutputChars: 100_000 };
  const open = (options: EngineOptions) => createEngine({ bare: true, root: folder, tools, ...usual, ...options });
  const provider = recordProvider(createScriptedProvider({ script }), recording);
  const vars = { date: '2026-01-01' };
  let recorded: AgentOutcome;
  {
    await using engine = await open({ provider });
    recorded = await engine.run(worker, 'Look around.', { vars }).outcome;
  }

  await using engine = await open({
    config: { providers: { demo: { kind: 'replay', extra: { recording } } } },
    model: 'demo/',
    placement: 'thread',
  });
  const replayed = await engine.run(worker, 'Look around.', { vars }).outcome;

  expect(replayed).toEqual(recorded);
});
