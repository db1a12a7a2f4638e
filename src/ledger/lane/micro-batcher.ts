/**
 * Work that costs less together: what comes in the same turn of the event loop is one group, and what comes while a
 * group is worked on is the next.
 */
export class MicroBatcher<Item> {
  readonly #most: number;
  readonly #work: (group: Item[]) => Promise<void>;
  #waiting: Item[] = [];
  #isWorking = false;

  /** `most`: items of a group. `work` never fails: what goes wrong with an item is told to whoever waits for it. */
  constructor(most: number, work: (group: Item[]) => Promise<void>) {
    this.#most = most;
    this.#work = work;
  }

  add(item: Item): void {
    this.#waiting.push(item);
    if (!this.#isWorking) void this.#workOnAll();
  }

  async #workOnAll(): Promise<void> {
    this.#isWorking = true;
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate);
      await this.#work(this.#waiting.splice(0, this.#most));
    }
    this.#isWorking = false;
  }
}
