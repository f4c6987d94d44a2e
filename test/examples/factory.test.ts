import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { manufacture } from '../../examples/factory/factory.ts';
import { git } from '../../examples/factory/git.ts';
import { scriptedKind } from '../../examples/factory/model.ts';
import { openProject } from '../../examples/factory/project.ts';
import { task } from '../../examples/factory/task.ts';
import { createEngine, type Engine } from '../../src/index.ts';
import { builtinRoles } from '../../src/protocol/agent.ts';
import { createRecorder } from '../../src/testing/recorder.ts';
import { readModules } from '../architecture/modules.ts';
import { cleanEnvironment, watch } from '../cli/command.ts';

const source = path.join(import.meta.dirname, '../../examples/factory');
let folder: string;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'factory-test-')));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function openFactory(name: string): Promise<{ readonly engine: Engine; readonly root: string }> {
  const root = path.join(folder, name);
  await openProject(root);
  const engine = await createEngine({
    root,
    configDir: path.join(folder, 'user'),
    model: 'script/script',
    providerKinds: { script: scriptedKind },
    config: { providers: { script: {} } },
  });
  return { engine, root };
}

describe('the factory example', () => {
  test('turns a task into reviewed commits with all twelve built-in agents', async () => {
    const { engine, root } = await openFactory('units');
    using recorder = createRecorder(engine.bus);
    let sideBySide = 0;
    engine.bus.on('agent_started', () => {
      sideBySide = Math.max(sideBySide, engine.stats().run_pool.running);
    });

    const product = await manufacture(engine, task);
    await engine.close();

    const started = recorder.envelopes.flatMap(({ event }) => (event.type === 'agent_started' ? [event.role] : []));
    expect(new Set(started)).toEqual(new Set(builtinRoles));
    expect(sideBySide).toBe(2);
    expect(product.reports.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
    expect(product.review.verdict).toBe('approved');
    const failed = recorder.envelopes.flatMap(({ event }) =>
      event.type === 'tool_returned' && event.is_error ? [`${event.role} ${event.tool}`] : [],
    );
    expect(failed).toEqual(['coder edit_file']);
    const log = await git(root, 'log', '--first-parent', '--no-merges', '--format=%s');
    expect(log.trim().split('\n')).toEqual(['fix: refuse temperatures below absolute zero', 'feat: convert lengths']);
    const all = await git(root, 'log', '--no-merges', '--format=%s');
    expect(all).toContain('feat: convert temperatures to degrees Celsius');
    expect(all).toContain('feat: convert weights to kilograms');
    expect(all).toContain('docs: list all conversions');
    expect(await readFile(path.join(root, 'src/index.js'), 'utf8')).toMatch(/length.*temperature.*weight/s);
    expect(spawnSync(process.execPath, ['--test'], { cwd: root }).status).toBe(0);
  }, 120_000);

  test('leaves no branch, no worktree and no change behind, whatever happens', async () => {
    const { engine, root } = await openFactory('stopped');
    const stop = new AbortController();
    engine.bus.on('tool_called', ({ event }) => {
      if (event.role === 'coder') stop.abort();
    });

    await expect(manufacture(engine, task, { signal: stop.signal })).rejects.toThrow();
    await engine.close();

    expect((await git(root, 'worktree', 'list')).trim().split('\n')).toHaveLength(1);
    expect((await git(root, 'branch', '--format=%(refname:short)')).trim()).toBe('main');
    expect(await git(root, 'status', '--porcelain')).toBe('');
  }, 120_000);

  test('is shown live by the demo', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', path.join('scripts', 'demo', 'main.ts'), 'factory'], {
      cwd: path.join(source, '../..'),
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });

    const { code, out, err } = await watch(child).finished;

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/coder · Convert weights +starts, in a thread\n/);
    expect(out).toMatch(/^review: approved · /m);
    expect(out).toMatch(/^18 runs, 3 of them in \d threads?, 2 side by side\n0 processes left running\n$/m);
  }, 120_000);

  test('imports only what a user of the package can', () => {
    const imported = readModules(source).flatMap(({ imports }) => imports.map(({ target }) => target));
    const allowed = /^([a-z]+\.ts|\.\.\/\.\.\/src\/(index|testing)\.ts|node:[a-z_/]+|zod)$/;

    expect(imported.length).toBeGreaterThan(20);
    expect(imported.filter((target) => !allowed.test(target))).toEqual([]);
  });
});
