// npm run demo [-- --live]: an agent repairs a small project. Real engine, threads, plugin and MCP server processes; the
// model is a script unless --live is given. npm run demo -- factory: twelve agents work on another one, in threads.
import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { listDescendants } from '../../src/cli/descendants.ts';
import { describeFailure, exitCodes } from '../../src/cli/failure.ts';
import { takeInterrupts } from '../../src/cli/interrupts.ts';
import { type CliIo, openProcessIo } from '../../src/cli/io.ts';
import { watchPlaces } from '../../src/cli/places.ts';
import { createRunView } from '../../src/cli/render.ts';
import { createStyle } from '../../src/cli/style.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import { readPluginManifest } from '../../src/plugins/manifest.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { toPrintable } from '../../src/telemetry/printable.ts';
import { runFactoryDemo } from './factory.ts';
import { findLiveModel } from './live-model.ts';
import { demoScript } from './model-script.ts';
import { describeCalls, recordCalls, type RecordedCall } from './record.ts';

const here = import.meta.dirname;
const task = 'The tests of this shop fail. Find out why, repair it, and prove that it works.';

async function main(io: CliIo, isLive: boolean): Promise<number> {
  const liveModel = await findLiveModel(io.env);
  if (isLive && liveModel === undefined) {
    io.err('error: no real model was found\n  Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start Ollama.\n');
    return exitCodes.failed;
  }
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'vibe-bus-demo-')));
  try {
    return await runDemo(io, folder, isLive ? liveModel : undefined, liveModel !== undefined);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runDemo(io: CliIo, folder: string, model: string | undefined, canBeLive: boolean): Promise<number> {
  const style = createStyle(io.hasColors);
  const root = path.join(folder, 'corner-shop');
  await cp(path.join(here, 'project'), root, { recursive: true });
  await mkdir(path.join(folder, 'user'));
  const modelName = model ?? 'scripted (no key needed)';
  io.out(`${style.strong('vibe-bus demo')} · ${toPrintable(modelName)}\n`);
  io.out(`task: ${task}\n`);

  // the translator this script runs under has a helper process of its own
  const before = new Set(listDescendants());
  using interrupts = takeInterrupts(io);
  const startedAt = performance.now();
  const { calls, outcome } = await (async () => {
    await using engine = await openDemoEngine(io, { root, configDir: path.join(folder, 'user'), model });
    await engine.mcp.ready();
    io.out(describeHelpers(engine));
    const places = watchPlaces(engine);
    const recorded = recordCalls(engine, places);
    let tokensUsed = (): number => 0;
    const view = createRunView({
      write: io.out,
      style,
      isLive: io.isTerminal,
      columns: io.columns,
      where: places.where,
      tokensUsed: () => tokensUsed(),
    });
    const off = engine.bus.on('*', (envelope) => view.show(envelope));
    const run = engine.run('coder', task);
    interrupts.stop(run);
    tokensUsed = () => run.used().tokens;
    const ended = await run.outcome;
    off();
    return { calls: recorded, outcome: ended };
  })();

  if (interrupts.happened) return exitCodes.interrupted;
  io.out(`\n${style.strong('answer')}\n${toPrintable(outcome.final_text)}\n`);
  io.out(`\n${style.strong('what ran where')}\n${describeCalls(calls, modelName)}`);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const left = listDescendants().filter((pid) => !before.has(pid));
  io.out(`\n${outcome.steps} steps, ${calls.length} calls, ${seconds} s, ${left.length} processes left running\n`);
  if (left.length > 0) return exitCodes.failed;
  if (canBeLive && model === undefined) io.out('A real model was found: `npm run demo -- --live` uses it.\n');
  if (outcome.stop.reason !== 'completed') {
    const reason = outcome.stop.reason === 'error' ? outcome.stop.message : outcome.stop.reason;
    io.err(`error: the run did not complete: ${toPrintable(reason)}\n`);
    return exitCodes.failed;
  }
  return model === undefined ? checkPromises(io, calls, root) : exitCodes.ok;
}

async function openDemoEngine(
  io: CliIo,
  place: { readonly root: string; readonly configDir: string; readonly model: string | undefined },
): Promise<Engine> {
  const hasPython = spawnSync('python3', ['--version'], { stdio: 'ignore' }).status === 0;
  const plugins = path.join(here, '..', '..', 'examples', 'plugins');
  const manifests = ['guard', ...(hasPython ? ['todo-scan'] : [])];
  const server = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');
  return await createEngine({
    root: place.root,
    configDir: place.configDir,
    // what a plugin refuses is shown anyway
    logger: createLogger({ filter: io.env['VIBE_LOG'] ?? 'error', write: io.err }),
    ...(place.model === undefined
      ? { provider: createScriptedProvider({ script: demoScript({ python: hasPython }) }, { streamWords: true }) }
      : { model: place.model }),
    plugins: await Promise.all(
      manifests.map((name) => readPluginManifest(path.join(plugins, name, 'vibe-plugin.toml'))),
    ),
    mcpServers: [
      {
        name: 'everything',
        command: process.execPath,
        args: [server, 'stdio'],
        // a confined server sees its own program's folder only, and this one's packages lie here
        sandbox: { read: [path.join(here, '..', '..', 'node_modules')] },
        tools: { eager: ['get-sum'] },
      },
    ],
  });
}

function describeHelpers(engine: Engine): string {
  const plugins = engine.plugins.records().map((record) => `${record.name} ${record.version}`);
  const servers = engine.mcp.servers().map(({ name, server }) => `${name} ${server?.version ?? ''}`.trim());
  return `plugin processes: ${plugins.join(', ')}\nMCP server processes: ${toPrintable(servers.join(', '))}\n`;
}

/** The demo is also a test: everything it is meant to show must have happened. */
function checkPromises(io: CliIo, calls: readonly RecordedCall[], root: string): number {
  const tests = spawnSync(process.execPath, ['--test'], { cwd: root, stdio: 'ignore' });
  const promises: readonly (readonly [string, boolean])[] = [
    ['tools ran on worker threads', calls.filter((call) => call.place.startsWith('worker thread')).length >= 3],
    ['the hook of a plugin refused a call', calls.some((call) => call.tool === 'bash' && call.place === 'not run')],
    ['a tool of a plugin was used', calls.some((call) => call.tool === 'guard_rules' && !call.isError)],
    ['a tool of an MCP server was used', calls.some((call) => call.tool.startsWith('mcp__') && !call.isError)],
    ['the tests of the project pass', tests.status === 0],
  ];
  const broken = promises.filter(([, isKept]) => !isKept);
  for (const [promise] of broken) io.err(`error: the demo did not show that ${promise}\n`);
  return broken.length === 0 ? exitCodes.ok : exitCodes.failed;
}

const io = openProcessIo();
try {
  process.exitCode = process.argv.includes('factory')
    ? await runFactoryDemo(io)
    : await main(io, process.argv.includes('--live'));
} catch (error) {
  io.err(describeFailure(error));
  process.exitCode = exitCodes.failed;
}
