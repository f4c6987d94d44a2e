import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { manufacture, type Product } from '../../examples/factory/factory.ts';
import { git } from '../../examples/factory/git.ts';
import { scriptedKind } from '../../examples/factory/model.ts';
import { openProject } from '../../examples/factory/project.ts';
import { task } from '../../examples/factory/task.ts';
import { listDescendants } from '../../src/cli/descendants.ts';
import { type ExitCode, exitCodes } from '../../src/cli/failure.ts';
import { takeInterrupts } from '../../src/cli/interrupts.ts';
import type { CliIo } from '../../src/cli/io.ts';
import { createStyle } from '../../src/cli/style.ts';
import { createEngine, type Engine, isEngineError } from '../../src/index.ts';
import { createFactoryView } from './factory-view.ts';

/** Shows the factory example live: twelve agents on a small repository in a temp folder, the coders in threads. */
export async function runFactoryDemo(io: CliIo): Promise<ExitCode> {
  const before = new Set(listDescendants());
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'vibe-bus-factory-')));
  try {
    const root = path.join(folder, 'units');
    await openProject(root);
    const code = await show(io, root, folder);
    const left = listDescendants().filter((pid) => !before.has(pid));
    io.out(`${left.length} processes left running\n`);
    return left.length === 0 ? code : exitCodes.failed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function show(io: CliIo, root: string, folder: string): Promise<ExitCode> {
  const style = createStyle(io.hasColors);
  io.out(`${style.strong('vibe-bus factory')} · scripted (no key needed)\ntask: ${task.description}\n`);
  using interrupts = takeInterrupts(io);
  await using engine = await createEngine({
    root,
    configDir: path.join(folder, 'user'),
    model: 'script/script',
    providerKinds: { script: scriptedKind },
    config: { providers: { script: { extra: { pace_ms: 150 } } } },
  });
  const view = createFactoryView(engine, style, io.out);
  interrupts.stop({
    cancel: async (options) => void (await Promise.all(engine.runs().map((run) => run.cancel(options)))),
  });
  const product = await manufactureUnless(engine, () => interrupts.happened);
  if (product === undefined) return exitCodes.interrupted;
  io.out(`\n${style.strong('commits')}\n${await git(root, 'log', '--graph', '--format=%s')}`);
  io.out(`\nreview: ${product.review.verdict} · ${product.review.summary}\n${view.summary()}\n`);
  return product.review.verdict === 'approved' ? exitCodes.ok : exitCodes.failed;
}

/** Nothing when it ended because the user stopped its runs. */
async function manufactureUnless(engine: Engine, isStopped: () => boolean): Promise<Product | undefined> {
  try {
    return await manufacture(engine, task);
  } catch (error) {
    if (isStopped() && isEngineError(error)) return undefined;
    throw error;
  }
}
