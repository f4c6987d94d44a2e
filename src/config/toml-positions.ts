/** A step into a document: a key of a table or an index of an array. */
export type TomlPath = readonly (string | number)[];

/**
 * Where the keys of a TOML text stand, so that a wrong value can be shown with line and column: the parser tells places
 * for broken syntax only. The text must already have parsed; nothing is checked again.
 * @returns the offset of a path, or of its nearest known parent; undefined when not even that is in the text
 */
export function locateTomlKeys(text: string): (path: TomlPath) => number | undefined {
  const offsets = scan(text);
  return (path) => {
    for (let length = path.length; length > 0; length -= 1) {
      const offset = offsets.get(JSON.stringify(path.slice(0, length)));
      if (offset !== undefined) return offset;
    }
    return undefined;
  };
}

interface Cursor {
  readonly text: string;
  at: number;
  readonly offsets: Map<string, number>;
}

interface KeyPart {
  readonly name: string;
  readonly offset: number;
}

function scan(text: string): ReadonlyMap<string, number> {
  const cursor: Cursor = { text, at: 0, offsets: new Map() };
  /** Number of elements so far of each array of tables. */
  const elements = new Map<string, number>();
  let table: TomlPath = [];
  for (;;) {
    skip(cursor, /(?:[ \t\r\n\uFEFF]|#[^\n]*)*/y);
    if (cursor.at >= text.length) return cursor.offsets;
    const before = cursor.at;
    if (text[cursor.at] === '[') table = readHeader(cursor, elements);
    else readPair(cursor, table);
    // a text that did not parse after all must not hold us here
    if (cursor.at === before) return cursor.offsets;
  }
}

/** `[a.b]` or `[[a.b]]`; the path of what follows. */
function readHeader(cursor: Cursor, elements: Map<string, number>): TomlPath {
  const isArray = cursor.text[cursor.at + 1] === '[';
  cursor.at += isArray ? 2 : 1;
  const parts = readKey(cursor);
  let path: TomlPath = [];
  for (const [index, part] of parts.entries()) {
    path = [...path, part.name];
    mark(cursor, path, part.offset);
    const name = JSON.stringify(path);
    const count = elements.get(name);
    if (isArray && index === parts.length - 1) {
      elements.set(name, (count ?? 0) + 1);
      path = [...path, count ?? 0];
      mark(cursor, path, part.offset);
    } else if (count !== undefined) {
      path = [...path, count - 1];
    }
  }
  skip(cursor, /[ \t]*\]{0,2}/y);
  return path;
}

function readPair(cursor: Cursor, table: TomlPath): void {
  let path = table;
  for (const part of readKey(cursor)) {
    path = [...path, part.name];
    mark(cursor, path, part.offset);
  }
  skip(cursor, /[ \t]*=[ \t]*/y);
  readValue(cursor, path);
}

function readKey(cursor: Cursor): readonly KeyPart[] {
  const parts: KeyPart[] = [];
  do {
    skip(cursor, /[ \t]*/y);
    const offset = cursor.at;
    const written = skip(cursor, /"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s.=[\]{},"'#]+/y);
    parts.push({ name: toKeyName(written), offset });
    skip(cursor, /[ \t]*/y);
  } while (skip(cursor, /\./y) !== '');
  return parts;
}

function readValue(cursor: Cursor, path: TomlPath): void {
  const first = cursor.text[cursor.at];
  if (first === '[') readArray(cursor, path);
  else if (first === '{') readInlineTable(cursor, path);
  else {
    skip(
      cursor,
      /"""(?:[^"\\]|\\[^]|"(?!""(?!")))*"""|'''(?:[^']|'(?!''(?!')))*'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^,\]}#\n]+/y,
    );
  }
}

const gap = /(?:[ \t\r\n,]|#[^\n]*)*/y;

function readArray(cursor: Cursor, path: TomlPath): void {
  cursor.at += 1;
  for (let index = 0; ; index += 1) {
    skip(cursor, gap);
    if (cursor.at >= cursor.text.length || skip(cursor, /\]/y) !== '') return;
    const before = cursor.at;
    mark(cursor, [...path, index], before);
    readValue(cursor, [...path, index]);
    if (cursor.at === before) return;
  }
}

function readInlineTable(cursor: Cursor, path: TomlPath): void {
  cursor.at += 1;
  for (;;) {
    skip(cursor, gap);
    if (cursor.at >= cursor.text.length || skip(cursor, /\}/y) !== '') return;
    const before = cursor.at;
    readPair(cursor, path);
    if (cursor.at === before) return;
  }
}

/** Moves over what a sticky pattern matches here and returns it; the empty text when it does not match. */
function skip(cursor: Cursor, pattern: RegExp): string {
  pattern.lastIndex = cursor.at;
  const matched = pattern.exec(cursor.text)?.[0] ?? '';
  cursor.at += matched.length;
  return matched;
}

function mark(cursor: Cursor, path: TomlPath, offset: number): void {
  const name = JSON.stringify(path);
  if (!cursor.offsets.has(name)) cursor.offsets.set(name, offset);
}

function toKeyName(written: string): string {
  if (written.startsWith("'")) return written.slice(1, -1);
  if (!written.startsWith('"')) return written;
  try {
    return String(JSON.parse(written));
  } catch {
    // an escape that only TOML has: the key is then shown at its table
    return written;
  }
}
