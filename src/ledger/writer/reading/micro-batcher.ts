/**
 * Groups work that is cheaper together: items added in the same turn of the event loop form one group, and items added
 * while a group is processed form the next.
 */
export class MicroBatcher<Item> {
  readonly #max: number;
  readonly #work: (group: Item[]) => Promise<void>;
  #items: Item[] = [];
  #isRunning = false;

  /**
   * @param max items per group
   * @param work must not reject: it reports an item's failure to that item's caller
   */
  constructor(max: number, work: (group: Item[]) => Promise<void>) {
    this.#max = max;
    this.#work = work;
  }

  add(item: Item): void {
    this.#items.push(item);
    if (!this.#isRunning) void this.#runAll();
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    while (this.#items.length > 0) {
      await new Promise(setImmediate);
      await this.#work(this.#items.splice(0, this.#max));
    }
    this.#isRunning = false;
  }
}
