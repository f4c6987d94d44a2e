/** UTF-16 code units that mean something in JSON. */
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const doubleQuote = 0x22;
export const backslash = 0x5c;

export function isOpener(unit: number): boolean {
  return unit === openBrace || unit === openBracket;
}

export function isCloser(unit: number): boolean {
  return unit === closeBrace || unit === closeBracket;
}

/** The closer of an opener: it follows by two in both pairs. */
export function closerOf(opener: number): number {
  return opener + 2;
}
