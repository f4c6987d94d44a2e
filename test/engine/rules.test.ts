import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createEngine } from '../../src/engine.ts';
import { agentTool } from '../../src/engine/agent-tool.ts';
import { createScriptedProvider } from '../../src/providers/scripted.ts';
import { describePlacements } from './placements.ts';
import { calling, resultsOf, toolNamed, worker } from './support.ts';

const touch = toolNamed('touch', () => 'done');

describePlacements('rules of the engine and of a run', (open) => {
  test('add up, deny wins, and an agent has its own', async () => {
    const step = calling(['touch', { file: 'a' }], ['touch', { file: 'b' }], ['touch', { file: 'c' }]);
    await using stage = await open([step, { text: 'done' }, step, { text: 'done' }], {
      tools: [touch],
      rules: { allow: ['touch'], agents: { worker: { deny: ['touch(file=a)'] } } },
    });

    await stage.engine.run(worker, 'go', { rules: { deny: ['touch(file=b)'] } }).outcome;
    await stage.engine.run({ ...worker, role: 'other' }, 'go').outcome;

    const [a = '', b = '', c = ''] = resultsOf(stage.requests[1]);
    expect(a).toContain('policy hook: rules: denied by the rule `touch(file=a)`');
    expect(b).toContain('policy hook: rules: denied by the rule `touch(file=b)`');
    expect(c).toBe('done');
    expect(resultsOf(stage.requests[3])).toEqual(['done', 'done', 'done']);
  });

  test('that cannot be read are refused by name, of the engine when it opens, of a run when it starts', async () => {
    await expect(open([], { rules: { ask: ['bash('] } })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringContaining('option `rules`, list `ask`: `bash(`') as string,
    });
    await using stage = await open([]);
    expect(() => stage.engine.run(worker, 'go', { rules: { agents: { worker: { deny: [''] } } } })).toThrow(
      'option `rules` of agent `worker`, list `deny`',
    );
    expect(stage.engine.runs()).toEqual([]);
  });

  test('of a run hold for its child runs too, whatever their own options say', async () => {
    const child = agentTool({ ...worker, role: 'child' }, { rules: { allow: ['touch'] } });
    await using stage = await open(
      [calling(['child', { task: 'touch it' }]), calling(['touch']), { text: 'refused' }, { text: 'done' }],
      { tools: [touch, child] },
    );

    await stage.engine.run(worker, 'go', { rules: { deny: ['touch'] } }).outcome;

    expect(resultsOf(stage.requests[2])[0]).toContain('denied by the rule `touch`');
  });
});

describe('rules of the configuration', () => {
  let folder: string;
  let root: string;

  beforeEach(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), 'vibe-rules-')));
    root = join(folder, 'project');
    await mkdir(join(root, '.vibe'), { recursive: true });
    await mkdir(join(folder, 'user'));
    await writeFile(join(root, '.vibe/config.toml'), '[rules]\ndeny = ["bash(touch *)"]\n');
    await writeFile(join(folder, 'user/config.toml'), '[rules.agents.coder]\nask = ["write_file(docs/**)"]\n');
  });

  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  async function play(trust: boolean): Promise<readonly string[]> {
    const requests: Parameters<typeof resultsOf>[0][] = [];
    const provider = createScriptedProvider(
      {
        script: [
          calling(['bash', { command: 'echo a && touch b' }], ['write_file', { path: 'docs/a.md', content: 'x' }]),
          { text: 'done' },
        ],
      },
      { onRequest: (request) => void requests.push(request) },
    );
    await using engine = await createEngine({ root, configDir: join(folder, 'user'), provider, trust });
    await engine.run('coder', 'go').outcome;
    return resultsOf(requests[1]);
  }

  test('of the user and of a trusted project hold together', async () => {
    const [bash = '', write = ''] = await play(true);

    expect(bash).toContain('rules: denied by the rule `bash(touch *)`');
    expect(write).toContain('was not approved: no approver is configured');
  });

  test('of a project nobody trusted are left out, the user’s hold', async () => {
    const [bash = '', write = ''] = await play(false);

    expect(bash).toContain('Exit code: 0');
    expect(write).toContain('was not approved: no approver is configured');
  });
});
