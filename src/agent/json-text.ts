import { backslash, closeBrace, closeBracket, doubleQuote, openBrace, openBracket } from './code-units.ts';

/**
 * Whether `text.slice(start, end)` is one JSON value (RFC 8259) with optional blanks around it: true exactly when
 * `JSON.parse` takes it. Never throws, takes linear time, keeps its own stack, so depth is no danger.
 */
export function isJsonText(text: string, start: number, end: number): boolean {
  // the open containers, outermost first: true for an object
  const open: boolean[] = [];
  let position = start;
  for (;;) {
    // a value is expected here
    position = skipBlanks(text, position, end);
    const first = unitAt(text, position, end);
    if (first === openBrace || first === openBracket) {
      const isObject = first === openBrace;
      position = skipBlanks(text, position + 1, end);
      if (unitAt(text, position, end) !== (isObject ? closeBrace : closeBracket)) {
        open.push(isObject);
        if (isObject) position = endOfKey(text, position, end);
        if (position < 0) return false;
        continue;
      }
      position += 1;
    } else {
      position = endOfScalar(text, position, end, first);
      if (position < 0) return false;
    }
    // a value is complete: close containers until another value is due
    for (;;) {
      position = skipBlanks(text, position, end);
      const inObject = open.at(-1);
      if (inObject === undefined) return position === end;
      const unit = unitAt(text, position, end);
      position += 1;
      if (unit === (inObject ? closeBrace : closeBracket)) {
        open.pop();
        continue;
      }
      if (unit !== comma) return false;
      if (inObject) position = endOfKey(text, skipBlanks(text, position, end), end);
      if (position < 0) return false;
      break;
    }
  }
}

/** Past `"key" :`, or -1. */
function endOfKey(text: string, start: number, end: number): number {
  if (unitAt(text, start, end) !== doubleQuote) return -1;
  const afterName = endOfString(text, start, end);
  if (afterName < 0) return -1;
  const position = skipBlanks(text, afterName, end);
  return unitAt(text, position, end) === colon ? position + 1 : -1;
}

function endOfScalar(text: string, start: number, end: number, first: number): number {
  if (first === doubleQuote) return endOfString(text, start, end);
  for (const word of ['true', 'false', 'null']) {
    if (first === word.charCodeAt(0)) {
      const stop = start + word.length;
      return stop <= end && text.startsWith(word, start) ? stop : -1;
    }
  }
  return endOfNumber(text, start, end);
}

function endOfString(text: string, start: number, end: number): number {
  for (let position = start + 1; position < end; position += 1) {
    const unit = text.charCodeAt(position);
    if (unit === doubleQuote) return position + 1;
    if (unit < space) return -1;
    if (unit !== backslash) continue;
    position += 1;
    const escape = position < end ? text.charAt(position) : '';
    if (escape === 'u') {
      for (let digit = 1; digit <= 4; digit += 1) if (!isHexDigit(unitAt(text, position + digit, end))) return -1;
      position += 4;
    } else if (escape === '' || !'"\\/bfnrt'.includes(escape)) return -1;
  }
  return -1;
}

function endOfNumber(text: string, start: number, end: number): number {
  let position = unitAt(text, start, end) === minus ? start + 1 : start;
  const whole = position;
  position = skipDigits(text, position, end);
  if (position === whole || (position > whole + 1 && text.charCodeAt(whole) === zero)) return -1;
  if (unitAt(text, position, end) === dot) {
    const fraction = position + 1;
    position = skipDigits(text, fraction, end);
    if (position === fraction) return -1;
  }
  const mark = unitAt(text, position, end);
  if (mark === lowerE || mark === upperE) {
    const sign = unitAt(text, position + 1, end);
    const exponent = position + (sign === plus || sign === minus ? 2 : 1);
    position = skipDigits(text, exponent, end);
    if (position === exponent) return -1;
  }
  return position;
}

function skipBlanks(text: string, start: number, end: number): number {
  let position = start;
  while (position < end && isBlank(text.charCodeAt(position))) position += 1;
  return position;
}

function skipDigits(text: string, start: number, end: number): number {
  let position = start;
  while (isDigit(unitAt(text, position, end))) position += 1;
  return position;
}

/** The UTF-16 unit, or -1 at the end. */
function unitAt(text: string, position: number, end: number): number {
  return position < end ? text.charCodeAt(position) : -1;
}

function isBlank(unit: number): boolean {
  return unit === space || unit === 0x0a || unit === 0x0d || unit === 0x09;
}

function isDigit(unit: number): boolean {
  return unit >= zero && unit <= 0x39;
}

function isHexDigit(unit: number): boolean {
  return isDigit(unit) || (unit >= 0x41 && unit <= 0x46) || (unit >= 0x61 && unit <= 0x66);
}

const comma = 0x2c;
const colon = 0x3a;
const minus = 0x2d;
const plus = 0x2b;
const dot = 0x2e;
const zero = 0x30;
const lowerE = 0x65;
const upperE = 0x45;
const space = 0x20;
