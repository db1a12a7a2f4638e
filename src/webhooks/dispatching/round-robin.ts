/** Webhooks that may have something to send: one customer after another, and of a customer one webhook after another. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Line } from "./line.ts";

/** What of a webhook decides its turn. */
interface Member {
  readonly webhook: Pick<Line["webhook"], "customerId">;
}

export class RoundRobin<One extends Member = Line> {
  readonly #byCustomer = new Map<CustomerId, Set<One>>();

  get isEmpty(): boolean {
    return this.#byCustomer.size === 0;
  }

  /** Behind the customer's others, unless it waits already. */
  add(one: One): void {
    const { customerId } = one.webhook;
    const waiting = this.#byCustomer.get(customerId) ?? new Set();
    this.#byCustomer.set(customerId, waiting.add(one));
  }

  delete(one: One): void {
    const { customerId } = one.webhook;
    const waiting = this.#byCustomer.get(customerId);
    if (waiting?.delete(one) && waiting.size === 0) this.#byCustomer.delete(customerId);
  }

  /** Takes out the one whose turn it is. Its customer is the last then. */
  next(): One | undefined {
    const [first] = this.#byCustomer;
    if (first === undefined) return undefined;
    const [customerId, waiting] = first;
    const [one] = waiting;
    if (one !== undefined) waiting.delete(one);
    this.#byCustomer.delete(customerId);
    if (waiting.size > 0) this.#byCustomer.set(customerId, waiting);
    return one;
  }
}
