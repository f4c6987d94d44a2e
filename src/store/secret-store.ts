/** What is stored under a key. A row that does not open counts as absent and is kept (mcp-host 10.5). */
export type StoredSecret =
  | { readonly kind: 'found'; readonly value: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable' };

/** Secrets by key. Every rejection is an EngineError, code `store_unavailable`. */
export interface SecretStore {
  read(key: string): Promise<StoredSecret>;
  write(key: string, value: string): Promise<void>;
  /** @returns how many of them there were */
  remove(keys: readonly string[]): Promise<number>;
  /**
   * Runs `work` while nobody else, in this process or another one, holds the lease of that name. A holder that takes
   * longer than `ttlMs` loses it.
   */
  withLease<T>(name: string, ttlMs: number, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
