import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { EngineOptions, Placement } from '../../src/engine/options.ts';
import { type Drill, drillKind } from '../../test/fixtures/runs/drill.ts';

/** Every load of runs is tried in both placements. */
export const placements: readonly Placement[] = ['inline', 'thread'];

/** An engine with its built-in tools on an empty folder, whose model does what the drill in its first message says. */
export async function openCrowdEngine(options: EngineOptions): Promise<AsyncDisposable & { readonly engine: Engine }> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'load-')));
  const root = path.join(folder, 'project');
  await mkdir(root);
  const engine = await createEngine({
    root,
    configDir: path.join(folder, 'user'),
    model: 'drill/x',
    providerKinds: { drill: drillKind },
    config: { providers: { drill: {} } },
    agents: [{ role: 'soldier', system_prompt: 'Do the drill.', thinking: 'off' }],
    ...options,
  });
  return {
    engine,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function startDrill(engine: Engine, drill: Drill): ReturnType<Engine['run']> {
  return engine.run('soldier', JSON.stringify(drill));
}
