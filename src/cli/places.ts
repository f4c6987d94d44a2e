import type { Engine } from '../engine.ts';
import type { CallId } from '../protocol/ids.ts';
import type { Tool } from '../protocol/tool.ts';

/** Knows where the calls of a run executed, in a user's words. */
export interface Places {
  /** The place of a call that has ended; a call that was refused ran nowhere. */
  where(call: CallId): string;
}

/** Watches the outputs of an engine: a tool thread names itself in their metadata. */
export function watchPlaces(engine: Pick<Engine, 'tools' | 'hooks'>): Places {
  const places = new Map<CallId, string>();
  engine.hooks.afterTool('where-calls-run', ({ tool, context, output }) => {
    const thread = output.metadata?.['thread'];
    const place = typeof thread === 'number' ? `worker thread ${thread}` : describePlace(engine.tools.get(tool));
    places.set(context.call, place);
  });
  return { where: (call) => places.get(call) ?? 'not run' };
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
