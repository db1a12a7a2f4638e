/**
 * One queue per customer, served round robin, so that a customer's flood delays only itself.
 * Admission control bounds it.
 */
export class RoundRobinQueue<Item> {
  readonly #weightOf: (item: Item) => number;
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  /** @param weightOf how much an item adds to what is taken together */
  constructor(weightOf: (item: Item) => number = () => 1) {
    this.#weightOf = weightOf;
  }

  get size(): number {
    return this.#size;
  }

  push(queueKey: string, item: Item): void {
    const queue = this.#queues.get(queueKey);
    if (queue === undefined) this.#queues.set(queueKey, [item]);
    else queue.push(item);
    this.#size += 1;
  }

  /**
   * Takes up to `max` items, oldest first, of up to `maxWeight` together; the first one whatever it weighs. Each round gives
   * every queue an equal share of what is left. Queues that were served move behind those that were not, so an item that was
   * too heavy to be added is soon the first.
   */
  take(max: number, maxWeight = Number.POSITIVE_INFINITY): Item[] {
    const taken: Item[] = [];
    let weight = 0;
    let open = [...this.#queues.keys()];
    while (taken.length < max && open.length > 0) {
      const share = Math.max(1, Math.floor((max - taken.length) / open.length));
      const goOn: string[] = [];
      for (const queueKey of open) {
        if (taken.length === max) break;
        const queue = this.#queues.get(queueKey) ?? [];
        const count = Math.min(share, max - taken.length);
        const before = taken.length;
        for (const item of queue.slice(0, count)) {
          const added = weight + this.#weightOf(item);
          if (added > maxWeight && taken.length > 0) break;
          weight = added;
          taken.push(item);
        }
        this.#removed(queueKey, queue, taken.length - before);
        if (taken.length - before === count && queue.length > 0) goOn.push(queueKey);
      }
      open = goOn;
    }
    return taken;
  }

  /** The first `count` items were taken. */
  #removed(queueKey: string, queue: Item[], count: number): void {
    if (count === 0) return;
    queue.splice(0, count);
    this.#size -= count;
    this.#queues.delete(queueKey);
    if (queue.length > 0) this.#queues.set(queueKey, queue);
  }
}
