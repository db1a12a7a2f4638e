/**
 * One queue per customer, served round robin, so that a customer's flood delays only itself.
 * Admission control bounds it.
 */
export class RoundRobinQueue<Item> {
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

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
   * Takes up to `max` items, oldest first. Each round gives every queue an equal share of what is left. Queues that were
   * served move behind those that were not.
   */
  take(max: number): Item[] {
    const taken: Item[] = [];
    while (taken.length < max && this.#size > 0) {
      const share = Math.max(1, Math.floor((max - taken.length) / this.#queues.size));
      for (const [queueKey, queue] of [...this.#queues]) {
        if (taken.length === max) break;
        const some = queue.splice(0, Math.min(share, max - taken.length));
        taken.push(...some);
        this.#size -= some.length;
        this.#queues.delete(queueKey);
        if (queue.length > 0) this.#queues.set(queueKey, queue);
      }
    }
    return taken;
  }
}
