/** C0, DEL, C1, and the controls that reorder or hide text. */
const controls = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Replaces every secret in a text, longest first, so that no part of a longer one stays behind. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const sorted = [...new Set(secrets)].filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length);
  return (text) => sorted.reduce((result, secret) => result.replaceAll(secret, '***'), text);
}

/** Foreign text as a log or terminal may show it: control and reordering characters escaped (PD9). */
export function toPrintable(text: string): string {
  return text.replaceAll(controls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
