import path from 'node:path';
import { createEngine } from '../../src/engine.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { type Row, toRow } from '../report.ts';

const badKinds = ['hang', 'crash', 'spew', 'slow'] as const;
const serverCount = 20;
const rounds = 3;
/** What one bad server may cost, in milliseconds. */
const allowedMs = 50;

/**
 * From opening an engine to the first model call of its first run, with one bad server of twenty against twenty good ones.
 * The goal of each ratio is the allowed delay on top of the reference.
 */
export async function measureFirstStep(folder: string): Promise<readonly Row[]> {
  const server = path.join(folder, 'fixtures', 'mcp-server.mjs');
  const good: number[] = [];
  const bad = badKinds.map((): number[] => []);
  await timeFirstStep(server, 'good'); // loads and compiles what all of them need
  for (let round = 0; round < rounds; round += 1) {
    good.push(await timeFirstStep(server, 'good'));
    for (const [index, kind] of badKinds.entries()) bad[index]?.push(await timeFirstStep(server, kind));
  }
  const reference = { name: `${serverCount} good`, series: good };
  return badKinds.map((kind, index) => {
    const input = { name: `mcp.first-step-${kind}`, unit: 'ms', ours: bad[index] ?? [], reference } as const;
    const { value } = toRow({ ...input, goal: null }).reference;
    return toRow({ ...input, goal: 1 + allowedMs / value });
  });
}

/** In nanoseconds. */
async function timeFirstStep(server: string, first: string): Promise<number> {
  const started = performance.now();
  let asked = 0;
  await using engine = await createEngine({
    bare: true,
    env: { ...process.env, VIBE_MCP_SANDBOX: '0' },
    provider: createScriptedProvider(
      { script: [{ text: 'done' }] },
      {
        onRequest: () => {
          asked = performance.now();
        },
      },
    ),
    mcpServers: Array.from({ length: serverCount }, (_, index) => ({
      name: `server-${index}`,
      command: process.execPath,
      args: [server, index === 0 ? first : 'good'],
      tools: { eager: ['*'] },
    })),
  });
  await engine.run({ role: 'bench', system_prompt: 'Work.' }, 'go').outcome;
  return (asked - started) * 1_000_000;
}
