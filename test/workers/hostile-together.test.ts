import { monitorEventLoopDelay } from 'node:perf_hooks';
import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../../src/protocol/deps.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { Tool, ToolOutput } from '../../src/protocol/tool.ts';
import { createBuiltinTools } from '../../src/tools/builtin.ts';
import { checkInput } from '../../src/tools/check-input.ts';
import { toPooledTool } from '../../src/workers/pooled-tool.ts';
import { createToolPool } from '../../src/workers/tool-pool.ts';
import { exits } from '../fixtures/tools/hostile.ts';
import { createWorkspace } from '../tools/workspace.ts';

test.skipIf(process.platform === 'win32')(
  'WK1, WK7, WK8, WK9, WK10: hostile calls all at once cost themselves only',
  async ({ annotate }) => {
    using workspace = createWorkspace();
    const pool = createToolPool({ logger: silentLogger, threads: 2 });
    workspace.write('a.txt', `${'a'.repeat(40)}!\n`);
    workspace.write('small.txt', 'fine\n');
    execFileSync('mkfifo', [join(workspace.root, 'pipe')]);
    truncateSync(workspace.write('sparse.bin', ''), 20 * 1_024 ** 3);
    workspace.link('loop', 'loop');
    const builtin = createBuiltinTools({ bash: { checkCommand: () => ({ allow: true }) } });

    async function call(name: string, input: JsonObject): Promise<string> {
      const tool: Tool | undefined = name === 'exits' ? exits : builtin.find((entry) => entry.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const context = workspace.context({ permissions: { read: true, write: false, execute: false, network: false } });
      const checked = await checkInput(tool, input, context);
      if (!checked.ok) return checked.output.content;
      const output = (await toPooledTool(tool, pool).call(checked.value, context)) as ToolOutput;
      return output.content;
    }

    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    const before = process.memoryUsage().rss;

    const [pattern, exit, ...rest] = await Promise.all([
      call('grep', { pattern: '^(a+)+$', path: 'a.txt' }),
      call('exits', {}).catch((error: Error) => error.message),
      call('read_file', { path: 'pipe' }),
      call('read_file', { path: '/proc/self/status' }),
      call('read_file', { path: 'sparse.bin' }),
      call('read_file', { path: 'loop' }),
      ...Array.from({ length: 50 }, () => call('read_file', { path: 'small.txt' })),
    ]);

    delay.disable();
    const figures = `event-loop delay p99 ${(delay.percentile(99) / 1e6 - 10).toFixed(1)} ms, memory ${Math.round((process.memoryUsage().rss - before) / 2 ** 20)} MiB more`;
    await annotate(figures);

    expect(pattern).toContain('pattern took too long');
    expect(exit).toBe('worker exited with code 3');
    expect(rest.slice(0, 4)).toEqual([
      '`pipe` is not a regular file and cannot be read.',
      expect.stringMatching(/^Access denied: /),
      '`sparse.bin` looks like a binary file and cannot be shown as text.',
      expect.stringMatching(/^Access denied: /),
    ]);
    expect(rest.slice(4)).toEqual(Array.from({ length: 50 }, () => '     1\tfine'));
    await pool.close();
  },
);

test.skipIf(process.platform === 'win32')(
  'WK7: a file of 20 GiB is looked at without being held in memory',
  async ({ annotate }) => {
    using workspace = createWorkspace();
    const pool = createToolPool({ logger: silentLogger, threads: 1 });
    workspace.write('small.txt', 'fine\n');
    truncateSync(workspace.write('sparse.bin', ''), 20 * 1_024 ** 3);
    const tools = createBuiltinTools({ bash: { checkCommand: () => ({ allow: true }) } });
    const call = async (name: string, input: JsonObject): Promise<string> => {
      const tool = tools.find((entry) => entry.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const output = (await toPooledTool(tool, pool).call(input, workspace.context())) as ToolOutput;
      return output.content;
    };
    // The thread and what it loads are there before memory is looked at.
    await call('read_file', { path: 'small.txt', offset: 1, limit: 10 });
    await call('grep', { path: 'small.txt', pattern: 'x', output_mode: 'files', context: 0, case_insensitive: false });
    const before = process.memoryUsage().rss;

    const read = await call('read_file', { path: 'sparse.bin', offset: 1, limit: 10 });
    const found = await call('grep', {
      path: 'sparse.bin',
      pattern: 'x',
      output_mode: 'files',
      context: 0,
      case_insensitive: false,
    });

    const grown = (process.memoryUsage().rss - before) / 2 ** 20;
    await annotate(`${grown.toFixed(1)} MiB more`);
    expect(read).toBe('`sparse.bin` looks like a binary file and cannot be shown as text.');
    expect(found).toContain('1 files over 10 MiB were skipped');
    expect(grown).toBeLessThanOrEqual(64);
    await pool.close();
  },
);
