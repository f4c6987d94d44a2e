import { destination, pino } from 'pino';
import type { LogFields, Logger, LogLevel } from '../protocol/deps.ts';
import { messageOf } from '../protocol/error.ts';
import { isJsonObject } from '../protocol/json.ts';
import { toPrintableLine } from './printable.ts';

export interface LoggerOptions {
  /**
   * What is logged, as in `VIBE_LOG`: a level, or levels by target, comma-separated: `warn,mcp=debug` is everything from
   * `warn` and the target `vibe::mcp` from `debug`. `off` is a level too. Default `info`.
   */
  readonly filter?: string | undefined;
  /** `text`: `INFO vibe::mcp: message key=value`; `json`: one object a line. Default `text`. */
  readonly format?: 'text' | 'json';
  /** Takes one line, newline included. Default: standard error, written at once. */
  readonly write?: (line: string) => void;
}

/**
 * The logger used when an embedder brings none: pino, to standard error. A line's target is its field `target`, default
 * `vibe`. Outside text in it cannot break a line or drive a terminal (PD9); fields named like secrets are replaced (PD8).
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const { allows, unknown } = parseFilter(options.filter ?? 'info');
  const write = options.write ?? writeToStandardError();
  const toLine = options.format === 'json' ? toJsonLine : toTextLine;
  const inner = pino(
    {
      level: 'trace',
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      redact: { paths: secretPaths, censor: '***' },
      depthLimit: 8,
    },
    { write: (line) => write(toLine(line)) },
  );

  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      const target = typeof fields['target'] === 'string' ? fields['target'] : 'vibe';
      if (allows(level, target)) inner[level]({ ...toPlainFields(fields), target }, message);
    };
  const logger = { trace: at('trace'), debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  if (unknown.length > 0) logger.warn(`VIBE_LOG: ignoring ${unknown.join(', ')}; levels are ${levels.join(', ')}`);
  return logger;
}

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'off'] as const;

const secretNames = [
  'api_key',
  'apiKey',
  'authorization',
  'token',
  'access_token',
  'refresh_token',
  'password',
  'env',
  'headers',
];
const secretPaths = secretNames.flatMap((name) => [name, `*.${name}`]);

interface LogFilter {
  allows(level: LogLevel, target: string): boolean;
  readonly unknown: readonly string[];
}

/** `mcp=debug` names the target `vibe::mcp` and what lies below it (`vibe::mcp::…`); the longest name that fits counts. */
function parseFilter(text: string): LogFilter {
  const unknown: string[] = [];
  const byTarget = new Map<string, number>();
  let general = levels.indexOf('info');
  for (const part of text.split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    const equals = part.lastIndexOf('=');
    const level = levels.findIndex((name) => name === part.slice(equals + 1).toLowerCase());
    if (level < 0) unknown.push(`\`${part}\``);
    else if (equals < 0) general = level;
    else byTarget.set(toTarget(part.slice(0, equals)), level);
  }
  return {
    unknown,
    allows(level, target) {
      let least = general;
      let length = 0;
      for (const [name, own] of byTarget) {
        if (name.length > length && (target === name || target.startsWith(`${name}::`))) {
          least = own;
          length = name.length;
        }
      }
      return levels.indexOf(level) >= least;
    },
  };
}

function toTarget(name: string): string {
  return name === 'vibe' || name.startsWith('vibe::') ? name : `vibe::${name}`;
}

/** Errors lose their own fields and stack here: those hold command lines and paths of other programs. */
function toPlainFields(fields: LogFields): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (value instanceof Error) return [name, messageOf(value)];
      return [name, typeof value === 'bigint' ? String(value) : value];
    }),
  );
}

/** JSON already escapes C0; the rest is escaped as JSON too, so that the data stays the same. */
function toJsonLine(line: string): string {
  return line.replace(/[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function toTextLine(line: string): string {
  const record: unknown = JSON.parse(line);
  if (!isJsonObject(record)) return line;
  const { level, time: _time, target, msg, ...fields } = record;
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${toFieldText(value)}`);
  const text = `${toText(level).toUpperCase()} ${toText(target)}: ${toText(msg)}${pairs.join('')}`;
  return `${toPrintableLine(text)}\n`;
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function toFieldText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

function writeToStandardError(): (line: string) => void {
  const stream = destination({ fd: 2, sync: true });
  // a reader that went away must not end the program that logs
  stream.on('error', () => {});
  return (line) => void stream.write(line);
}
