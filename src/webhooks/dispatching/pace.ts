/**
 * How many deliveries there are a second: of a customer's webhooks together, and of all. Signing, posting and writing them
 * costs the thread that also answers the API, so there are fewer when that thread has little time left. A large one counts as
 * several; the less time there is, the more a large one counts for its customer.
 *
 * Both are the generic cell rate algorithm: a time at which as much may be taken at once as at the beginning.
 */
import type { CustomerId } from "../../customers/customer-id.ts";
import { BUSY, ThreadLoad } from "../../std/thread-load.ts";

export const MOST_PER_SECOND = 2_500;
/** However busy the thread is: deliveries go on. */
export const LEAST_PER_SECOND = 200;
export const MOST_OF_CUSTOMER_PER_SECOND = 500;
/** A delivery of more counts once more for each: of its customer, and of all, whose small ones must not wait for long. */
const BYTES_OF_CUSTOMER = 16 * 1024;
const BYTES_OF_ALL = 64 * 1024;
/** What is signed and posted in one turn of the process: the API has its turns between. */
const MOST_IN_A_TURN = 16;
const MOST_BYTES_IN_A_TURN = 128 * 1024;
/** What was not taken for so long may be taken at once. */
const BURST_MS = 100;
/** Of the time of the thread: below it there are more again, and above BUSY fewer. */
const FREE = 0.7;
const FEWER = 0.8;
const MORE = 1.1;
const ADAPT_MS = 100;

/** All times are of the process. */
export class Pace {
  readonly #load: Pick<ThreadLoad, "utilization">;
  readonly #ofCustomerPerSecond: number;
  #adaptedAtMs = 0;
  #perSecond = MOST_PER_SECOND;
  #restedAtMs = 0;
  readonly #restedAtMsOf = new Map<CustomerId, number>();
  readonly #turn = { taken: 0, bytes: 0 };

  constructor(
    load: Pick<ThreadLoad, "utilization"> = new ThreadLoad(),
    ofCustomerPerSecond = MOST_OF_CUSTOMER_PER_SECOND,
  ) {
    this.#load = load;
    this.#ofCustomerPerSecond = ofCustomerPerSecond;
  }

  /** Of all customers together. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** To be called often. */
  adapt(nowMs: number): void {
    if (nowMs - this.#adaptedAtMs < ADAPT_MS) return;
    this.#adaptedAtMs = nowMs;
    const { utilization } = this.#load;
    if (utilization > BUSY) this.#perSecond = Math.max(LEAST_PER_SECOND, this.#perSecond * FEWER);
    if (utilization < FREE) this.#perSecond = Math.min(MOST_PER_SECOND, this.#perSecond * MORE);
    for (const [customerId, restedAtMs] of this.#restedAtMsOf)
      if (restedAtMs <= nowMs) this.#restedAtMsOf.delete(customerId);
  }

  beginTurn(): void {
    Object.assign(this.#turn, { taken: 0, bytes: 0 });
  }

  /** Whether what was taken since `beginTurn` is enough for one. */
  get isTurnOver(): boolean {
    return this.#turn.taken >= MOST_IN_A_TURN || this.#turn.bytes >= MOST_BYTES_IN_A_TURN;
  }

  mayTake(nowMs: number): boolean {
    return this.#restedAtMs <= nowMs + BURST_MS;
  }

  mayTakeOf(customerId: CustomerId, nowMs: number): boolean {
    return (this.#restedAtMsOf.get(customerId) ?? 0) <= nowMs + BURST_MS;
  }

  onTaken(customerId: CustomerId, nowMs: number): void {
    this.#turn.taken += 1;
    this.#countOfAll(1, nowMs);
    this.#count(customerId, 1, nowMs);
  }

  /** What was taken is so large. */
  onBody(customerId: CustomerId, bytes: number, nowMs: number): void {
    this.#turn.bytes += bytes;
    this.#countOfAll(Math.floor(bytes / BYTES_OF_ALL), nowMs);
    const dearer = MOST_PER_SECOND / this.#perSecond;
    this.#count(customerId, Math.floor((bytes / BYTES_OF_CUSTOMER) * dearer), nowMs);
  }

  #countOfAll(times: number, nowMs: number): void {
    this.#restedAtMs = Math.max(this.#restedAtMs, nowMs) + (times * 1_000) / this.#perSecond;
  }

  #count(customerId: CustomerId, times: number, nowMs: number): void {
    const ofCustomer = Math.max(this.#restedAtMsOf.get(customerId) ?? 0, nowMs);
    this.#restedAtMsOf.set(customerId, ofCustomer + (times * 1_000) / this.#ofCustomerPerSecond);
  }
}
