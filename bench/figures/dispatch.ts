import { setMaxListeners } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Piscina } from 'piscina';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { CallId } from '../../src/protocol/ids.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../../src/protocol/tool.ts';
import { toPooledTool } from '../../src/workers/pooled-tool.ts';
import { createToolPool } from '../../src/workers/tool-pool.ts';
import { type Contender, measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

type Call = (text: string) => Promise<string>;

const threads = 2;

/** A read-only tool call on a worker thread against a bare piscina task: a lone call, then a burst for information. */
export async function measureDispatch(folder: string): Promise<readonly Row[]> {
  const module = pathToFileURL(path.join(folder, 'fixtures', 'echo-tool.mjs')).href;
  const pool = createToolPool({ logger: silentLogger, threads, minThreads: threads });
  const callOurs = toOurs(toPooledTool(toTool(module), pool));
  const piscina = new Piscina<{ readonly text: string }, string>({
    filename: module,
    minThreads: threads,
    maxThreads: threads,
  });
  const callPiscina: Call = (text) => piscina.run({ text });
  const rows: Row[] = [];
  for (const { name, width, goal } of [
    { name: 'dispatch', width: 1, goal: 1.15 },
    { name: 'dispatch.64-at-once', width: 64, goal: null },
  ]) {
    const [ours = [], reference = []] = await measure(
      [toContender('vibe-bus', callOurs, width), toContender('piscina', callPiscina, width)],
      { clock: 'wall', sampleMs: width === 1 ? 1.5 : 6 },
    );
    rows.push(toRow({ name, unit: 'us', goal, ours, reference: { name: 'bare piscina task', series: reference } }));
  }
  await piscina.destroy();
  await pool.close();
  return rows;
}

function toTool(module: string): Tool {
  return {
    name: 'echo',
    description: 'Echo.',
    input_schema: { type: 'object' },
    worker: { module, export: 'echo' },
    call: () => {
      throw new Error('the call did not go to a thread');
    },
  };
}

function toOurs(tool: Tool): Call {
  const { signal } = new AbortController();
  setMaxListeners(0, signal); // the calls of a run have a signal each; here 64 share one
  const context: ToolContext = {
    workspace_root: process.cwd(),
    permissions: defaultPermissions,
    agent: 'bench',
    call: '0123456789ab' as CallId,
    signal,
  };
  return async (text) => {
    const output = (await tool.call({ text }, context)) as { readonly content: string };
    return output.content;
  };
}

function toContender(name: string, call: Call, width: number): Contender {
  async function expectEcho(text: string): Promise<void> {
    if ((await call(text)) !== text) throw new Error('an answer is missing or wrong');
  }
  return {
    name,
    operations: width,
    async run(count) {
      for (let index = 0; index < count; index += 1) {
        await Promise.all(Array.from({ length: width }, (_, lane) => expectEcho(`text ${index} ${lane}`)));
      }
    },
  };
}
