/** How far a queue has read ahead of its place, and whether there may be more to read. */
import type { Numbered, Page } from "./delivery-queue.ts";

export class ReadAhead {
  #to: bigint;
  #mayHaveMore = true;

  constructor(place: bigint) {
    this.#to = place;
  }

  get to(): bigint {
    return this.#to;
  }

  get mayHaveMore(): boolean {
    return this.#mayHaveMore;
  }

  onNews(): void {
    this.#mayHaveMore = true;
  }

  onReading(): void {
    this.#mayHaveMore = false;
  }

  /** @returns whether the page is the next one: some of what was read ahead may have been forgotten meanwhile */
  onPage(after: bigint, { searchedTo, isLast }: Page<Numbered>): boolean {
    const isNext = after === this.#to;
    if (!isLast || !isNext) this.#mayHaveMore = true;
    if (isNext && searchedTo > after) this.#to = searchedTo;
    return isNext;
  }

  /** What is behind `number` will be read again. */
  forgetBehind(number: bigint): void {
    this.#to = number;
    this.#mayHaveMore = true;
  }
}
