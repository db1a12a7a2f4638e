/**
 * The waiting line of the lane: one queue per customer, served in turn, so that a customer who sends a flood waits
 * for itself. Every queue has a bound, and so have all of them together.
 */
export class FairQueue<Item> {
  readonly #queues = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(turn: string, item: Item): void {
    const queue = this.#queues.get(turn);
    if (queue === undefined) this.#queues.set(turn, [item]);
    else queue.push(item);
    this.#size += 1;
  }

  /**
   * Takes up to `most` items. Each round gives every queue an equal share of what is left, oldest first; whoever was
   * served goes behind those who were not.
   */
  take(most: number): Item[] {
    const taken: Item[] = [];
    while (taken.length < most && this.#size > 0) {
      const share = Math.max(1, Math.floor((most - taken.length) / this.#queues.size));
      for (const [turn, queue] of [...this.#queues]) {
        if (taken.length === most) break;
        const some = queue.splice(0, Math.min(share, most - taken.length));
        taken.push(...some);
        this.#size -= some.length;
        this.#queues.delete(turn);
        if (queue.length > 0) this.#queues.set(turn, queue);
      }
    }
    return taken;
  }
}
