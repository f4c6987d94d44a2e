import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createRandomIds } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import { defaultPermissions, type Permissions, type ToolOutput, type ToolContext } from '../../src/protocol/tool.ts';
import { type BuiltinToolOptions, createBuiltinTools } from '../../src/tools/builtin.ts';
import { checkInput } from '../../src/tools/check-input.ts';

const ids = createRandomIds();

/** A folder on the disk with two rooms: `root` is the workspace, `outside` lies beside it. */
export interface Workspace extends Disposable {
  readonly root: string;
  readonly outside: string;
  write(path: string, content: string | Buffer): string;
  link(path: string, target: string): void;
  context(changes?: Partial<ToolContext>): ToolContext;
  /** One call of a built-in tool as dispatch makes it. */
  call(tool: string, input: JsonObject, options?: CallOptions): Promise<ToolOutput>;
}

export interface CallOptions {
  readonly permissions?: Partial<Permissions>;
  readonly signal?: AbortSignal;
  readonly builtin?: Partial<BuiltinToolOptions>;
}

export function createWorkspace(): Workspace {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'vibe-tools-')));
  const root = join(base, 'repo');
  const outside = join(base, 'repo-evil');
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.txt'), 'secret');

  const context = (changes: Partial<ToolContext> = {}): ToolContext => ({
    workspace_root: root,
    permissions: defaultPermissions,
    agent: 'tester',
    call: ids.call(),
    signal: new AbortController().signal,
    ...changes,
  });

  return {
    root,
    outside,
    write(path, content) {
      const file = join(root, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    link: (path, target) => symlinkSync(target, join(root, path)),
    context,
    async call(name, input, options = {}) {
      const tools = createBuiltinTools({ bash: { checkCommand: () => ({ allow: true }) }, ...options.builtin });
      const tool = tools.find((entry) => entry.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      const permissions = { ...defaultPermissions, ...options.permissions };
      const given = context({ permissions, ...(options.signal === undefined ? {} : { signal: options.signal }) });
      const checked = await checkInput(tool, input, given);
      return checked.ok ? ((await tool.call(checked.value, given)) as ToolOutput) : checked.output;
    },
    [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }),
  };
}
