import { testVectors } from './play-vectors.ts';

await testVectors('agent', { tickMs: 100, threads: false });
