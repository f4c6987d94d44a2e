import { parse, TomlError } from 'smol-toml';
import type { z } from 'zod';
import { EngineError } from '../protocol/error.ts';
import { isDeeperThan } from '../protocol/json.ts';
import { toPosition } from '../store/json-position.ts';
import { locateTomlKeys, type TomlPath } from './toml-positions.ts';

/**
 * Parses the text of a TOML file through a strict schema. `file` is only named in errors, which read
 * `<file>:<line>:<column>: <what is wrong>` and quote no value: a value may be a secret.
 * @throws EngineError `config`, code `config_invalid`
 */
export function parseTomlText<T>(text: string, file: string, schema: z.ZodType<T>): T {
  const content = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const value = parseSyntax(content, file);
  if (isDeeperThan(value, 256)) throw invalid(`${file}: nested deeper than 256 levels`);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;

  const locate = locateTomlKeys(content);
  const problems = parsed.error.issues
    .flatMap(toProblems)
    .map((problem) => ({ ...problem, offset: locate(problem.path) }))
    .sort((left, right) => (left.offset ?? 0) - (right.offset ?? 0));
  const [first, ...others] = problems;
  const at = first?.offset === undefined ? undefined : toPosition(content, first.offset);
  const where = at === undefined ? '' : `:${at.line}:${at.column}`;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  throw invalid(`${file}${where}: ${first?.text ?? 'not valid'}${more}`);
}

function parseSyntax(text: string, file: string): unknown {
  try {
    return parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (cause) {
    if (!(cause instanceof TomlError)) throw cause;
    // why only the first line: the rest of the parser's message is a copy of the file, which may hold a secret
    const reason = (cause.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '');
    throw invalid(`${file}:${cause.line}:${cause.column}: TOML error: ${reason}`);
  }
}

interface Problem {
  readonly path: TomlPath;
  readonly text: string;
}

function toProblems(issue: z.core.$ZodIssue): readonly Problem[] {
  const path = issue.path.map((step) => (typeof step === 'number' ? step : String(step)));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...path, key], text: `unknown key \`${key}\`${inTable(path)}` }));
  }
  const name = toDotted(path);
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined && issue.message.endsWith(' undefined');
  if (isMissing) return [{ path, text: `\`${name}\` is missing` }];
  const reason = issue.message.replace(/^Invalid (?:input|option): /, '');
  return [{ path, text: name === '' ? reason : `\`${name}\`: ${reason}` }];
}

function inTable(path: TomlPath): string {
  return path.length === 0 ? '' : ` in \`${toDotted(path)}\``;
}

/** A path as it would be written in TOML: `plugins[0].env`, `prices."a/b".input`. */
export function toDotted(path: TomlPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else text += `${text === '' ? '' : '.'}${/^[A-Za-z0-9_-]+$/.test(step) ? step : JSON.stringify(step)}`;
  }
  return text;
}

function invalid(message: string): EngineError {
  return new EngineError('config', message, { code: 'config_invalid' });
}
