/**
 * Waiting work of many owners: each owner's in its order, owners in turn, so that one with much waiting does not hold up
 * the others.
 */
export interface FairQueue<T> {
  readonly size: number;
  push(owner: string, item: T): void;
  /** In front of everything, also of other owners. */
  unshift(item: T): void;
  shift(): T | undefined;
  /** Takes out one item; false when it is not waiting. */
  remove(owner: string, item: T): boolean;
  drain(): readonly T[];
}

export function createFairQueue<T>(): FairQueue<T> {
  // In the order of their next turn: a map keeps the order of insertion.
  const owners = new Map<string, Set<T>>();
  const first: T[] = [];
  let size = 0;

  function shift(): T | undefined {
    const urgent = first.shift();
    if (urgent !== undefined) {
      size -= 1;
      return urgent;
    }
    for (const [owner, items] of owners) {
      owners.delete(owner);
      for (const item of items) {
        items.delete(item);
        if (items.size > 0) owners.set(owner, items);
        size -= 1;
        return item;
      }
    }
    return undefined;
  }

  return {
    get size() {
      return size;
    },
    push(owner, item) {
      const items = owners.get(owner);
      if (items === undefined) owners.set(owner, new Set([item]));
      else items.add(item);
      size += 1;
    },
    unshift(item) {
      first.unshift(item);
      size += 1;
    },
    shift,
    remove(owner, item) {
      const items = owners.get(owner);
      const at = first.indexOf(item);
      const isRemoved = at >= 0 ? first.splice(at, 1).length > 0 : (items?.delete(item) ?? false);
      if (items?.size === 0) owners.delete(owner);
      if (isRemoved) size -= 1;
      return isRemoved;
    },
    drain() {
      const items: T[] = [];
      for (let item = shift(); item !== undefined; item = shift()) items.push(item);
      return items;
    },
  };
}
