import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/leaks.ts'],
    pool: 'forks',
    // Real processes, threads and servers: the limit catches a hang, it is no performance goal.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    maxConcurrency: 6,
    reporters: ['default', './scripts/summary-reporter.ts'],
  },
});
