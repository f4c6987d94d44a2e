/** From 0 to just below 1, the same series for the same seed. */
export type Random = () => number;

export function createRandom(seed: number): Random {
  let state = seed % 2_147_483_646 || 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** Text of characters that break readers. */
export function randomText(random: Random, most: number): string {
  const alphabet = ['a', 'é', '你', '🚀', '"', '\\', '\n', '\u2028', '\u0000', ' '];
  const length = Math.floor(random() * most);
  return Array.from({ length }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
}

/** The bytes in pieces: cut in `cuts` random places, some of them equal. */
export function cutRandomly(bytes: Uint8Array, cuts: number, random: Random): readonly Uint8Array[] {
  const places = Array.from({ length: cuts }, () => Math.floor(random() * bytes.length));
  const sorted = [0, ...places.sort((left, right) => left - right), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}
