import { silentLogger } from '../src/protocol/deps.ts';
import type { CallId } from '../src/protocol/ids.ts';
import { defaultPermissions, type Tool, type ToolContext } from '../src/protocol/tool.ts';
import { createPluginHost, type PluginHost } from '../src/plugins/host.ts';
import { Cancellation } from '../src/protocol/cancellation.ts';
import { type CallLimit, CallLimits } from '../src/tools/call-limit.ts';
import type { Contender } from './measure.ts';
import { openRawPeer } from './raw-peer.ts';

/** Calls the tool `echo` of a process: the text comes back. */
export interface EchoClient {
  call(text: string): Promise<string>;
  close(): Promise<void>;
}

/** Texts through one client, `width` of them in flight. */
export function toEchoContender(name: string, call: EchoClient['call'], width: number, payload = ''): Contender {
  async function lane(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      const text = `${payload}text ${index}`;
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

/** A plugin host as an engine has it, all limits on. */
export function openHost(tools: Map<string, Tool> = new Map()): PluginHost {
  return createPluginHost({
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
}

/** Ours: a VPP `tools/call` through the plugin host. */
export async function openEchoHost(command: readonly string[]): Promise<EchoClient> {
  const tools = new Map<string, Tool>();
  const host = openHost(tools);
  await host.load([{ name: 'echo', command, required: true }]);
  const tool = tools.get('echo');
  if (tool === undefined) throw new Error('the plugin offers no tool');
  const workspace = process.cwd();
  const limits = new CallLimits(new Cancellation());
  /** As the engine makes it for each call. */
  const toContext = (limit: CallLimit): ToolContext => ({
    workspace_root: workspace,
    permissions: defaultPermissions,
    agent: 'bench',
    call: '0123456789ab' as CallId,
    get signal() {
      return limit.signal;
    },
  });
  return {
    async call(text) {
      using limit = limits.open(0);
      const output = (await tool.call({ text }, toContext(limit))) as { readonly content: string };
      return output.content;
    },
    close: () => host.stop(),
  };
}

interface RawResult {
  readonly content: readonly [{ readonly text: string }];
}

/** The reference: JSON lines with ids and nothing else. */
export async function openRawEcho(command: readonly [string, ...string[]]): Promise<EchoClient> {
  const raw = await openRawPeer(command);
  return {
    async call(text) {
      const result = (await raw.request('tools/call', toParams(text))) as RawResult;
      return result.content[0].text;
    },
    close: () => raw.close(),
  };
}

/** What the host sends, so that both write and the plugin reads the same bytes. */
export function toParams(text: string) {
  const { read, write, execute, network } = defaultPermissions;
  const vibe = { workspace_root: process.cwd(), agent: 'bench', permissions: { read, write, execute, network } };
  return { name: 'echo', arguments: { text }, _meta: { vibe, progressToken: 1 } };
}
