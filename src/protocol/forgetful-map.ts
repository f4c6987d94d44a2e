/**
 * A map for what comes and goes by the thousand, in the order of arrival. When a `Map` makes room, its old table points to
 * the new one, so that tables which have grown old hold on to all that was in them when they were replaced, until the next full
 * collection. Here they hold on to an empty cell (docs/adr/0024).
 */
export class ForgetfulMap<K extends string | number, V extends object> {
  readonly #cells = new Map<K, { value: V | undefined }>();

  get size(): number {
    return this.#cells.size;
  }

  has(key: K): boolean {
    return this.#cells.has(key);
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value;
  }

  set(key: K, value: V): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) this.#cells.set(key, { value });
    else cell.value = value;
  }

  delete(key: K): void {
    const cell = this.#cells.get(key);
    if (cell === undefined) return;
    cell.value = undefined;
    this.#cells.delete(key);
  }

  /** A copy, so that those in it may be deleted meanwhile. */
  values(): readonly V[] {
    return [...this.#cells.values()].flatMap(({ value }) => (value === undefined ? [] : [value]));
  }
}
