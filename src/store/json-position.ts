/** A place in a text, both counted from 1; columns in UTF-16 units. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** The line and column of an offset. */
export function toPosition(text: string, offset: number): TextPosition {
  const before = text.slice(0, offset);
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') };
}

const blanks = /[ \t\n\r]*/y;
const scalar =
  /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const key = /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"[ \t\n\r]*:/y;

/**
 * Where a text stops being JSON; undefined when it is JSON. V8 names the offset in some messages only, so the place that
 * is shown to a user is found here. Without recursion: depth cannot overflow the stack.
 */
export function findJsonError(text: string): TextPosition | undefined {
  const open: ('{' | '[')[] = [];
  let offset = 0;
  let wants: 'value' | 'first' | 'key' | 'next' = 'value';

  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = offset;
    if (!pattern.test(text)) return false;
    offset = pattern.lastIndex;
    return true;
  };

  for (;;) {
    take(blanks);
    const character = text[offset];
    const inner = open.at(-1);
    if (wants === 'next' && inner === undefined) return offset === text.length ? undefined : toPosition(text, offset);
    const closes = inner === '{' ? '}' : ']';
    if ((wants === 'next' || wants === 'first') && inner !== undefined && character === closes) {
      open.pop();
      offset += 1;
      wants = 'next';
    } else if (wants === 'next') {
      if (character !== ',') return toPosition(text, offset);
      offset += 1;
      wants = inner === '{' ? 'key' : 'value';
    } else if (wants === 'key' || (wants === 'first' && inner === '{')) {
      if (!take(key)) return toPosition(text, offset);
      wants = 'value';
    } else if (character === '{' || character === '[') {
      open.push(character);
      offset += 1;
      wants = 'first';
    } else if (take(scalar)) {
      wants = 'next';
    } else {
      return toPosition(text, offset);
    }
  }
}
