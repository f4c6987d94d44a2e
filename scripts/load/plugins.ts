import { silentLogger } from '../../src/protocol/deps.ts';
import { createPluginHost } from '../../src/plugins/host.ts';
import { createToolRegistry } from '../../src/tools/registry.ts';
import { isGroupAlive } from '../../src/transport/process-group.ts';
import { odd, openThings, toContext, toPluginRegistry } from '../../test/plugins/support.ts';
import type { LoadReport } from './report.ts';

export interface PluginLoadSize {
  readonly plugins: number;
  readonly atOnce: number;
  /** How many of them misbehave. */
  readonly misbehaving: number;
}

const fullSize: PluginLoadSize = { plugins: 200, atOnce: 20, misbehaving: 50 };

/** Ways to be a bad plugin. Each must end without a trace, whether it started or not. */
const misbehaviours: readonly (readonly string[])[] = [
  ['silent'],
  ['garbage'],
  ['early-exit=3'],
  ['exit-after-init=0'],
  ['stay', 'tools=echo'],
  ['child', 'tools=echo,die'],
  ['flood-line', 'tools=echo'],
  ['deaf', 'stay'],
  ['tools=die', 'hook'],
  ['tools=close', 'stay'],
  ['tools=hang'],
  ['tools=stop-reading,echo', 'stay'],
];

const seconds = { handshake: 10, call: 2, grace: 0.5 } as const;

/** L3: plugin processes start, answer and stop, several at a time, some of them misbehave; nothing of them stays. */
export async function loadPlugins(report: LoadReport, size: PluginLoadSize = fullSize): Promise<void> {
  // why: what the first process of a host loads for good is not a leak
  await runOne(odd('tools=echo'), () => {});
  const before = await openThings();
  const startedAt = performance.now();
  /** Each process leads a group: what it starts belongs to it. */
  const groups: number[] = [];
  const candidates = toCandidates(size);
  let failed = 0;
  const lanes = Array.from({ length: size.atOnce }, async () => {
    for (let next = candidates.shift(); next !== undefined; next = candidates.shift()) {
      const isAnswered = await runOne(next.command, (pid) => groups.push(pid));
      if (next.behaves && !isAnswered) failed += 1;
    }
  });
  await Promise.all(lanes);
  const tookMs = performance.now() - startedAt;
  const after = await openThings();

  report.note('processes started', groups.length);
  report.atMost('well-behaved plugins that did not answer', failed, 0);
  report.atMost('processes left', groups.filter(isGroupAlive).length, 0);
  report.atMost('descriptors more than before', after.descriptors - before.descriptors, 0);
  report.atMost('handles more than before', after.resources.length - before.resources.length, 0);
  report.atMost('time', tookMs / 1_000, 120, 's');
}

interface Candidate {
  readonly command: readonly string[];
  readonly behaves: boolean;
}

/** Misbehaving ones spread evenly among the others. */
function toCandidates({ plugins, misbehaving }: PluginLoadSize): Candidate[] {
  const step = Math.floor(plugins / Math.max(1, misbehaving));
  return Array.from({ length: plugins }, (_, index) => {
    const turn = Math.floor(index / step);
    const behaves = index % step !== 0 || turn >= misbehaving;
    const bad = misbehaviours[turn % misbehaviours.length] ?? [];
    return { behaves, command: odd(...(behaves ? ['tools=echo', 'hook', 'agents'] : bad)) };
  });
}

/** One plugin from its start to its end. Whether it answered a call. */
async function runOne(command: readonly string[], onStarted: (pid: number) => void): Promise<boolean> {
  const tools = createToolRegistry();
  await using host = createPluginHost({
    projectRoot: process.cwd(),
    logger: silentLogger,
    ledger: { add: onStarted, remove: () => {} },
    publish: () => {},
    timeouts: {
      default: seconds.handshake * 1_000,
      toolCall: seconds.call * 1_000,
      shutdownGrace: seconds.grace * 1_000,
      termGrace: seconds.grace * 1_000,
    },
    registry: toPluginRegistry(tools),
  });
  await host.load([{ name: 'p', command }]);
  let isAnswered = false;
  for (const tool of tools.list()) {
    try {
      await tool.call({ text: 'hello', code: 1 }, toContext());
      isAnswered ||= tool.name === 'echo';
    } catch {
      // a misbehaving one: its failure is the point
    }
  }
  return isAnswered;
}
