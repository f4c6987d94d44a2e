import { silentLogger } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import type { JsonObject } from '../protocol/json.ts';
import { checkDuration } from '../transport/duration.ts';
import type { PipedProgram } from '../transport/memory-child.ts';
import type { PluginDeclaration } from './declaration.ts';
import { type FaultCase, faultCases, shakeHands } from './fault-cases.ts';
import { createFaultProbe, Fault } from './fault-probe.ts';
import { ownProgram } from './program.ts';
import { type PluginHostSettings, resolveSettings } from './settings.ts';
import { startProcess } from './start-process.ts';

export interface FuzzPluginOptions extends Pick<PluginHostSettings, 'environment' | 'secretNames' | 'envPolicy'> {
  /** Where a relative `cwd` starts. Default: the current folder. */
  readonly projectRoot?: string;
  /** A tool that may be called, with arguments that work. Default: none is called. */
  readonly tool?: { readonly name: string; readonly input?: JsonObject };
  /** For each answer and for the end of the process, in milliseconds. Default 5 000; hosts give two seconds for the end. */
  readonly timeoutMs?: number;
  /** Only the cases of these names. Default: all. */
  readonly only?: readonly string[];
  readonly signal?: AbortSignal;
  /** Told of each case as it ends. */
  onResult?(result: FaultResult): void;
}

export interface FaultResult {
  /** What was done to the plugin. */
  readonly name: string;
  readonly outcome: 'survived' | 'failed' | 'skipped';
  /** What it did wrong, or why the case was left out. */
  readonly detail?: string;
}

const begin: FaultCase = { name: 'start and handshake', run: () => Promise.resolve() };
/** Processes at the same time. */
const atOnce = 4;

/**
 * Does to a plugin what broken pipes, other hosts and bad luck may do to it - torn, late, double, oversize and senseless
 * lines, an end at any moment - and says what it did wrong. Each case gets a process of its own, none of which is left.
 * Tools are called only when one is named: a call may change things.
 * @throws EngineError `plugin` when the program cannot be started, `config` for a bad time limit
 */
export async function fuzzPlugin(
  declaration: PluginDeclaration,
  options: FuzzPluginOptions = {},
): Promise<readonly FaultResult[]> {
  const { signal, only, onResult } = options;
  const wanted = faultCases.filter((entry) => only === undefined || only.includes(entry.name));
  const results: FaultResult[] = [];
  const play = async (entries: readonly FaultCase[]): Promise<void> => {
    for (const result of await Promise.all(entries.map((entry) => playCase(entry, declaration, options)))) {
      results.push(result);
      onResult?.(result);
    }
  };
  await play([begin]);
  // why: what does not even start fails all cases for the same reason
  if (results[0]?.outcome === 'failed') return results;
  for (let next = 0; next < wanted.length && signal?.aborted !== true; next += atOnce) {
    await play(wanted.slice(next, next + atOnce));
  }
  return results;
}

async function playCase(
  entry: FaultCase,
  declaration: PluginDeclaration,
  options: FuzzPluginOptions,
): Promise<FaultResult> {
  const { name } = entry;
  const timeoutMs = checkDuration('timeoutMs', options.timeoutMs ?? 5_000);
  const settings = resolveSettings(options, ownProgram);
  const deps = { projectRoot: options.projectRoot ?? process.cwd(), settings, logger: silentLogger };
  const child = await startProcess(declaration, deps, () => {});
  // never rejects
  const leave = (): void => void child.stop({ exitGraceMs: 1, termGraceMs: 1 });
  options.signal?.addEventListener('abort', leave, { once: true });
  try {
    const detail = await runCase(entry, child, options, timeoutMs);
    return detail === undefined ? { name, outcome: 'survived' } : { name, outcome: 'skipped', detail };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { name, outcome: 'failed', detail: messageOf(error) };
  } finally {
    options.signal?.removeEventListener('abort', leave);
    leave();
    await child.closed;
  }
}

/** @returns why the case does not apply @throws Fault */
async function runCase(
  entry: FaultCase,
  child: PipedProgram,
  options: FuzzPluginOptions,
  timeoutMs: number,
): Promise<string | undefined> {
  const host = ownProgram();
  const probe = createFaultProbe(child, timeoutMs);
  const announced = await shakeHands(probe, host);
  const tool = options.tool === undefined ? undefined : { name: options.tool.name, input: options.tool.input ?? {} };
  const reason = entry.skip?.({ announced, tool });
  if (reason !== undefined) return reason;
  await entry.run({ probe, host, announced, tool });
  if (entry.ends !== true) await probe.checkAlive(entry.name);
  return undefined;
}
