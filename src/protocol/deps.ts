/** Where time comes from; a field of the engine's options so that tests can hold it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that never jump back, for durations. */
  elapsed(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error';
export type LogFields = { readonly [key: string]: unknown };

/** What library code logs to. Every line of the contracts reaches it as message plus fields, before any level filter. */
export type Logger = { readonly [level in LogLevel]: (message: string, fields?: LogFields) => void };

export const silentLogger: Logger = {
  trace: () => {},
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};

/** A logger that adds the same fields to every line. */
export function withFields(logger: Logger, fields: LogFields): Logger {
  const add = (level: LogLevel) => (message: string, more?: LogFields) =>
    logger[level](message, { ...fields, ...more });
  return { trace: add('trace'), debug: add('debug'), info: add('info'), warn: add('warn'), error: add('error') };
}
