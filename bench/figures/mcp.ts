import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { openMcpConnection } from '../../src/mcp/connect.ts';
import type { ConnectDeps } from '../../src/mcp/connect-deps.ts';
import { requireServerRecord } from '../../src/mcp/record.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { measure } from '../measure.ts';
import { type Row, toRow } from '../report.ts';

type Era = 'legacy' | 'modern';

interface EchoServer {
  call(text: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Calls and connects over stdio, against the bare SDK with the same server. */
export async function measureMcp(folder: string): Promise<readonly Row[]> {
  const server = path.join(folder, 'fixtures', 'mcp-server.mjs');
  const rows: Row[] = [];
  for (const era of ['legacy', 'modern'] as const) rows.push(await measureCalls(server, era));
  rows.push(await measureConnect(server));
  return rows;
}

async function measureCalls(server: string, era: Era): Promise<Row> {
  const ours = await openOurs(server, era);
  const bare = await openBare(server, era);
  const [oursNs = [], bareNs = []] = await measure(
    [
      { name: 'vibe-bus', run: (count) => callMany(ours, count) },
      { name: 'SDK client', run: (count) => callMany(bare, count) },
    ],
    { clock: 'wall' },
  );
  await ours.close();
  await bare.close();
  return toRow({
    name: `mcp.call-${era}`,
    unit: 'us',
    goal: 1.1,
    ours: oursNs,
    reference: { name: 'SDK client', series: bareNs },
  });
}

async function callMany(server: EchoServer, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await server.call('text');
}

/** From the start of the process to the first list, and its end. */
async function measureConnect(server: string): Promise<Row> {
  const connect = (open: typeof openOurs) => async (count: number) => {
    for (let index = 0; index < count; index += 1) await (await open(server, 'modern')).close();
  };
  const [oursNs = [], bareNs = []] = await measure(
    [
      { name: 'vibe-bus', run: connect(openOurs) },
      { name: 'SDK auto', run: connect(openBare) },
    ],
    { clock: 'wall', rounds: 40 },
  );
  return toRow({
    name: 'mcp.connect-modern',
    unit: 'ms',
    goal: 0.7,
    ours: oursNs,
    reference: { name: 'SDK auto', series: bareNs },
  });
}

async function openOurs(server: string, era: Era): Promise<EchoServer> {
  const record = requireServerRecord({
    name: 'echo',
    command: process.execPath,
    args: [server],
    env: { ECHO_ERA: era },
    protocol: era === 'legacy' ? 'legacy' : 'auto',
  });
  const connection = await openMcpConnection(record, deps());
  return {
    call: (text) => connection.callTool('echo', { text }),
    close: () => connection.stop(),
  };
}

function deps(): ConnectDeps {
  return {
    clock: systemClock,
    logger: silentLogger,
    identity: { name: 'vibe-bus', version: '0.0.0' },
    env: process.env,
    newMarker: randomUUID,
    workspaceFolder: tmpdir(),
    userHome: undefined,
    folder: tmpdir(),
    fetch,
  };
}

async function openBare(server: string, era: Era): Promise<EchoServer> {
  const client = new Client(
    { name: 'bare', version: '0.0.0' },
    era === 'legacy' ? {} : { versionNegotiation: { mode: 'auto' } },
  );
  const transport = new StdioClientTransport({ command: process.execPath, args: [server], env: { ECHO_ERA: era } });
  await client.connect(transport);
  return {
    call: (text) => client.callTool({ name: 'echo', arguments: { text } }),
    close: () => client.close(),
  };
}
