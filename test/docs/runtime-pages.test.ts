import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { ephemeralTypes, events } from '../../src/bus/events.ts';
import { startModelServer, streamOf } from '../providers/model-server.ts';

const root = join(import.meta.dirname, '../..');
let folder: string;

beforeAll(async () => {
  const scratch = join(root, 'node_modules/.tmp');
  await mkdir(scratch, { recursive: true });
  folder = await mkdtemp(join(scratch, 'runtime-pages-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test('the catalogue of events on the page is the product’s, field by field', async () => {
  const page = await readFile(join(root, 'docs/reference/events.md'), 'utf8');
  const rows = Object.entries(events).map(([type, schema]) => {
    const shape: { readonly [field: string]: z.ZodType } = schema.shape;
    const fields = Object.entries(shape).map(([field, value]) => `\`${field}\`${value.isOptional() ? '?' : ''}`);
    return `| \`${type}\`${ephemeralTypes.has(type) ? ' *' : ''} | ${fields.join(', ')} |`;
  });

  const [, catalogue = ''] = page.split('|---|---|\n');

  expect(rows.length).toBeGreaterThan(40);
  expect(catalogue.trim().split('\n')).toEqual(rows);
});

/** A TypeScript example of a page, counted from 1, run as its reader would. */
async function runExample(page: string, number = 1, cwd = folder): Promise<readonly string[]> {
  const text = await readFile(join(root, page), 'utf8');
  const example = [...text.matchAll(/^```ts\n([^]*?)^```/gm)][number - 1]?.[1] ?? '';
  const source = (name: string): string => JSON.stringify(pathToFileURL(join(root, 'src', name)).href);
  const file = join(folder, `${page.replaceAll('/', '-')}-${number}.mts`);
  await writeFile(
    file,
    example
      .replace("'vibe-bus'", source('index.ts'))
      .replace("'vibe-bus/testing'", source('testing.ts'))
      .replace("'vibe-bus/plugin'", source('plugins/server.ts')),
  );
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', import.meta.resolve('tsx'), file], {
    cwd,
    env: { ...process.env, VIBE_CONFIG_HOME: join(folder, 'user') },
  });
  return stdout.trim().split('\n');
}

test('the example of the events page runs', async () => {
  expect(await runExample('docs/reference/events.md')).toEqual(
    expect.arrayContaining(['metric clock false', '1 agent_started', '2 tool_called', '5 agent_finished']),
  );
});

test('the example of the engine page runs', async () => {
  const lines = await runExample('docs/reference/engine.md');

  expect(lines[0]).toContain('rules: denied by the rule `deploy(branch=main)`');
  expect(lines.slice(1)).toEqual(['deployed docs', 'deployed next', 'completed Done.']);
});

test('the example of the providers page runs, with the configuration the page shows', async () => {
  const page = await readFile(join(root, 'docs/reference/providers.md'), 'utf8');
  const project = join(folder, 'project');
  await mkdir(join(project, '.vibe'), { recursive: true });
  await using server = await startModelServer(
    streamOf(
      'data: {"choices":[{"delta":{"content":"It starts it all."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    ),
  );
  const toml = /^```toml\n([^]*?)^```/m.exec(page)?.[1] ?? '';
  await writeFile(join(project, '.vibe/config.toml'), toml.replace('http://localhost:8000', server.url));

  const lines = await runExample('docs/reference/providers.md', 1, project);

  expect(lines).toEqual(['It starts it all.']);
  expect(server.requests.map(({ path, body }) => [path, body['model']])).toEqual([
    ['/v1/chat/completions', 'qwen3-coder'],
  ]);
  expect(server.problems).toEqual([]);
});

test('the examples of the testing guide run', async () => {
  expect(await runExample('docs/guides/testing.md')).toEqual([
    'agent_started retrying tool_called tool_returned agent_text agent_finished',
  ]);
  expect(await runExample('docs/guides/testing.md', 2)).toEqual([
    'answered: Hello Ada from host',
    'refused: The call to `greet` was blocked by a policy hook: greeter: not to Mallory. Do not repeat this call; choose another approach.',
  ]);
});
