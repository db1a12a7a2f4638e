/** Who waits for events on this node: requests that may wait, and streams. Each holds a connection, so both are bounded. */
import type { ServerResponse } from "node:http";
import type { FastifyRequest } from "fastify";
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Events } from "../../events/events.ts";
import { WakeSignal } from "../../std/wake-signal.ts";
import { onceClosed } from "../../web/connections/tracked-response.ts";
import { isLoopback, rateLimitKey } from "../../web/limits/address.ts";

/** How many may wait in this process. */
export interface MostWaiting {
  readonly all: number;
  readonly ofCustomer: number;
  /** So that one whose connections are left open leaves room for the customer's others. */
  readonly ofClient: number;
  /** Loopback exempt: a local proxy stands for many callers. */
  readonly ofAddress: number;
}

/** Who waits: a request whose token has been verified. */
export type WaitingRequest = Pick<FastifyRequest, "grant" | "ip">;

/** Counts those who wait, in all and of each customer, client and address. */
export class Waiters {
  readonly #most: MostWaiting;
  readonly #waiting = new Map<string, number>();

  constructor(most: MostWaiting) {
    this.#most = most;
  }

  /** @returns a function that ends the count; undefined when there are as many as there may be */
  enter(request: WaitingRequest): (() => void) | undefined {
    const counts = this.#countsOf(request);
    if (counts.some(([name, most]) => (this.#waiting.get(name) ?? 0) >= most)) return undefined;
    for (const [name] of counts) this.#add(name, 1);
    return () => {
      for (const [name] of counts) this.#add(name, -1);
    };
  }

  #countsOf({ grant, ip }: WaitingRequest): (readonly [name: string, most: number])[] {
    const { all, ofCustomer, ofClient, ofAddress } = this.#most;
    return [
      ["all", all],
      [`customer ${grant.customerId}`, ofCustomer],
      [`client ${grant.clientId}`, ofClient],
      ...(isLoopback(ip) ? [] : [[`address ${rateLimitKey(ip)}`, ofAddress] as const]),
    ];
  }

  #add(name: string, change: 1 | -1): void {
    const count = (this.#waiting.get(name) ?? 0) + change;
    if (count === 0) this.#waiting.delete(name);
    else this.#waiting.set(name, count);
  }
}

export interface AwaitedNews {
  /** Resolves on news since the last call, when the caller has gone, or after `ms`. */
  wait(ms: number): Promise<void>;
  /** Ends the wait. */
  end(): void;
  stop(): void;
}

/**
 * Waits for news of a customer for one response.
 * @param stopping ends the wait, too
 */
export function untilNews(
  events: Pick<Events, "onNews">,
  customerId: CustomerId,
  response: Pick<ServerResponse, "destroyed" | "once" | "off">,
  stopping?: AbortSignal,
): AwaitedNews {
  const news = new WakeSignal();
  const notify = (): void => news.notify();
  const forget = events.onNews(customerId, notify);
  onceClosed(response, notify);
  stopping?.addEventListener("abort", notify);
  if (stopping?.aborted === true) notify();
  return {
    wait: (ms) => news.wait(ms),
    end: notify,
    stop: () => {
      forget();
      response.off("close", notify);
      stopping?.removeEventListener("abort", notify);
    },
  };
}
