import { EngineError } from '../protocol/error.ts';
import { matchesWildcard, parseWildcard } from './wildcards.ts';

/** One rule, read: which tools it is about and, unless it is about every call of them, which argument. */
export interface RulePattern {
  /** As it was written. */
  readonly text: string;
  isAbout(tool: string): boolean;
  /** What stands between the brackets. */
  readonly argument: string | undefined;
}

/**
 * Reads a rule such as `bash(npm test *)`, `write_file(docs/**)` or `mcp__github__*`: a tool name, in which `*` stands for
 * any text, and optionally a pattern of its argument in brackets.
 * @param where what holds the rule, for the message
 * @throws EngineError `config` naming the rule
 */
export function parseRule(text: string, where = 'a rule'): RulePattern {
  const rule = text.trim();
  const open = rule.indexOf('(');
  const name = open < 0 ? rule : rule.slice(0, open);
  const refuse = (what: string): EngineError => new EngineError('config', `${where}: \`${text}\` ${what}`);
  if (name === '') throw refuse('names no tool; write `tool` or `tool(pattern)`, `*` for every tool');
  if (/[\s)]/.test(name)) throw refuse('is no rule; write `tool` or `tool(pattern)`');
  const pattern = parseWildcard(name);
  const isAbout = (tool: string): boolean => matchesWildcard(pattern, tool);
  if (open < 0) return { text: rule, isAbout, argument: undefined };
  if (!rule.endsWith(')')) throw refuse('has no `)` at its end');
  const argument = rule.slice(open + 1, -1);
  if (argument.trim() === '') throw refuse('has nothing between its brackets; the name alone means every call');
  return { text: rule, isAbout, argument };
}
