/**
 * The argument of one call as rules see it. The two questions differ on purpose: what forbids or asks must not be got
 * around, so it answers yes when in doubt; what allows answers no.
 */
export interface JudgedArgument {
  /** Whether the call is, or may turn out to be, one that the pattern means. */
  mayBe(pattern: string): boolean;
  /** Whether everything the call does is meant by one of the patterns. */
  isCoveredBy(patterns: readonly string[]): boolean;
  /** Why the call cannot be judged; `mayBe` then answers yes to every pattern. */
  readonly problem?: string | undefined;
  /** The pattern that covers this very call and no other. */
  readonly exact: string;
}
