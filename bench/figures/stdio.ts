import path from 'node:path';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { CallId } from '../../src/protocol/ids.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../../src/protocol/tool.ts';
import { createPluginHost } from '../../src/plugins/host.ts';
import { type Contender, measure } from '../measure.ts';
import { openRawPeer } from '../raw-peer.ts';
import { type Row, toRow } from '../report.ts';

interface RawResult {
  readonly content: readonly [{ readonly text: string }];
}

type Call = (text: string) => Promise<string>;

/** A round trip to a plugin process, one after the other and 64 at a time, against bare newline framing. */
export async function measureStdio(folder: string): Promise<readonly Row[]> {
  const command = [process.execPath, path.join(folder, 'fixtures', 'echo-plugin.mjs')] as const;
  const ours = await openHost(command);
  const raw = await openRawPeer(command);
  const callRaw = async (text: string): Promise<string> => {
    const result = (await raw.request('tools/call', toParams(text))) as RawResult;
    return result.content[0].text;
  };
  const rows: Row[] = [];
  for (const { name, width, goal } of [
    { name: 'stdio.sequential', width: 1, goal: 1.15 },
    { name: 'stdio.64-in-flight', width: 64, goal: 1.2 },
  ]) {
    const rawName = width === 1 ? 'raw framing' : 'raw framing, coalesced';
    const [oursNs = [], rawNs = []] = await measure(
      [toContender('vibe-bus', ours.call, width), toContender(rawName, callRaw, width)],
      // why: long enough that the pipeline is full for most of it
      { clock: 'wall', sampleMs: width === 1 ? 1.5 : 6 },
    );
    rows.push(toRow({ name, unit: 'us', goal, ours: oursNs, reference: { name: rawName, series: rawNs } }));
  }
  await ours.close();
  await raw.close();
  return rows;
}

function toContender(name: string, call: Call, width: number): Contender {
  async function lane(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const text = `text ${index}`;
      if ((await call(text)) !== text) throw new Error('an answer is missing or wrong');
    }
  }
  return {
    name,
    operations: width,
    async run(count) {
      await Promise.all(Array.from({ length: width }, () => lane(count)));
    },
  };
}

async function openHost(command: readonly string[]): Promise<{ readonly call: Call; close(): Promise<void> }> {
  const tools = new Map<string, Tool>();
  const host = createPluginHost({
    projectRoot: process.cwd(),
    logger: silentLogger,
    publish: () => {},
    registry: {
      findTool: (name) => tools.get(name),
      registerTool(tool) {
        tools.set(tool.name, tool);
        return { replaced: false };
      },
      removeTool: (name) => void tools.delete(name),
      registerAgent: () => {},
      registerHooks: () => {},
      registerProvider: () => {},
    },
  });
  await host.load([{ name: 'echo', command, required: true }]);
  const tool = tools.get('echo');
  if (tool === undefined) throw new Error('the plugin offers no tool');
  const context: ToolContext = {
    workspace_root: process.cwd(),
    permissions: defaultPermissions,
    agent: 'bench',
    call: '0123456789ab' as CallId,
    signal: new AbortController().signal,
  };
  return {
    async call(text) {
      const output = (await tool.call({ text }, context)) as { readonly content: string };
      return output.content;
    },
    close: () => host.stop(),
  };
}

/** What the host sends, so that both write and the plugin reads the same bytes. */
function toParams(text: string): object {
  const { read, write, execute, network } = defaultPermissions;
  const vibe = { workspace_root: process.cwd(), agent: 'bench', permissions: { read, write, execute, network } };
  return { name: 'echo', arguments: { text }, _meta: { vibe, progressToken: 1 } };
}
