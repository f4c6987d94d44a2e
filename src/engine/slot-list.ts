/** A list that only grows, in pieces: an array that grows is copied each time, and has room for half as much again. */
export class SlotList {
  readonly #pieces: unknown[][] = [];
  #open: unknown[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: unknown): void {
    const offset = this.#length % pieceSize;
    if (offset === 0) {
      this.#open = Array.from({ length: pieceSize });
      this.#pieces.push(this.#open);
    }
    this.#open[offset] = value;
    this.#length += 1;
  }

  at(index: number): unknown {
    return this.#pieces[Math.floor(index / pieceSize)]?.[index % pieceSize];
  }
}

/** A few of them for a short run, a hundred for a long one. */
const pieceSize = 32;
