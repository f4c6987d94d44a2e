import type { ToolAnswer } from '../agent/ports.ts';
import type { BusEvent } from '../bus/events.ts';
import type { LogFields, Logger, LogLevel } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import type { ToolUseBlock, Usage } from '../protocol/message.ts';
import {
  type ReportedCall,
  type ReportedUsage,
  type RunCounters,
  runCounters,
  type RunLogLine,
  type RunNumber,
  type RunReport,
} from './run-port.ts';

/** Reports the main thread has not read yet before previews are dropped. */
export const maxUnreadReports = 64;

/** Collects what happens in a run thread during one turn of its event loop into one message: messages are what costs. */
export interface RunReporter {
  event(event: BusEvent): void;
  usage(counted: Usage): void;
  readonly logger: Logger;
  /** Asks for a tool call; calls made in one go leave in one message, behind what happened before. */
  call(call: ToolUseBlock): Promise<ToolAnswer>;
  /** Sends what there is. */
  flush(): void;
  /** Takes the answer to the call with this number. */
  answer(call: number, answer: ToolAnswer): void;
  /** Sends a report even when there is nothing to tell: a sign of life. */
  acknowledge(): void;
  /** Sends the last report. */
  end(): void;
}

export interface RunReporterOptions {
  readonly run: RunNumber;
  readonly counters: RunCounters;
  post(report: RunReport): void;
}

export function createRunReporter(options: RunReporterOptions): RunReporter {
  let events: RunReport[1][number][] = [];
  let usage: ReportedUsage[] = [];
  let logs: RunLogLine[] = [];
  let calls: ReportedCall[] = [];
  let sent = 0;
  let isScheduled = false;
  let lastCall = 0;
  const waiting = new Map<number, (answer: ToolAnswer) => void>();

  function send(isLast: boolean): void {
    sent += 1;
    options.post([options.run, events, usage, logs, calls, isLast]);
    events = [];
    usage = [];
    logs = [];
    calls = [];
  }

  function flush(): void {
    if (events.length > 0 || usage.length > 0 || logs.length > 0 || calls.length > 0) send(false);
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
    call({ id, name, input }) {
      lastCall += 1;
      const number = lastCall;
      if (calls.length === 0) queueMicrotask(flush);
      calls.push([number, id, name, input]);
      return new Promise((resolve) => waiting.set(number, resolve));
    },
    answer(call, answer) {
      waiting.get(call)?.(answer);
      waiting.delete(call);
    },
    flush,
    acknowledge: () => send(false),
    end: () => send(true),
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
