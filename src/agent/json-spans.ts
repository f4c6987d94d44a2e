import {
  backslash,
  closeBrace,
  closeBracket,
  closerOf,
  doubleQuote,
  isCloser,
  isOpener,
  openBrace,
} from './code-units.ts';

/**
 * The balanced spans of a text (agent-runtime section 10, step 3). They run from left to right; a bracket without an end
 * (wrong closer, end of the text) is passed over and the search goes on one character later.
 */
export interface JsonSpans {
  /** Shows the spans, the last one first, until something is made of one. `end` is the place of the last bracket. */
  findLast<T>(read: (start: number, end: number) => T | undefined): T | undefined;
}

/** Looks at the text when first asked. Takes linear time. */
export function createJsonSpans(text: string): JsonSpans {
  // why: behind the last closer no span can end; most texts with many openers and few closers are done here
  const length = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1;
  let spans: JsonSpans | undefined;
  return {
    findLast(read) {
      // why: the walks take four bytes a character, and fresh memory costs more than the work here
      spans ??= fromPairs(text, length) ?? fromWalks(text, length);
      return spans.findLast(read);
    },
  };
}

/**
 * The spans from one look at all brackets: those that end a bracket are all but a few strays. Nothing when a string holds a
 * bracket: what is behind that one reads in another way for a walk that starts at it.
 */
function fromPairs(text: string, length: number): JsonSpans | undefined {
  const strays = createPlaces();
  const open = createBracketStack();
  for (let p = 0; p < length; p += 1) {
    const unit = text.charCodeAt(p);
    if (isOpener(unit)) open.push(unit);
    else if (isCloser(unit)) {
      // why: a wrong closer ends every walk that comes to it
      if (open.pop() !== unit) {
        open.clear();
        strays.add(p);
      }
    } else if (unit === doubleQuote && !open.isEmpty()) {
      p = endOfPlainString(text, p, length);
      if (p < 0) return undefined;
    }
  }
  return {
    findLast(read) {
      const isStray = strays.fromLast();
      for (let end = length - 1; end >= 0; end -= 1) {
        if (!isCloser(text.charCodeAt(end)) || isStray(end)) continue;
        const start = startOf(text, end);
        const found = read(start, end);
        if (found !== undefined) return found;
        end = start;
      }
      return undefined;
    },
  };
}

/** The quote that ends a string, or -1 when there is none, or a bracket before it. */
function endOfPlainString(text: string, start: number, length: number): number {
  let isEscaped = false;
  for (let p = start + 1; p < length; p += 1) {
    const unit = text.charCodeAt(p);
    if (isOpener(unit) || isCloser(unit)) return -1;
    if (unit === doubleQuote && !isEscaped) return p;
    isEscaped = unit === backslash && !isEscaped;
  }
  return -1;
}

/** The bracket a matched closer belongs to: between the two all brackets are matched and none is in a string. */
function startOf(text: string, end: number): number {
  let depth = 1;
  let p = end;
  while (depth > 0) {
    p -= 1;
    const unit = text.charCodeAt(p);
    if (isCloser(unit)) depth += 1;
    else if (isOpener(unit)) depth -= 1;
  }
  return p;
}

/** The open brackets, innermost last, 30 of them to a number: a text may open a million. */
function createBracketStack() {
  const full: number[] = [];
  let bits = 0;
  let count = 0; // of those in `bits`, the newest in the lowest one
  return {
    push(opener: number): void {
      if (count === 30) {
        full.push(bits);
        count = 0;
      }
      bits = (bits << 1) | (opener === openBrace ? 1 : 0);
      count += 1;
    },
    /** The closer of the innermost, or nothing when none is open. */
    pop(): number | undefined {
      if (count === 0) {
        const last = full.pop();
        if (last === undefined) return undefined;
        bits = last;
        count = 30;
      }
      const isBrace = (bits & 1) === 1;
      bits >>= 1;
      count -= 1;
      return isBrace ? closeBrace : closeBracket;
    },
    clear(): void {
      full.length = 0;
      count = 0;
    },
    isEmpty: () => count === 0 && full.length === 0,
  };
}

/** Places in a text, added in order, 16 of them to a number. */
function createPlaces() {
  const blocks: number[] = [];
  const marks: number[] = [];
  return {
    add(place: number): void {
      const block = place >> 4;
      if (blocks.at(-1) !== block) {
        blocks.push(block);
        marks.push(0);
      }
      marks.push((marks.pop() ?? 0) | (1 << (place & 15)));
    },
    /** Tells whether a place was added; to be asked from the last place to the first. */
    fromLast(): (place: number) => boolean {
      let index = blocks.length - 1;
      return (place) => {
        const block = place >> 4;
        while ((blocks[index] ?? -1) > block) index -= 1;
        return blocks[index] === block && (((marks[index] ?? 0) >> (place & 15)) & 1) === 1;
      };
    },
  };
}

/** The spans of any text, from what a walk would meet that starts at each place. */
function fromWalks(text: string, length: number): JsonSpans {
  const next = nextClosers(text, length);
  let last = -1;
  for (let p = 0; p < length; p += 1) {
    const end = isOpener(text.charCodeAt(p)) ? endOfSpan(text, next, p, length) : -1;
    if (end < 0) continue;
    // why: the entry of an outermost opener is not read again, so it can hold the way back to the span before
    next[p] = last;
    last = p;
    p = end;
  }
  return {
    findLast(read) {
      for (let start = last; start >= 0; start = next[start] ?? -1) {
        const found = read(start, endOfSpan(text, next, start, length));
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

function endOfSpan(text: string, next: Int32Array, open: number, length: number): number {
  const closer = next[open + 1] ?? length;
  return closer < length && text.charCodeAt(closer) === closerOf(text.charCodeAt(open)) ? closer : -1;
}

/**
 * For each position: where a walk that starts there, outside of strings, meets the first closer it has no opener for, or
 * `length` when it never does before there. An opener at `p` ends at the closer for `p + 1`, if that has its kind. Filled
 * from the right, so that no text is walked twice.
 */
function nextClosers(text: string, length: number): Int32Array {
  const next = new Int32Array(length + 2);
  next[length] = length;
  next[length + 1] = length;
  let closer = length; // for p + 1, then for p
  let quote = length; // where a string ends that is open at p + 1
  let quoteAfter = length; // the same for p + 2, behind an escaped character
  for (let p = length - 1; p >= 0; p -= 1) {
    const unit = text.charCodeAt(p);
    let quoteHere = quote;
    if (isOpener(unit)) {
      const isSpan = closer !== length && text.charCodeAt(closer) === closerOf(unit);
      closer = isSpan ? (next[closer + 1] ?? length) : length;
    } else if (isCloser(unit)) closer = p;
    else if (unit === backslash) quoteHere = quoteAfter;
    else if (unit === doubleQuote) {
      closer = quote === length ? length : (next[quote + 1] ?? length);
      quoteHere = p;
    }
    next[p] = closer;
    quoteAfter = quote;
    quote = quoteHere;
  }
  return next;
}
