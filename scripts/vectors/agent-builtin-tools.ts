import { lstat, mkdir, mkdtemp, readFile, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createHooks } from '../../src/bus/hooks.ts';
import { Cancellation } from '../../src/protocol/cancellation.ts';
import { silentLogger } from '../../src/protocol/deps.ts';
import { createRandomIds } from '../../src/protocol/ids.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/protocol/json.ts';
import { systemClock } from '../../src/protocol/signal.ts';
import { defaultPermissions, type Permissions, type ToolOutput } from '../../src/protocol/tool.ts';
import { createApprovals } from '../../src/tools/approvals.ts';
import { createBuiltinTools } from '../../src/tools/builtin.ts';
import { createToolDispatch } from '../../src/tools/dispatch.ts';
import { checkCommand } from '../../src/tools/shell-policy.ts';
import { toPooledTool } from '../../src/workers/pooled-tool.ts';
import type { ToolPool } from '../../src/workers/tool-pool.ts';
import { difference, expand, toObject, unknownKeys } from './agent-compare.ts';
import type { Player } from './types.ts';

const caseKeys = ['id', 'tool', 'why', 'files', 'permissions', 'input', 'expected'];
const expectedKeys = ['content', 'is_error', 'metadata', 'files', 'absent', 'max_ms'];

/** Plays single calls of the built-in tools: through dispatch and the pool, as a run makes them. */
export const playBuiltinTools: Player = ({ data }) => {
  const { format: _format, group: _group, title: _title, cases, ...rest } = data;
  if (!Array.isArray(cases) || Object.keys(rest).length > 0)
    throw new Error(`unknown keys ${Object.keys(rest).join()}`);
  return cases.filter(isJsonObject).map((row: JsonObject) => ({
    id: textOf(row['id']),
    weight: 'few' as const,
    play: ({ toolPool }) => playCase(row, toolPool),
  }));
};

async function playCase(row: JsonObject, pool: ToolPool): Promise<readonly string[]> {
  const expected = toObject(row['expected']);
  const unknown = [...unknownKeys(row, caseKeys), ...unknownKeys(expected, expectedKeys)];
  if (unknown.length > 0) return unknown;
  const root = await realpath(await mkdtemp(join(tmpdir(), 'vibe-vector-')));
  try {
    for (const [path, content] of Object.entries(toObject(row['files']))) await create(join(root, path), content);
    const startedAt = performance.now();
    const output = await call(row, root, pool);
    const elapsedMs = performance.now() - startedAt;
    return await compare(expected, output, root, elapsedMs);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function create(path: string, content: Json): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const expanded = expand(content);
  if (typeof expanded === 'string') return await writeFile(path, expanded);
  const { $bytes, $symlink, $dir, $text, mtime } = toObject(expanded as Json);
  if (Array.isArray($bytes)) await writeFile(path, Buffer.from($bytes.map(Number)));
  else if (typeof $symlink === 'string') await symlink($symlink, path);
  else if ($dir === true) await mkdir(path);
  else if (typeof $text === 'string') {
    await writeFile(path, $text);
    await utimes(path, Number(mtime), Number(mtime));
  } else throw new Error(`unknown file ${JSON.stringify(content)}`);
}

async function call(row: JsonObject, root: string, pool: ToolPool): Promise<ToolOutput | undefined> {
  const hooks = createHooks({ logger: silentLogger });
  let output: ToolOutput | undefined;
  hooks.register({ name: 'watch', afterTool: (seen) => void (output = seen.output) });
  const newId = createRandomIds();
  const tools = createBuiltinTools({
    bash: { checkCommand: (command, place) => checkCommand(command, { ...place, config: {} }) },
  }).map((tool) => toPooledTool(tool, pool));
  const publish = (): void => {};
  const callTool = createToolDispatch(
    {
      run: newId.run(),
      role: 'anonymous',
      subtask: null,
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      workspaceRoot: root,
      permissions: { ...defaultPermissions, ...(toObject(row['permissions']) as Partial<Permissions>) },
      maxOutputChars: 100_000,
      toolTimeoutMs: 600_000,
      cancelGraceMs: 1_000,
      approvals: createApprovals({ approver: undefined, publish }),
      cancellation: new Cancellation(),
    },
    { hooks, clock: systemClock, newId, logger: silentLogger, publish },
  );
  await callTool({ name: textOf(row['tool']), input: toObject(expand(row['input']) as Json) });
  return output;
}

async function compare(
  expected: JsonObject,
  output: ToolOutput | undefined,
  root: string,
  elapsedMs: number,
): Promise<readonly string[]> {
  const { files, absent, max_ms, ...direct } = expected;
  const found = [difference(direct, output, 'output')];
  for (const [path, content] of Object.entries(toObject(files))) {
    const text = await readFile(join(root, path), 'utf8').catch(() => undefined);
    found.push(difference(content, text, `files.${path}`));
  }
  for (const path of Array.isArray(absent) ? absent : []) {
    const exists = await lstat(join(root, String(path))).then(
      () => true,
      () => false,
    );
    if (exists) found.push(`${String(path)} exists`);
  }
  if (typeof max_ms === 'number' && elapsedMs > max_ms)
    found.push(`took ${Math.round(elapsedMs)} ms, at most ${max_ms}`);
  return found.filter((line) => line !== undefined);
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
