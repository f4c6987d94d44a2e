import { createRandomIds, type RunId } from '../../src/protocol/ids.ts';
import type { ToolTask } from '../../src/protocol/thread.ts';
import { defaultPermissions } from '../../src/protocol/tool.ts';
import type { Logger, LogFields } from '../../src/protocol/deps.ts';

const ids = createRandomIds();

export function fixtureUrl(name: string): string {
  return new URL(`../fixtures/tools/${name}`, import.meta.url).href;
}

/** A call of a tool of a fixture module, from a run of its own unless one is given. */
export function taskOf(module: string, tool: string, input: unknown = {}, run: RunId = ids.run()): ToolTask {
  return {
    module: fixtureUrl(module),
    tool,
    input,
    context: { workspace_root: '/', permissions: defaultPermissions, agent: 'tester', call: ids.call(), run },
  };
}

export interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that keeps its lines and lets a test wait for one: the first with this text, or the `nth`. */
export function createLogRecorder(): {
  logger: Logger;
  lines: LogLine[];
  next(text: string, nth?: number): Promise<LogLine>;
} {
  const lines: LogLine[] = [];
  const waiting = new Set<{ find: () => LogLine | undefined; resolve: (line: LogLine) => void }>();
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push({ level, message, fields });
      for (const entry of waiting) {
        const found = entry.find();
        if (found === undefined) continue;
        waiting.delete(entry);
        entry.resolve(found);
      }
    };
  const logger = {
    trace: write('trace'),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
  const next = (text: string, nth = 1): Promise<LogLine> => {
    const find = (): LogLine | undefined => lines.filter((line) => line.message.includes(text))[nth - 1];
    const seen = find();
    return seen === undefined ? new Promise((resolve) => waiting.add({ find, resolve })) : Promise.resolve(seen);
  };
  return { logger, lines, next };
}
