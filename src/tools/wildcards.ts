/** A pattern in which `*` stands for any text; everything else stands for itself, `\*` and `\\` for the character. */
export interface Wildcard {
  /** The fixed texts between the stars; one more than there are stars. */
  readonly pieces: readonly string[];
}

export function parseWildcard(pattern: string): Wildcard {
  const pieces: string[] = [''];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at] ?? '';
    const next = pattern[at + 1];
    if (character === '*') {
      // several stars in a row say no more than one
      if (pieces.at(-1) !== '' || pieces.length === 1) pieces.push('');
    } else if (character === '\\' && (next === '*' || next === '\\')) {
      pieces[pieces.length - 1] += next;
      at += 1;
    } else pieces[pieces.length - 1] += character;
  }
  return { pieces };
}

/** The pattern that matches this text alone. */
export function escapeWildcards(text: string): string {
  return text.replaceAll(/[*\\]/g, String.raw`\$&`);
}

/** Whether the whole text matches. Linear but for the search of each piece. */
export function matchesWildcard({ pieces }: Wildcard, text: string): boolean {
  const [first = '', ...rest] = pieces;
  if (rest.length === 0) return text === first;
  const last = rest.pop() ?? '';
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}

/** Steps of `mayMatchWildcard` beyond which it answers yes without looking on. */
const maxSteps = 4_000_000;

/**
 * Whether a text of which only parts are known may match: between the parts anything may stand, nothing included. What
 * would take too long to find out counts as yes.
 */
export function mayMatchWildcard({ pieces }: Wildcard, parts: readonly string[]): boolean {
  const [whole] = parts;
  if (parts.length === 1 && whole !== undefined) return matchesWildcard({ pieces }, whole);
  const pattern = toSymbols(pieces);
  const text = toSymbols(parts);
  if (pattern.length * text.length > maxSteps) return true;
  // reached[j]: what was read of the text so far and the first j symbols of the pattern can be the same
  let reached = closeOver(
    Array.from({ length: pattern.length + 1 }, (_, index) => index === 0),
    pattern,
  );
  for (const symbol of text) {
    const next = symbol === any ? skipFrom(reached) : stepOver(reached, symbol, pattern);
    reached = closeOver(next, pattern);
    if (!reached.includes(true)) return false;
  }
  return reached.at(-1) === true;
}

/** Stands for any text. */
const any = 0;

function toSymbols(parts: readonly string[]): readonly (string | typeof any)[] {
  return parts.flatMap((part, index) => (index === 0 ? part.split('') : [any, ...part.split('')]));
}

type Reached = boolean[];

/** A star of the pattern may stand for nothing. */
function closeOver(reached: Reached, pattern: readonly (string | typeof any)[]): Reached {
  for (const [index, symbol] of pattern.entries()) {
    if (reached[index] === true && symbol === any) reached[index + 1] = true;
  }
  return reached;
}

/** The unknown part may hold whatever the next symbols of the pattern ask for. */
function skipFrom(reached: Reached): Reached {
  let isReached = false;
  return reached.map((value) => (isReached ||= value));
}

function stepOver(reached: Reached, symbol: string, pattern: readonly (string | typeof any)[]): Reached {
  const next: Reached = Array.from({ length: reached.length }, () => false);
  for (const [index, expected] of pattern.entries()) {
    if (reached[index] !== true) continue;
    if (expected === any) next[index] = true;
    else if (expected === symbol) next[index + 1] = true;
  }
  return next;
}
