import type { BusEvent } from '../bus/events.ts';
import type { LogFields, Logger, LogLevel } from '../protocol/deps.ts';
import { EngineError, fromWireError, messageOf, toWireError } from '../protocol/error.ts';
import type { Usage } from '../protocol/message.ts';
import {
  type AskAnswer,
  type AskNumber,
  type ReportedUsage,
  type RunAsk,
  type RunCounters,
  runCounters,
  type RunLogLine,
  type RunNumber,
  type RunReport,
  type RunThreadResult,
} from './run-port.ts';

/** Reports the main thread has not read yet before previews are dropped. */
const maxUnreadReports = 64;

/** Collects what happens in a run thread during one turn of its event loop into one message: messages are what costs. */
export interface RunReporter {
  event(event: BusEvent): void;
  usage(counted: Usage): void;
  readonly logger: Logger;
  /**
   * Asks the main thread; what is asked in one go leaves in one message, behind what happened before.
   * @throws EngineError what the main thread failed with, or code `uncloneable`
   */
  ask<T>(...what: Asked): Promise<T>;
  /** Sends what there is. */
  flush(): void;
  /** Takes an answer. */
  answer(answer: AskAnswer): void;
  /** Tells that the run has begun. */
  begin(): void;
  /** Sends the last report; what comes after it is dropped. */
  end(result: RunThreadResult): void;
}

/** An ask before it has its number. */
export type Asked = RunAsk extends infer Ask ? (Ask extends readonly [AskNumber, ...infer Rest] ? Rest : never) : never;

export interface RunReporterOptions {
  readonly run: RunNumber;
  readonly counters: RunCounters;
  post(report: RunReport): void;
  /** Told when a part of a report could not be sent; its asks fail with the error. */
  onUnsendable(error: EngineError): void;
}

export function createRunReporter(options: RunReporterOptions): RunReporter {
  let events: RunReport[1][number][] = [];
  let usage: ReportedUsage[] = [];
  let logs: RunLogLine[] = [];
  let asks: RunAsk[] = [];
  let sent = 0;
  let isScheduled = false;
  let lastAsk = 0;
  let isEnded = false;
  const waiting = new Map<AskNumber, (answer: AskAnswer) => void>();

  function send(result: RunThreadResult | null): void {
    if (isEnded) return;
    const report: RunReport = [options.run, events, usage, logs, asks, result];
    events = [];
    usage = [];
    logs = [];
    asks = [];
    sent += 1;
    try {
      options.post(report);
    } catch (cause) {
      sendRest(report, cause);
    }
  }

  /** Something of it cannot be cloned. What happened must be known all the same, what the run used at the least. */
  function sendRest([run, happened, used, logged, asked, result]: RunReport, cause: unknown): void {
    const message = `what the run says cannot be sent between threads: ${messageOf(cause)}`;
    const unsendable = new EngineError('invalid_request', message, { code: 'uncloneable', cause });
    const error = toWireError(unsendable);
    const end = result === null ? null : ({ ok: false, error } as const);
    try {
      options.post([run, happened, used, logged, [], end]);
    } catch {
      options.post([run, [], used, logged, [], end]);
    }
    options.onUnsendable(unsendable);
    for (const [ask] of asked) answer([run, ask, undefined, error]);
  }

  function flush(): void {
    if (events.length > 0 || usage.length > 0 || logs.length > 0 || asks.length > 0) send(null);
  }

  function answer(given: AskAnswer): void {
    const [, ask] = given;
    waiting.get(ask)?.(given);
    waiting.delete(ask);
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      flush();
    });
  }

  const log = (level: LogLevel) => (message: string, fields?: LogFields) => {
    logs.push({ level, message, fields: fields === undefined ? undefined : toCloneable(fields) });
    schedule();
  };

  return {
    event(event) {
      // why: previews must not pile up in front of a main thread that is behind; all other events are the truth and few
      if (event.type === 'agent_delta') {
        if (sent - Atomics.load(options.counters, runCounters.readReports) > maxUnreadReports) return;
        events.push([event.delta.kind, event.delta.text]);
      } else events.push(event);
      schedule();
    },
    usage(counted) {
      const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = counted;
      usage.push([input_tokens, output_tokens, cache_read_tokens, cache_write_tokens]);
      schedule();
    },
    logger: { trace: log('trace'), debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    ask<T>(...what: Asked) {
      lastAsk += 1;
      const number = lastAsk;
      if (asks.length === 0) queueMicrotask(flush);
      asks.push([number, ...what]);
      return new Promise<T>((resolve, reject) => {
        waiting.set(number, ([, , value, error]) => {
          if (error === undefined) resolve(value as T);
          else reject(fromWireError(error));
        });
      });
    },
    answer,
    flush,
    begin: () => send(null),
    end(result) {
      send(result);
      isEnded = true;
    },
  };
}

/** Log fields may hold anything; what cannot cross is told in words, so that no report is lost to one of them. */
function toCloneable(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, toCloneableValue(value)]));
}

function toCloneableValue(value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return messageOf(value);
  try {
    return structuredClone(value);
  } catch {
    return '[object]'; // it holds a function or the like
  }
}
