import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { measure } from '../measure.ts';
import { type EchoClient, openEchoHost, openRawEcho, toEchoContender, toParams } from '../plugin-host.ts';
import { type Row, toRow } from '../report.ts';

/** Plugins beside the official MCP client, and with large arguments. */
export async function measurePlugins(folder: string): Promise<readonly Row[]> {
  const command = [process.execPath, path.join(folder, 'fixtures', 'echo-plugin.mjs')] as const;
  return [...(await measureAgainstSdk(command)), await measureLarge(command)];
}

type Command = readonly [string, ...string[]];

async function measureAgainstSdk(command: Command): Promise<readonly Row[]> {
  const ours = await openEchoHost(command);
  const sdk = await openSdk(command);
  const raw = await openRawEcho(command);
  const rows: Row[] = [];
  for (const { name, width, goal } of [
    { name: 'plugins.sdk', width: 1, goal: 0.5 },
    { name: 'plugins.sdk-64', width: 64, goal: 0.25 },
  ]) {
    const [oursNs = [], rawNs = [], sdkNs = []] = await measure(
      [
        toEchoContender('vibe-bus', ours.call, width),
        toEchoContender('raw', raw.call, width),
        toEchoContender('sdk', sdk.call, width),
      ],
      { clock: 'wall', sampleMs: width === 1 ? 1.5 : 6, rounds: 200 },
    );
    const reference = { name: 'MCP client 2.4', series: sdkNs };
    rows.push(toRow({ name, unit: 'us', goal, ours: oursNs, reference }));
    // what the system itself takes for the bytes to go there and back: no host can be below
    rows.push(toRow({ name: `${name}.raw`, unit: 'us', goal: null, ours: rawNs, reference }));
  }
  await raw.close();
  await ours.close();
  await sdk.close();
  return rows;
}

/** The same job as ours: the same bytes, progress, a signal for each call. */
async function openSdk([program, ...args]: Command): Promise<EchoClient> {
  const client = new Client({ name: 'bench', version: '1' }, { capabilities: {} });
  await client.connect(new StdioClientTransport({ command: program, args: [...args] }));
  const { vibe } = toParams('')._meta;
  return {
    async call(text) {
      const params = { name: 'echo', arguments: { text }, _meta: { vibe } };
      const { content } = await client.callTool(params, { signal: new AbortController().signal, onprogress: () => {} });
      const [block] = content;
      return block?.type === 'text' ? block.text : '';
    },
    close: () => client.close(),
  };
}

/** 100 KB there and back. */
async function measureLarge(command: Command): Promise<Row> {
  const ours = await openEchoHost(command);
  const raw = await openRawEcho(command);
  const payload = 'a line of text, as files have it \n'.repeat(3_000);
  const [oursNs = [], rawNs = []] = await measure(
    [toEchoContender('vibe-bus', ours.call, 1, payload), toEchoContender('raw', raw.call, 1, payload)],
    { clock: 'wall', sampleMs: 6, rounds: 200 },
  );
  await ours.close();
  await raw.close();
  const reference = { name: 'raw framing', series: rawNs };
  return toRow({ name: 'plugins.100-KB', unit: 'us', goal: 1.15, ours: oursNs, reference });
}
