import { afterAll } from 'vitest';
import { silentLogger } from '../src/protocol/deps.ts';
import { createRunPool } from '../src/workers/run-pool.ts';
import { testVectors } from './play-vectors.ts';

const runPool = createRunPool({ logger: silentLogger });
afterAll(() => runPool.close());

const tables = [
  'builtin_tools',
  'shell_policy',
  'providers',
  'extraction',
  'overrides',
  'units',
  'prompts',
  'transcripts',
  'builtin_agents',
  'events',
];

await testVectors(
  'agent',
  { tickMs: 100, threads: true, runPool },
  ({ data }) => !tables.includes(String(data['group'])),
);
