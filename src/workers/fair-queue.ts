/**
 * Waiting work of many owners: each owner's in its order, owners in turn, so that one with much waiting does not hold up
 * the others.
 */
export interface FairQueue<T> {
  readonly size: number;
  /** How much of one owner waits. */
  sizeOf(owner: string): number;
  push(owner: string, item: T): void;
  /** In front of everything, also of other owners. */
  unshift(owner: string, item: T): void;
  /** @param mayTake whether anything of an owner may be taken now. Default: always */
  shift(mayTake?: (owner: string) => boolean): T | undefined;
  /** Takes out one item; false when it is not waiting. */
  remove(owner: string, item: T): boolean;
  drain(): readonly T[];
}

export function createFairQueue<T>(): FairQueue<T> {
  // In the order of their next turn: a map keeps the order of insertion. Each one's work is an array, which lets go of what
  // left it (docs/adr/0024).
  const owners = new Map<string, T[]>();
  const first: { readonly owner: string; readonly item: T }[] = [];
  let size = 0;

  function shift(mayTake?: (owner: string) => boolean): T | undefined {
    for (const [at, { owner, item }] of first.entries()) {
      if (mayTake?.(owner) === false) continue;
      first.splice(at, 1);
      size -= 1;
      return item;
    }
    for (const [owner, items] of owners) {
      if (mayTake?.(owner) === false) continue;
      owners.delete(owner);
      const item = items.shift();
      if (items.length > 0) owners.set(owner, items);
      size -= 1;
      return item;
    }
    return undefined;
  }

  return {
    get size() {
      return size;
    },
    sizeOf: (owner) => (owners.get(owner)?.length ?? 0) + first.filter((entry) => entry.owner === owner).length,
    push(owner, item) {
      const items = owners.get(owner);
      if (items === undefined) owners.set(owner, [item]);
      else items.push(item);
      size += 1;
    },
    unshift(owner, item) {
      first.unshift({ owner, item });
      size += 1;
    },
    shift,
    remove(owner, item) {
      const at = first.findIndex((entry) => entry.item === item);
      const isRemoved = at >= 0 ? first.splice(at, 1).length > 0 : removeFrom(owners.get(owner) ?? [], item);
      if (owners.get(owner)?.length === 0) owners.delete(owner);
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

function removeFrom<T>(items: T[], item: T): boolean {
  const at = items.indexOf(item);
  return at >= 0 && items.splice(at, 1).length > 0;
}
