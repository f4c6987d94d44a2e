import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createHooks, type Hooks } from '../../src/bus/hooks.ts';
import { createPluginHost, type PluginHost, type PluginHostOptions } from '../../src/plugins/host.ts';
import type { PluginRegistry } from '../../src/plugins/tool-placement.ts';
import type { AgentSpec } from '../../src/protocol/agent.ts';
import type { LogFields, Logger, LogLevel } from '../../src/protocol/deps.ts';
import type { HookDecision } from '../../src/protocol/hook.ts';
import { absentCallId } from '../../src/protocol/ids.ts';
import type { JsonObject } from '../../src/protocol/json.ts';
import type { ToolContext } from '../../src/protocol/tool.ts';
import type { PluginEvent, PluginToolResult } from '../../src/protocol/vpp.ts';
import { createToolRegistry, type ToolRegistry } from '../../src/tools/registry.ts';

export interface LogLine {
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface Stage extends AsyncDisposable {
  readonly host: PluginHost;
  readonly root: string;
  readonly tools: ToolRegistry;
  readonly hooks: Hooks;
  readonly agents: Map<string, AgentSpec>;
  readonly logs: LogLine[];
  readonly events: PluginEvent[];
  call(tool: string, input?: JsonObject, signal?: AbortSignal): Promise<PluginToolResult>;
  ask(tool: string, input?: JsonObject): Promise<HookDecision>;
  /** Resolves with the first event that matches, past ones included. */
  event(type: PluginEvent['type'], plugin?: string): Promise<PluginEvent>;
  messages(level: LogLevel): readonly string[];
}

/** Takes the tools of plugins and nothing else of theirs. */
export function toPluginRegistry(tools: ToolRegistry): PluginRegistry {
  return {
    findTool: (name) => tools.get(name),
    registerTool: (tool) => ({ replaced: tools.register(tool).replaced !== undefined }),
    removeTool: (name, owner) => tools.remove(name, owner),
    registerAgent: () => {},
    registerHooks: () => {},
    registerProvider: () => {},
  };
}

/** A host alone, as an embedder would build it, with everything it does on record. Stopped and removed when disposed. */
export async function openStage(options: Partial<PluginHostOptions> = {}): Promise<Stage> {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'plugins-')));
  const logs: LogLine[] = [];
  const events: PluginEvent[] = [];
  const waiting = new Set<(event: PluginEvent) => void>();
  const logger = recordLogs(logs);
  const tools = createToolRegistry();
  const agents = new Map<string, AgentSpec>();
  const hooks = createHooks({ logger });
  const host = createPluginHost({
    projectRoot: root,
    logger,
    registry: {
      ...toPluginRegistry(tools),
      registerAgent: (spec) => void agents.set(spec.role, spec),
      registerHooks: (set) => void hooks.register(set),
    },
    publish(event) {
      events.push(event);
      for (const listener of waiting) listener(event);
    },
    ...options,
  });

  async function call(name: string, input: JsonObject = {}, signal?: AbortSignal): Promise<PluginToolResult> {
    const tool = tools.get(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return (await tool.call(input, toContext(signal))) as PluginToolResult;
  }

  return {
    host,
    root,
    tools,
    hooks,
    agents,
    logs,
    events,
    call,
    ask: async (tool, input = {}) => await hooks.runBeforeTool({ tool, input, context: toContext() }),
    event(type, plugin) {
      const isIt = (event: PluginEvent): boolean =>
        event.type === type && (plugin === undefined || event.plugin === plugin);
      const past = events.find(isIt);
      if (past !== undefined) return Promise.resolve(past);
      return new Promise((resolve) => {
        const listener = (event: PluginEvent): void => {
          if (!isIt(event)) return;
          waiting.delete(listener);
          resolve(event);
        };
        waiting.add(listener);
      });
    },
    messages: (level) => logs.filter((line) => line.level === level).map((line) => line.message),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

export function toContext(signal: AbortSignal = new AbortController().signal): ToolContext {
  return {
    workspace_root: '/ws',
    agent: 'anonymous',
    permissions: { read: true, write: true, execute: true, network: false },
    call: absentCallId,
    signal,
  };
}

export function recordLogs(logs: LogLine[]): Logger {
  const at =
    (level: LogLevel): Logger[LogLevel] =>
    (message, fields = {}) =>
      void logs.push({ level, message, fields });
  return { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export const fixture = (name: string): string => path.join(import.meta.dirname, '../fixtures/plugins', name);

/** Runs the fixture plugin that behaves as told; see its header. */
export function odd(...behaviours: readonly string[]): string[] {
  return [process.execPath, fixture('odd.mjs'), ...behaviours];
}

/** Whether a process runs; one that ended but was not collected yet does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch (error) {
    return process.platform !== 'linux' && !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** Settles when the process is gone: nothing tells about the end of a process that is no child. */
export async function untilGone(pid: number): Promise<void> {
  while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Everything a leak would show in: open descriptors and what keeps the event loop alive. */
export async function openThings(): Promise<{ readonly descriptors: number; readonly resources: readonly string[] }> {
  // why: a handle that was closed is taken off the list in the next turns of the event loop
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  // why: reads and timers of the test runner itself come and go; processes and their pipes are what a plugin could leave
  const resources = process.getActiveResourcesInfo().filter((name) => /Process|Pipe|Socket|TCP/.test(name));
  return { descriptors: countDescriptors(), resources: resources.sort() };
}

function countDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
