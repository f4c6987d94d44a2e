// The compiled half of the benchmark: node run.js <bench folder> <figure> [--json]
import { messageOf } from '../src/protocol/error.ts';
import { measureActors } from './figures/actors.ts';
import { measureBus } from './figures/bus.ts';
import { measureDispatch } from './figures/dispatch.ts';
import { measureEvents } from './figures/events.ts';
import { measureExtract } from './figures/extract.ts';
import { measureGlob } from './figures/glob.ts';
import { measureGrep } from './figures/grep.ts';
import { measurePool } from './figures/pool.ts';
import { measurePluginStart } from './figures/plugin-start.ts';
import { measurePlugins } from './figures/plugins.ts';
import { measureMcp } from './figures/mcp.ts';
import { measureFirstStep } from './figures/mcp-first-step.ts';
import { measureAiSdkRuns, measureLangGraphRuns, measureOpenaiAgentsRuns } from './figures/run-peers.ts';
import { measureRuns } from './figures/runs.ts';
import { measureStdio } from './figures/stdio.ts';
import { measureStep } from './figures/step.ts';
import { measureThreads } from './figures/threads.ts';
import { type Row, toText } from './report.ts';

/** @param folder the source folder of the benchmark, where its peers are installed */
type MeasureFigure = (folder: string) => Promise<readonly Row[]>;

const figures: { readonly [name: string]: MeasureFigure } = {
  step: measureStep,
  bus: measureBus,
  stdio: measureStdio,
  plugins: measurePlugins,
  'plugin-start': measurePluginStart,
  dispatch: measureDispatch,
  pool: measurePool,
  grep: measureGrep,
  glob: measureGlob,
  extract: measureExtract,
  actors: measureActors,
  mcp: measureMcp,
  'mcp-first-step': measureFirstStep,
  runs: measureRuns,
  'runs-ai-sdk': measureAiSdkRuns,
  'runs-openai-agents': measureOpenaiAgentsRuns,
  'runs-langgraph': measureLangGraphRuns,
  threads: measureThreads,
  events: measureEvents,
};

const [folder = '', name = '', format] = process.argv.slice(2);
try {
  for (const row of (await figures[name]?.(folder)) ?? []) {
    process.stdout.write(`${format === '--json' ? JSON.stringify(row) : toText(row)}\n`);
  }
} catch (error) {
  process.stderr.write(`${name}: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
