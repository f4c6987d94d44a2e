import { expect, test } from 'vitest';
import { loadPlugins } from '../../scripts/load/plugins.ts';
import { createPrintedReport } from '../../scripts/load/report.ts';

test.skipIf(process.platform === 'win32')(
  'of many plugins at once, some misbehaving, no process, descriptor or handle stays (L3)',
  { timeout: 120_000 },
  async () => {
    const lines: string[] = [];
    const report = createPrintedReport('L3', (line) => lines.push(line));

    await loadPlugins(report, { plugins: 24, atOnce: 8, misbehaving: 12 });

    expect(lines.filter((line) => line.endsWith('TOO MUCH'))).toEqual([]);
    expect(report.holds).toBe(true);
    expect(lines).toContain('L3  processes started: 24');
  },
);
