/** Work of which only so much is done at once, and less of each customer; the rest waits, in turn by customer. */
import type { CustomerId } from "../../customers/customer-id.ts";

export class Turns {
  readonly #atOnce: number;
  readonly #ofCustomer: number;
  #running = 0;
  readonly #runningOf = new Map<CustomerId, number>();
  /** The customer whose turn is next comes first. */
  readonly #waiting = new Map<CustomerId, (() => void)[]>();

  constructor(atOnce: number, ofCustomer: number) {
    this.#atOnce = atOnce;
    this.#ofCustomer = ofCustomer;
  }

  async run<Value>(customerId: CustomerId, work: () => Promise<Value>): Promise<Value> {
    if (this.#mayBegin(customerId)) this.#count(customerId, 1);
    else
      await new Promise<void>((resolve) => {
        const queue = this.#waiting.get(customerId);
        if (queue === undefined) this.#waiting.set(customerId, [resolve]);
        else queue.push(resolve);
      });
    try {
      return await work();
    } finally {
      this.#count(customerId, -1);
      this.#beginNext();
    }
  }

  #mayBegin(customerId: CustomerId): boolean {
    return this.#running < this.#atOnce && (this.#runningOf.get(customerId) ?? 0) < this.#ofCustomer;
  }

  #beginNext(): void {
    for (const [customerId, queue] of this.#waiting) {
      if (!this.#mayBegin(customerId)) continue;
      this.#count(customerId, 1);
      const next = queue.shift();
      this.#waiting.delete(customerId);
      if (queue.length > 0) this.#waiting.set(customerId, queue);
      next?.();
      return;
    }
  }

  #count(customerId: CustomerId, change: 1 | -1): void {
    this.#running += change;
    const count = (this.#runningOf.get(customerId) ?? 0) + change;
    if (count === 0) this.#runningOf.delete(customerId);
    else this.#runningOf.set(customerId, count);
  }
}
