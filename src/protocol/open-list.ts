/** Something that may be in one list, and knows where. */
export interface Placed {
  /** Its index while it is in a list, else -1. Only the list writes it. */
  place: number;
}

/**
 * What is open now, in no order. A `Set` cannot hold what comes and goes with every call: when it makes room, its old table
 * points to the new one, so as soon as one table has grown old, all that was open at any such moment stays until the next
 * full collection, with everything it leads to (docs/adr/0024).
 */
export class OpenList<T extends Placed> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** Nothing happens when it is in a list already. */
  add(item: T): void {
    if (item.place >= 0) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Nothing happens when it is in no list. */
  remove(item: T): void {
    const { place } = item;
    if (place < 0) return;
    item.place = -1;
    const last = this.#items.pop();
    if (last !== undefined && last !== item) {
      this.#items[place] = last;
      last.place = place;
    }
    if (this.#items.length === 0) this.#items.length = 0; // lets go of the room it had
  }

  /** A copy, so that those in it may be removed meanwhile. */
  values(): readonly T[] {
    return this.#items.slice();
  }
}
