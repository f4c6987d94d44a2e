/**
 * A list that only grows and is read from its start, in pieces that hold on to the next: an array that grows is copied each
 * time and has room for half as much again.
 */
export class SlotList {
  #first: unknown[] | undefined;
  #last: unknown[] | undefined;
  #used = 0;

  push(value: unknown): void {
    let last = this.#last;
    if (last === undefined || this.#used === pieceSize) {
      const next = Array.from<unknown>({ length: pieceSize + 1 });
      if (last === undefined) this.#first = next;
      else last[pieceSize] = next;
      last = next;
      this.#last = next;
      this.#used = 0;
    }
    last[this.#used] = value;
    this.#used += 1;
  }

  *values(): Generator<unknown, void, undefined> {
    let piece = this.#first;
    while (piece !== undefined) {
      // why: what is added while somebody reads is read too
      for (let offset = 0; offset < (piece === this.#last ? this.#used : pieceSize); offset += 1) yield piece[offset];
      piece = piece[pieceSize] as unknown[] | undefined;
    }
  }
}

/** Values in a piece: a few pieces for a short run, a hundred for a long one. */
const pieceSize = 31;
