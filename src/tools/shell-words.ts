import type { Assignment, DoubleQuotedChild, ParameterExpansionPart, Word, WordPart } from 'unbash';
import { unknownArg, type Arg, type KnownValue, type Ledger } from './shell-types.ts';
import { hasTrustedOutput } from './shell-trusted.ts';
import { lookUp } from './shell-values.ts';

/**
 * The arguments a word may turn into. Usually one list with one argument; variables the line itself sets give one list for
 * each value, an unquoted expansion none or several arguments. Shells differ about braces, so both readings are returned.
 */
export function expandWord(word: Word | Assignment, ledger: Ledger): readonly (readonly Arg[])[] {
  if (word.type === 'Assignment') {
    if (word.value.type !== 'Word') return [[unknownArg(word.text)]];
    const values = segmentsOf(word.value, ledger);
    return values.map((segments) => [toWhole([fixed(`${word.name}=`), ...segments])]);
  }
  return segmentsOf(word, ledger).flatMap((segments) => {
    const literal = splitFields(segments);
    const hasBraces = segments.some((segment) => segment.kind === 'braces');
    return hasBraces ? [literal, spread(segments).flatMap((each) => splitFields(each))] : [literal];
  });
}

/** The value of a word as one text, without field splitting; nothing when a part of it is unknown. */
export function wordTexts(word: Word, ledger: Ledger): readonly KnownValue[] | undefined {
  const values = segmentsOf(word, ledger).map(toWhole);
  if (values.some((value) => value.isUnknown)) return undefined;
  return values.map(({ text, isWildcard }) => ({ text, isWildcard }));
}

/** At most this many readings of one word or command are followed; beyond it the value counts as unknown. */
const maxReadings = 64;

interface Segment {
  readonly text: string;
  /** `value`: from a variable the line sets. `environment`: set outside. `open`: unknown and not to be trusted. */
  readonly kind: 'fixed' | 'braces' | 'value' | 'environment' | 'open';
  /** Unquoted, so that blanks in it separate arguments. */
  readonly splits: boolean;
  readonly isWildcard: boolean;
}

function fixed(text: string): Segment {
  return { text, kind: 'fixed', splits: false, isWildcard: false };
}

function segmentsOf(word: Word, ledger: Ledger): readonly (readonly Segment[])[] {
  if (word.parts === undefined) return [bareSegments(word.text, word.value, true)];
  const choices = word.parts.map((part, index) => partReadings(part, ledger, index === 0, false));
  return combine(choices) ?? [[{ text: word.text, kind: 'open', splits: true, isWildcard: true }]];
}

/** Every way to take one reading of each part; nothing when there are too many. There may be thousands of parts. */
export function combine<T>(parts: readonly (readonly (readonly T[])[])[]): readonly (readonly T[])[] | undefined {
  let readings: T[][] = [[]];
  for (const choices of parts) {
    const [only] = choices;
    if (choices.length === 1 && only !== undefined) for (const reading of readings) reading.push(...only);
    else readings = readings.flatMap((head) => choices.map((tail) => [...head, ...tail]));
    if (readings.length > maxReadings) return undefined;
  }
  return readings;
}

function bareSegments(text: string, value: string, isFirst: boolean): readonly Segment[] {
  if (isFirst && /^(?:\\\n)*~/.test(text))
    return [{ text: value, kind: 'environment', splits: false, isWildcard: false }];
  return [fixed(value)];
}

function partReadings(
  part: WordPart,
  ledger: Ledger,
  isFirst: boolean,
  isQuoted: boolean,
): readonly (readonly Segment[])[] {
  const splits = !isQuoted;
  switch (part.type) {
    case 'Literal':
      return [isQuoted ? [fixed(part.value)] : bareSegments(part.text, part.value, isFirst)];
    case 'SingleQuoted':
      return [[fixed(part.value)]];
    case 'DoubleQuoted':
    case 'LocaleString':
      return quotedReadings(part.parts, ledger);
    case 'AnsiCQuoted':
      // Only bash knows this form; other shells keep the dollar sign and the backslashes.
      return [[{ text: part.text, kind: 'open', splits: false, isWildcard: false }]];
    case 'Glob':
      return [[{ text: part.text, kind: 'fixed', splits: false, isWildcard: true }]];
    case 'ExtendedGlob':
      return [[{ text: part.text, kind: 'open', splits: true, isWildcard: true }]];
    case 'BraceExpansion':
      return [[{ text: part.text, kind: 'braces', splits: false, isWildcard: true }]];
    case 'SimpleExpansion':
      return variableReadings(part.text.slice(1), part.text, ledger, splits);
    case 'ParameterExpansion':
      return parameterReadings(part, ledger, splits);
    case 'CommandExpansion': {
      const kind = hasTrustedOutput(part.script) ? 'environment' : 'open';
      return [[{ text: part.text, kind, splits, isWildcard: splits && kind === 'open' }]];
    }
    case 'ArithmeticExpansion':
    case 'ProcessSubstitution':
      return [[{ text: part.text, kind: 'open', splits, isWildcard: splits }]];
  }
}

