import { testVectors } from './play-vectors.ts';

await testVectors('vpp', { tickMs: 100, threads: false });
