import type { Logger } from '../protocol/deps.ts';
import { readLogParams } from '../protocol/vpp-read.ts';
import { createFloodGate, createWindowGate } from '../transport/flood-gate.ts';
import type { FloodLimits } from './settings.ts';

/** What a plugin says for the log: stderr lines, `log` notifications and what is to be ignored; none of it can flood. */
export interface LogIntake {
  onStderrLine(line: string): void;
  onLog(params: unknown): void;
  onIgnored(method: string): void;
  /** Reports what was held back until now. */
  end(): void;
}

export function createLogIntake(options: {
  readonly plugin: string;
  readonly logger: Logger;
  readonly stderr: FloodLimits;
  readonly logs: FloodLimits;
  readonly ignoredPerMinute: number;
  readonly elapsed: () => number;
}): LogIntake {
  const { plugin, logger, elapsed } = options;
  const stderrGate = createFloodGate(options.stderr, elapsed);
  const logGate = createFloodGate(options.logs, elapsed);
  const ignoredGate = createWindowGate(options.ignoredPerMinute, 60_000, elapsed);

  function reportSuppressed(count: number): void {
    if (count > 0) logger.debug(`[${plugin}] ${count} lines suppressed`);
  }

  return {
    onStderrLine(line) {
      if (!stderrGate.admit()) return;
      reportSuppressed(stderrGate.takeSuppressed());
      logger.debug(`[${plugin}] ${line}`);
    },
    onLog(params) {
      if (!logGate.admit()) return;
      reportSuppressed(logGate.takeSuppressed());
      let entry: ReturnType<typeof readLogParams>;
      try {
        entry = readLogParams(params);
      } catch {
        logger.debug('malformed log notification');
        return;
      }
      logger[entry.level](entry.text);
    },
    onIgnored(method) {
      if (ignoredGate.admit()) logger.debug(`ignoring notification \`${method}\``);
    },
    end() {
      reportSuppressed(stderrGate.takeSuppressed());
      reportSuppressed(logGate.takeSuppressed());
    },
  };
}