function quotedReadings(parts: readonly DoubleQuotedChild[], ledger: Ledger): readonly (readonly Segment[])[] {
  const choices = parts.map((part) => partReadings(part, ledger, false, true));
  // An empty pair of quotes is an argument, too.
  return combine([[[fixed('')]], ...choices]) ?? [[{ text: '$', kind: 'open', splits: false, isWildcard: false }]];
}

function variableReadings(
  name: string,
  text: string,
  ledger: Ledger,
  splits: boolean,
): readonly (readonly Segment[])[] {
  const known = lookUp(name, ledger, wordTexts);
  if (known === 'environment') return [[{ text, kind: 'environment', splits, isWildcard: false }]];
  if (known === 'open') return [[{ text, kind: 'open', splits, isWildcard: splits }]];
  return known.map((value) => [
    { text: value.text, kind: 'value', splits, isWildcard: value.isWildcard || (splits && /[*?[]/.test(value.text)) },
  ]);
}

function parameterReadings(
  part: ParameterExpansionPart,
  ledger: Ledger,
  splits: boolean,
): readonly (readonly Segment[])[] {
  const { operation } = part;
  const open: readonly (readonly Segment[])[] = [[{ text: part.text, kind: 'open', splits, isWildcard: splits }]];
  if (part.prefix === '#') return [[{ text: part.text, kind: 'environment', splits: false, isWildcard: false }]];
  if (operation === undefined) return variableReadings(part.parameter, part.text, ledger, splits);
  const own = variableReadings(part.parameter, part.text, ledger, splits);
  if (operation.type === 'Default') {
    const operand = wordTexts(operation.operand, ledger);
    if (operand === undefined) return open;
    const others = operand.map((value): readonly Segment[] => [{ ...value, kind: 'value', splits }]);
    return operation.operator.endsWith('+') ? [...others, [fixed('')]] : [...own, ...others];
  }
  if (operation.type !== 'Remove') return open;
  const pattern = wordTexts(operation.operand, ledger);
  if (pattern?.length !== 1 || /[*?[\\]/.test(pattern[0]?.text ?? '*')) return open;
  return own.map((segments) => segments.map((segment) => cut(segment, pattern[0]?.text ?? '', operation.operator)));
}

/** `${name%text}` and `${name#text}` for a text without wildcards. */
function cut(segment: Segment, affix: string, operator: string): Segment {
  if (segment.kind !== 'value') return segment;
  const { text } = segment;
  const matches = operator.startsWith('%') ? text.endsWith(affix) : text.startsWith(affix);
  if (!matches) return segment.isWildcard ? { ...segment, kind: 'open' } : segment;
  return {
    ...segment,
    text: operator.startsWith('%') ? text.slice(0, text.length - affix.length) : text.slice(affix.length),
  };
}

/** Every combination of the brace lists among the segments; a list that is nested or a range stays as it is, unknown. */
function spread(segments: readonly Segment[]): readonly (readonly Segment[])[] {
  let results: readonly (readonly Segment[])[] = [[]];
  for (const segment of segments) {
    const choices = segment.kind === 'braces' ? braceChoices(segment) : [segment];
    results = results.flatMap((head) => choices.map((choice) => [...head, choice]));
    if (results.length > maxReadings) return [[{ text: segment.text, kind: 'open', splits: true, isWildcard: true }]];
  }
  return results;
}

function braceChoices(segment: Segment): readonly Segment[] {
  const inner = segment.text.slice(1, -1);
  if (!inner.includes(',') || /[{}'"\\$`*?[]/.test(inner)) return [{ ...segment, kind: 'open' }];
  return inner.split(',').map(fixed);
}

/** Cuts a reading into arguments at the blanks of its unquoted expansions. */
function splitFields(segments: readonly Segment[]): readonly Arg[] {
  const fields: Segment[][] = [[]];
  let isPresent = segments.length === 0;
  for (const segment of segments) {
    if (!segment.splits || segment.kind !== 'value') {
      fields.at(-1)?.push(segment);
      isPresent = true;
      continue;
    }
    segment.text.split(/[ \t\n]+/).forEach((piece, index) => {
      if (index > 0) fields.push([]);
      fields.at(-1)?.push({ ...segment, text: piece });
    });
    if (segment.text.trim() !== '') isPresent = true;
  }
  if (!isPresent) return [];
  return fields
    .map(toWhole)
    .filter((arg, index) => arg.text !== '' || (fields[index] ?? []).some((segment) => !segment.splits));
}

function toWhole(segments: readonly Segment[]): Arg {
  const opens = segments.findIndex((segment) => segment.kind === 'open');
  return {
    text: segments.map((segment) => segment.text).join(''),
    isComputed: segments.some((segment) => segment.kind !== 'fixed' || segment.isWildcard),
    isUnknown: segments.some((segment) => segment.kind === 'open' || segment.kind === 'environment'),
    isOpen: opens >= 0,
    maySteer:
      segments.some((segment) => segment.kind === 'open' && segment.splits) ||
      (opens >= 0 && segments.slice(0, opens).every((segment) => segment.text === '')),
    isWildcard: segments.some((segment) => segment.isWildcard),
  };
}
