import { createRequire } from 'node:module';
import { EngineError, messageOf } from '../protocol/error.ts';
import type { ToolTask } from '../protocol/thread.ts';
import type { ToolContext } from '../protocol/tool.ts';

/** What runs a call: a tool's `call`, or a bare handler. */
export type Handler = (input: unknown, context: ToolContext) => unknown;

export type LoadHandler = (task: Pick<ToolTask, 'module' | 'export' | 'tool'>) => Promise<Handler>;

/**
 * Loads tool modules once each.
 * @throws EngineError `tool` when a module cannot be loaded or has no such tool; the next call tries again
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
      throw new EngineError('tool', `${task.module} exports ${wanted}`, { code: 'not_found' });
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

/** Imports a module by URL, also TypeScript that runs from source. */
export async function importUrl(url: string): Promise<Record<string, unknown>> {
  try {
    return (await import(url)) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    await registerTypeScript(url);
    return (await import(url)) as Record<string, unknown>;
  }
}

// why: a project that runs its own TypeScript through tsx has it only on the main thread; Node hands no loader on to threads
async function registerTypeScript(url: string): Promise<void> {
  const loader = (await import(createRequire(url).resolve('tsx/esm/api'))) as { register(): unknown };
  loader.register();
}

function findHandler(module: Record<string, unknown>, task: Pick<ToolTask, 'export' | 'tool'>): Handler | undefined {
  if (task.export !== undefined) return toHandler(Object.hasOwn(module, task.export) ? module[task.export] : undefined);
  for (const value of Object.values(module)) {
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
