/** Who waits for events on this node: requests that may wait, and streams. Each holds a connection, so both are bounded. */
import type { ServerResponse } from "node:http";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Events } from "../../events/events.ts";
import { WakeSignal } from "../../std/wake-signal.ts";

/** Counts those who wait, of each customer and in all. */
export class Waiters {
  readonly #most: number;
  readonly #mostOfCustomer: number;
  readonly #waiting = new Map<CustomerId, number>();
  #all = 0;

  constructor(most: number, mostOfCustomer: number) {
    this.#most = most;
    this.#mostOfCustomer = mostOfCustomer;
  }

  /** @returns a function that ends the count; undefined when there are as many as there may be */
  enter(customerId: CustomerId): (() => void) | undefined {
    const own = this.#waiting.get(customerId) ?? 0;
    if (this.#all >= this.#most || own >= this.#mostOfCustomer) return undefined;
    this.#count(customerId, 1);
    return () => this.#count(customerId, -1);
  }

  #count(customerId: CustomerId, change: 1 | -1): void {
    this.#all += change;
    const own = (this.#waiting.get(customerId) ?? 0) + change;
    if (own === 0) this.#waiting.delete(customerId);
    else this.#waiting.set(customerId, own);
  }
}

export interface AwaitedNews {
  /** Resolves on news since the last call, when the caller has gone, or after `ms`. */
  wait(ms: number): Promise<void>;
  /** Ends the wait. */
  end(): void;
  stop(): void;
}

/** Waits for news of a customer for one response. */
export function untilNews(
  events: Pick<Events, "onNews">,
  customerId: CustomerId,
  response: Pick<ServerResponse, "once" | "off">,
): AwaitedNews {
  const news = new WakeSignal();
  const notify = (): void => news.notify();
  const forget = events.onNews(customerId, notify);
  response.once("close", notify);
  return {
    wait: (ms) => news.wait(ms),
    end: notify,
    stop: () => {
      forget();
      response.off("close", notify);
    },
  };
}
