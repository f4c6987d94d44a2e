import { isAbsolute, relative, resolve, sep } from 'node:path';
import { forEachChild, type SyntaxNode } from 'unbash';
import type { BeforeToolCall } from '../protocol/hook.ts';
import { ownValue } from '../protocol/json.ts';
import { openScope } from './containment.ts';
import type { JudgedArgument } from './rule-judgement.ts';
import { programName } from './shell-judge.ts';
import { checkCommand } from './shell-policy.ts';
import { parseShell } from './shell-syntax.ts';
import { type Arg, literalArg } from './shell-types.ts';
import { escapeWildcards, matchesWildcard, mayMatchWildcard, parseWildcard, type Wildcard } from './wildcards.ts';

/**
 * A command line, judged by its simple commands at every depth, as the shell policy finds them. What forbids or asks is
 * about any of them, however it is quoted and by whatever path its program is named; what allows must cover each of them,
 * sets no variables and redirects nothing. A line the policy refuses cannot be judged.
 */
export function openCommandArgument(line: string, call: BeforeToolCall): JudgedArgument {
  const cwd = ownValue(call.input, 'cwd');
  const folder = typeof cwd === 'string' ? folderOf(cwd, call) : undefined;
  const { commands, problem } = findCommands(line, folder, call);
  const whole = folder === undefined ? line.trim() : `cd ${quoteWord(folder)} && ${line.trim()}`;
  return {
    problem,
    exact: escapeWildcards(whole),
    mayBe(pattern) {
      const wildcards = [parseWildcard(pattern), ...toPrefixes(pattern)];
      const isMeant = (parts: readonly string[]): boolean =>
        wildcards.some((wildcard) => mayMatchWildcard(wildcard, parts));
      return problem !== undefined || isMeant([whole]) || commands.some((argv) => spellingsOf(argv).some(isMeant));
    },
    isCoveredBy(patterns) {
      if (patterns.some((pattern) => isVerbatim(pattern, whole))) return true;
      if (problem !== undefined || !isPlain(line)) return false;
      const wildcards = patterns.flatMap((pattern) => [parseWildcard(pattern), ...toPrefixes(pattern)]);
      return commands.every((argv) => {
        const text = argv.map((arg) => quoteWord(arg.text)).join(' ');
        return wildcards.some((wildcard) => matchesWildcard(wildcard, text));
      });
    },
  };
}

/** `npm test *` also means `npm test` alone. */
function toPrefixes(pattern: string): readonly Wildcard[] {
  return pattern.endsWith(' *') ? [parseWildcard(pattern.slice(0, -2))] : [];
}

/** A pattern without stars that is the very line: somebody has read all of it. */
function isVerbatim(pattern: string, line: string): boolean {
  const { pieces } = parseWildcard(pattern.trim());
  return pieces.length === 1 && pieces[0] === line;
}

/** The working directory relative to the workspace; nothing for the workspace itself. */
function folderOf(cwd: string, { context }: BeforeToolCall): string | undefined {
  const root = resolve(context.workspace_root);
  const below = relative(root, resolve(root, cwd));
  if (below === '') return undefined;
  return below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below) ? cwd : below;
}

interface FoundCommands {
  readonly commands: readonly (readonly Arg[])[];
  readonly problem: string | undefined;
}

function findCommands(line: string, folder: string | undefined, { context }: BeforeToolCall): FoundCommands {
  const commands: (readonly Arg[])[] = folder === undefined ? [] : [[literalArg('cd'), literalArg(folder)]];
  const verdict = checkCommand(line, {
    ...placeOf(context),
    cwd: folder,
    // why: programs, network and paths are the policy's to judge; here it only has to understand the line
    network: true,
    onCommand: (argv) => void commands.push(argv),
  });
  return { commands, problem: verdict.allow ? undefined : verdict.sentence };
}

function placeOf(context: BeforeToolCall['context']): { readonly root: string; readonly spelling?: string } {
  try {
    const { root, configured } = openScope(context);
    return { root, spelling: configured };
  } catch {
    return { root: resolve(context.workspace_root) }; // a workspace that is not there: no command can run in it
  }
}

/** A simple command as texts, in pieces where a part is unknown: as written and quoted, its program with and without path. */
function spellingsOf(argv: readonly Arg[]): readonly (readonly string[])[] {
  const [name, ...args] = argv;
  if (name === undefined) return [];
  const names = new Set([name.text, programName(name.text)]);
  return [...names].flatMap((program) => {
    const words = [literalArg(program), ...args];
    return [joinWords(words, (text) => text), joinWords(words, quoteWord)];
  });
}

function joinWords(words: readonly Arg[], spell: (text: string) => string): readonly string[] {
  const parts: string[] = [''];
  for (const [index, word] of words.entries()) {
    const isKnown = !word.isUnknown && !word.isWildcard;
    // why: an unknown word may vanish, so the blank in front of it is as unknown as itself
    if (index > 0 && isKnown) parts[parts.length - 1] += ' ';
    if (isKnown) parts[parts.length - 1] += spell(word.text);
    else parts.push('');
  }
  return parts;
}

function quoteWord(text: string): string {
  return /^[^\s'"\\$`;&|<>(){}*?[\]!#]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Whether the line only runs commands: it sets no variable and writes or reads no file by redirection. */
function isPlain(line: string): boolean {
  const parsed = parseShell(line);
  return 'script' in parsed && isPlainNode(parsed.script);
}

function isPlainNode(node: SyntaxNode): boolean {
  if (!isPlainItself(node)) return false;
  let isFine = true;
  forEachChild(node, (child) => {
    isFine &&= isPlainNode(child);
  });
  return isFine;
}

const settingOrFeeding: ReadonlySet<SyntaxNode['type']> = new Set(['Assignment', 'For', 'HereDoc', 'HereString']);

function isPlainItself(node: SyntaxNode): boolean {
  if (settingOrFeeding.has(node.type)) return false;
  if (node.type === 'Redirect') {
    const target = node.target?.text ?? '';
    return target === '/dev/null' || (/^[<>]&$/.test(node.operator) && /^(?:\d|-)$/.test(target));
  }
  const isDefault = node.type === 'ParameterExpansion' && node.operation?.type === 'Default';
  return !isDefault || !node.operation.operator.endsWith('=');
}
