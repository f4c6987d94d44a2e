/** Letters and digits that mean a class, an edge or a reference after a backslash. */
const classEscapes = /[a-zA-Z0-9]/;
const singleEscapes: Readonly<Record<string, string>> = { t: '\t', f: '\f', v: '\v' };

export interface PatternLiteral {
  /** Text every match holds; empty when none is known. */
  readonly text: string;
  /** Whether the pattern is this text and nothing else. */
  readonly isWhole: boolean;
}

/**
 * The longest text that every match of a (case-sensitive) regular expression must hold, read off its top level. What is
 * not understood ends the search: then there is no such text, which is always a right answer.
 */
export function requiredLiteral(source: string): PatternLiteral {
  const none: PatternLiteral = { text: '', isWhole: false };
  let longest = '';
  let current = '';
  let isWhole = true;

  const flush = (): void => {
    if (current.length > longest.length) longest = current;
    current = '';
  };

  for (let at = 0; at < source.length;) {
    const atom = readAtom(source, at);
    if (atom === undefined) return none;
    const quantifier = readQuantifier(source, atom.end);
    at = atom.end + quantifier.length;
    if (atom.text !== undefined && quantifier === '') {
      current += atom.text;
      continue;
    }
    isWhole = false;
    // A quantifier that asks for at least one: the text goes on with this atom and ends there.
    if (atom.text !== undefined && (quantifier.startsWith('+') || /^\{[1-9]/.test(quantifier))) current += atom.text;
    flush();
  }
  flush();
  return { text: longest, isWhole: isWhole && longest !== '' };
}

function readQuantifier(source: string, at: number): string {
  const pattern = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? '';
}

interface Atom {
  readonly end: number;
  /** The text it stands for; absent for a class, a group, an edge. */
  readonly text?: string;
}

/** The atom that starts at `at`; nothing for an alternation or what is not understood. */
function readAtom(source: string, at: number): Atom | undefined {
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
  switch (character) {
    case '|':
      return undefined;
    case '(':
      return skipGroup(source, at);
    case '[':
      return skipClass(source, at);
    case '.':
    case '^':
    case '$':
      return { end: at + 1 };
    case '\\':
      return readEscape(source, at);
    default:
      return { end: at + character.length, text: character };
  }
}

function readEscape(source: string, at: number): Atom | undefined {
  const next = source[at + 1];
  if (next === undefined) return undefined;
  const single = singleEscapes[next];
  if (single !== undefined) return { end: at + 2, text: single };
  if (!classEscapes.test(next)) return { end: at + 2, text: next };
  // `\d`, `\w`, `\s`, `\b` and their kin; escapes that take an argument are not looked into.
  return /[dDwWsSbB]/.test(next) ? { end: at + 2 } : undefined;
}

function skipClass(source: string, at: number): Atom | undefined {
  for (let end = at + 1; end < source.length; end += 1) {
    if (source[end] === '\\') end += 1;
    else if (source[end] === ']') return { end: end + 1 };
  }
  return undefined;
}

function skipGroup(source: string, at: number): Atom | undefined {
  let depth = 0;
  for (let end = at; end < source.length; end += 1) {
    const character = source[end];
    if (character === '\\') end += 1;
    else if (character === '[') {
      const inner = skipClass(source, end);
      if (inner === undefined) return undefined;
      end = inner.end - 1;
    } else if (character === '(') depth += 1;
    else if (character === ')') {
      depth -= 1;
      if (depth === 0) return { end: end + 1 };
    }
  }
  return undefined;
}
