/** How many posts wait for their answers: in all, to receivers that fail, and of each customer. */
import type { CustomerId } from "../../customers/customer-id.ts";

export const MOST_IN_FLIGHT = 1_024;
const MOST_TO_FAILING = MOST_IN_FLIGHT / 2;
/** A customer's webhooks together: receivers that hang must not take all. */
const MOST_OF_CUSTOMER = 64;

export class InFlight {
  #count = 0;
  #toFailing = 0;
  readonly #of = new Map<CustomerId, number>();

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= MOST_IN_FLIGHT;
  }

  get isFullOfFailing(): boolean {
    return this.#toFailing >= MOST_TO_FAILING;
  }

  isFullOf(customerId: CustomerId): boolean {
    return (this.#of.get(customerId) ?? 0) >= MOST_OF_CUSTOMER;
  }

  change(customerId: CustomerId, isToFailing: boolean, change: 1 | -1): void {
    this.#count += change;
    if (isToFailing) this.#toFailing += change;
    const ofCustomer = (this.#of.get(customerId) ?? 0) + change;
    if (ofCustomer === 0) this.#of.delete(customerId);
    else this.#of.set(customerId, ofCustomer);
  }
}
