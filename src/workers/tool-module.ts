import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { EngineError, messageOf } from '../protocol/error.ts';
import type { ToolTask } from '../protocol/thread.ts';
import type { ToolContext } from '../protocol/tool.ts';

/** What runs a call: a tool's `call`, or a bare handler. */
export type Handler = (input: unknown, context: ToolContext) => unknown;

export type LoadHandler = (task: Pick<ToolTask, 'module' | 'export' | 'tool'>) => Promise<Handler>;

/**
 * Loads tool modules once each.
 * @throws EngineError `tool` when a module cannot be loaded or has no such tool; Node remembers a failed import, so the calls
 * that follow on this thread fail alike
 */
export function createToolLoader(): LoadHandler {
  const handlers = new Map<string, Handler>();
  return async (task) => {
    const key = `${task.module}#${task.export ?? ''}#${task.tool}`;
    const known = handlers.get(key);
    if (known !== undefined) return known;
    const handler = findHandler(await importModule(task.module), task);
    if (handler === undefined) {
      const wanted = task.export === undefined ? `no tool named \`${task.tool}\`` : `no tool \`${task.export}\``;
      const wayOut = 'export it there, or define it without the module URL to run it on the main thread';
      throw new EngineError('tool', `${task.module} exports ${wanted}; ${wayOut}`, { code: 'not_found' });
    }
    handlers.set(key, handler);
    return handler;
  };
}

async function importModule(url: string): Promise<Record<string, unknown>> {
  try {
    return await importUrl(url);
  } catch (cause) {
    throw new EngineError('tool', `cannot load ${url}: ${messageOf(cause)}`, { cause });
  }
}

/** Imports a module by URL, also TypeScript of a project that runs from source. */
export async function importUrl(url: string): Promise<Record<string, unknown>> {
  const isTypeScript = /\.[mc]?tsx?$/.test(new URL(url).pathname);
  // Run from source itself, this thread has the loader already.
  if (isTypeScript && !import.meta.url.endsWith('.ts')) await registerTypeScript(url);
  return (await import(url)) as Record<string, unknown>;
}

/**
 * Registers tsx when the project of a module has it; else Node itself must be able to read TypeScript.
 *
 * A project that runs its own TypeScript through tsx has it on the main thread only, because Node hands no loader on to
 * threads. It is registered before the first attempt: Node remembers a failed import. Twice does no harm.
 */
async function registerTypeScript(url: string): Promise<void> {
  const require = createRequire(url);
  // One for `import`, one for the `require` that a module of a CommonJS project is loaded by.
  for (const part of ['tsx/cjs/api', 'tsx/esm/api']) {
    let found: string;
    try {
      found = require.resolve(part);
    } catch {
      return;
    }
    // The CommonJS form, which is what this finds, does not find its own parts; the module beside it does.
    const loader = (await import(pathToFileURL(found.replace(/\.cjs$/, '.mjs')).href)) as { register(): unknown };
    loader.register();
  }
}

function findHandler(module: Record<string, unknown>, task: Pick<ToolTask, 'export' | 'tool'>): Handler | undefined {
  // A CommonJS module has its exports once more under `default`, and only there when Node cannot tell their names.
  const { default: whole } = module;
  const entries = new Map([...(isRecord(whole) ? Object.entries(whole) : []), ...Object.entries(module)]);
  if (task.export !== undefined) return toHandler(entries.get(task.export));
  for (const value of entries.values()) {
    if (isTool(value) && value.name === task.tool) return toHandler(value);
  }
  return undefined;
}

function toHandler(value: unknown): Handler | undefined {
  if (typeof value === 'function') return value as Handler;
  return isTool(value) ? (input, context) => value.call(input, context) : undefined;
}

function isTool(value: unknown): value is { readonly name: string; call: Handler } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'name' in value &&
    'call' in value &&
    typeof value.call === 'function'
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
