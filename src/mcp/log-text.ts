/** Control characters, and the format characters that reorder or hide text. */
const controls = /[\p{Cc}\p{Cf}]/gu;

/** Replaces every secret in a text, longest first, so that no part of a longer one stays behind. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const sorted = [...new Set(secrets)].filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length);
  return (text) => sorted.reduce((result, secret) => result.replaceAll(secret, '***'), text);
}

/** Foreign text as a log or terminal may show it: control and reordering characters escaped (PD9). */
export function toPrintable(text: string): string {
  return text.replaceAll(controls, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
