import type { Engine } from '../engine.ts';
import type { CallId } from '../protocol/ids.ts';
import type { Tool } from '../protocol/tool.ts';

/** Knows where each call of a run executes, in a user's words. */
export interface Places {
  /** The place of a call whose output is there; before that, where its tool usually runs. */
  where(tool: string, call: CallId): string;
}

/** Watches the outputs of an engine: a tool thread names itself in their metadata. */
export function watchPlaces(engine: Pick<Engine, 'tools' | 'hooks'>): Places {
  const threads = new Map<CallId, number>();
  engine.hooks.afterTool('where-calls-run', ({ context, output }) => {
    const thread = output.metadata?.['thread'];
    if (typeof thread === 'number') threads.set(context.call, thread);
  });
  return {
    where(name, call) {
      const thread = threads.get(call);
      return thread === undefined ? describePlace(engine.tools.get(name)) : `worker thread ${thread}`;
    },
  };
}

/** Where a tool runs, as listings show it. */
export function describePlace(tool: Tool | undefined): string {
  if (tool?.name === 'bash' && tool.owner === undefined) return 'child process';
  switch (tool?.runs_in) {
    case 'thread':
      return 'worker thread';
    case 'process':
      return tool.owner === undefined ? 'own process' : `process of ${tool.owner}`;
    case 'main':
    case undefined:
      return 'main thread';
  }
}
