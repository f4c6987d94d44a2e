import type { Reporter, TestModule } from 'vitest/node';

/** Prints `N passed, N failed` as the last line of a run; a file that fails to load counts as one failure. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandled.length;
    let skipped = 0;
    for (const module of modules) {
      if (module.state() === 'failed' && module.errors().length > 0) failed += 1;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'failed') failed += 1;
        else skipped += 1;
      }
    }
    process.on('exit', () => {
      if (skipped > 0) process.stdout.write(`${skipped} skipped\n`);
      process.stdout.write(`${passed} passed, ${failed} failed\n`);
    });
  }
}
