import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { extractJson } from '../../src/agent/extract-json.ts';
import { isJsonText } from '../../src/agent/json-text.ts';

/** The span rule of agent-runtime section 10, word by word and as slow as it reads. */
function slowSpans(text: string): readonly string[] {
  const spans: string[] = [];
  for (let start = 0; start < text.length; start += 1) {
    const end = slowEnd(text, start);
    if (end < 0) continue;
    spans.push(text.slice(start, end + 1));
    start = end;
  }
  return spans;
}

function slowEnd(text: string, start: number): number {
  const closers: string[] = [];
  let isInside = false;
  for (let position = start; position < text.length; position += 1) {
    const character = text.charAt(position);
    if (isInside) {
      if (character === '\\') position += 1;
      else if (character === '"') isInside = false;
    } else if (character === '"' && closers.length > 0) isInside = true;
    else if (character === '{') closers.push('}');
    else if (character === '[') closers.push(']');
    else if (closers.length === 0) return -1;
    else if ((character === '}' || character === ']') && closers.pop() !== character) return -1;
    if (!isInside && closers.length === 0) return position;
  }
  return -1;
}

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function slowExtract(text: string): unknown {
  const isDocument = (part: string): boolean => /^[{[]/.test(part) && parses(part);
  const trimmed = text.trim();
  if (isDocument(trimmed)) return JSON.parse(trimmed);
  for (const tag of ['json', '']) {
    const bodies = slowFences(trimmed).filter((fenced) => fenced.tag.toLowerCase() === tag);
    const body = bodies.map((fenced) => fenced.body.trim()).findLast(isDocument);
    if (body !== undefined) return JSON.parse(body);
  }
  const found = slowSpans(trimmed).findLast(isDocument);
  return found === undefined ? undefined : JSON.parse(found);
}

/** The fences of a text, word by word as well. */
function slowFences(text: string): readonly { readonly tag: string; readonly body: string }[] {
  const found: { tag: string; body: string }[] = [];
  let rest = text;
  for (;;) {
    const [, tag, body, behind] = /```([^\n]*)\n([^]*?)```([^]*)$/.exec(rest) ?? [];
    if (tag === undefined || body === undefined || behind === undefined) return found;
    found.push({ tag: tag.trim(), body });
    rest = behind;
  }
}

const brackets = fc
  .array(fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', '1', ' ', '\\"', '{"a":', '{}', '[]'), {
    maxLength: 40,
  })
  .map((parts) => parts.join(''));
const longString = JSON.stringify('some words '.repeat(200));
/** Answers as models give them: prose, fences, documents, whole and cut, some long enough to be parsed at once. */
const answers = fc
  .array(
    fc.oneof(
      fc.json(),
      fc.json().map((text) => text.slice(0, -1)),
      fc.constantFrom('```', '```json\n', '```\n', '```js\n', '\n', 'see {this} ', '"quoted" ', '{"a": "}"} ', '[1,] '),
      fc.constantFrom(`[${longString}]`, `{"a":${longString},}`, `{"a":[${longString}}`, `{"a":${longString}`),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
const almostJson = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        'u00e9',
        'n',
        '-',
        '0',
        '1',
        '.',
        'e',
        '+',
        'true',
        'false',
      ),
      fc.constantFrom(
        'null',
        'nul',
        ' ',
        '\n',
        '\u00a0',
        '"a"',
        '"\\n"',
        '"\\x"',
        '"\n"',
        '"a":',
        '\ud83d',
        '😀',
        '01',
        '1.5e3',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('extractJson', () => {
  test('finds the spans that the rule finds when read word by word', () => {
    fc.assert(
      fc.property(brackets, (text) => {
        expect(extractJson(text)).toEqual(slowExtract(text));
      }),
      { numRuns: 3_000, seed: 1 },
    );
  });

  test('finds the documents of answers that the rule finds', () => {
    fc.assert(
      fc.property(answers, (text) => {
        expect(extractJson(text)).toEqual(slowExtract(text));
      }),
      { numRuns: 2_000, seed: 3 },
    );
  });

  test('100 000 opening braces, also in and around strings, find nothing and end', () => {
    for (const piece of ['{', '[', '{"', '{\\"', '[{', '{"a":', '{x}', '{""}', '"{', '```json\n{']) {
      expect(extractJson(`see ${piece.repeat(100_000)}`), piece).toBeUndefined();
    }
  });

  test('a result may nest deeper than a recursive parser could follow', () => {
    const depth = 20_000;

    let node: unknown = extractJson(`result: ${'['.repeat(depth)}${']'.repeat(depth)}`);

    let levels = 0;
    for (; Array.isArray(node); node = node[0]) levels += 1;
    expect(levels).toBe(depth);
  });

  test('a key named __proto__ is data', () => {
    const found = extractJson('{"__proto__": {"polluted": true}}');

    expect(Object.keys(found ?? {})).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test('an empty fenced body is no document and the one before it is used', () => {
    expect(extractJson('```json\n[1]\n```\n```json\n \n```')).toEqual([1]);
  });
});

describe('isJsonText', () => {
  test('agrees with JSON.parse', () => {
    fc.assert(
      fc.property(fc.oneof(almostJson, brackets, fc.json()), (text) => {
        expect(isJsonText(text, 0, text.length)).toBe(parses(text));
      }),
      { numRuns: 5_000, seed: 2 },
    );
  });

  test('looks at nothing outside its range', () => {
    expect(isJsonText('x[1]2', 1, 4)).toBe(true);
    expect(isJsonText('["a', 0, 2)).toBe(false);
    expect(isJsonText('[true]', 0, 4)).toBe(false);
    expect(isJsonText('12', 0, 1)).toBe(true);
    expect(isJsonText('"\\u00e9"', 0, 5)).toBe(false);
  });
});
