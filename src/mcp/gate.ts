/** Lets a limited number of holders in at a time, the others in the order they came. */
export interface Gate<K> {
  /** Settles when `key` may go on: at once while there is room, and also when it leaves before its turn. */
  enter(key: K): Promise<void>;
  leave(key: K): void;
}

export function createGate<K>(places: number): Gate<K> {
  const inside = new Set<K>();
  const waiting = new Map<K, () => void>();
  return {
    enter(key) {
      if (inside.size < places) {
        inside.add(key);
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        waiting.set(key, resolve);
      });
    },
    leave(key) {
      const own = waiting.get(key);
      waiting.delete(key);
      own?.();
      if (!inside.delete(key)) return;
      const [next] = waiting;
      if (next === undefined) return;
      const [nextKey, proceed] = next;
      waiting.delete(nextKey);
      inside.add(nextKey);
      proceed();
    },
  };
}
