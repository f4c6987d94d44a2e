/**
 * List prices in USD per million tokens, as the vendors publish them (read in November 2026): of the default models and of
 * those the shorthands name, no others, because a guessed price is worse than none. A price of the user's own replaces them
 * key by key. Cache writes are those that last five minutes, which is what the provider asks for.
 */
export const listPrices = {
  /** https://platform.claude.com/docs/en/about-claude/pricing, and the page of the model */
  'claude-sonnet-5': { input: 2, output: 10, cache_read: 0.2, cache_write: 2.5 },
  /** https://platform.claude.com/docs/en/about-claude/pricing, and the page of the model */
  'claude-opus-5': { input: 5, output: 25, cache_read: 0.5, cache_write: 6.25 },
  /** https://platform.claude.com/docs/en/about-claude/pricing */
  'claude-haiku-4-5-20251001': { input: 1, output: 5, cache_read: 0.1, cache_write: 1.25 },
  /** https://platform.claude.com/docs/en/about-claude/pricing; cache reads are a fortieth of the input here, not a tenth */
  'claude-fable-5-1': { input: 10, output: 50, cache_read: 0.25, cache_write: 12.5 },
  /** https://developers.openai.com/api/docs/pricing; writing to the cache has no price of its own */
  'gpt-5': { input: 1.25, output: 10, cache_read: 0.125 },
};
