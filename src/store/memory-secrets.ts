import type { SecretStore } from './secret-store.ts';

/** A store that ends with its process: for embedders that keep nothing. */
export function createMemorySecrets(): SecretStore {
  const rows = new Map<string, string>();
  const leases = new Map<string, Promise<unknown>>();
  return {
    async read(key) {
      const value = rows.get(key);
      return value === undefined ? { kind: 'missing' } : { kind: 'found', value };
    },
    async write(key, value) {
      rows.set(key, value);
    },
    remove: async (keys) => keys.filter((key) => rows.delete(key)).length,
    async withLease(name, _ttlMs, work) {
      const turn = (leases.get(name) ?? Promise.resolve()).catch(() => {}).then(work);
      leases.set(name, turn);
      try {
        return await turn;
      } finally {
        if (leases.get(name) === turn) leases.delete(name);
      }
    },
    async close() {
      rows.clear();
    },
  };
}
