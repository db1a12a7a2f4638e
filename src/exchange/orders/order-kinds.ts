/**
 * Which fields each kind of order has, and how long it may be in force (docs/contract/orders.md#placing-an-order,
 * #time-in-force). This is the shape of an order: it needs neither a market nor a clock.
 */
import type { OrderSide, OrderTimeInForce, OrderType } from "../order.ts";

/** The times in force that a type may have; the first is the one that it has when none is asked for. */
export const TIMES_IN_FORCE = {
  MARKET: ["IOC"],
  LIMIT: ["GTC", "IOC", "GTT", "FOK"],
  POST_ONLY_LIMIT: ["GTC", "IOC", "GTT", "FOK"],
  STOP_MARKET: ["GTC", "GTT"],
  STOP_LIMIT: ["GTC", "GTT"],
} as const satisfies Readonly<Record<OrderType, readonly [OrderTimeInForce, ...OrderTimeInForce[]]>>;

/** What of an order its kind decides on. Only whether a field is there matters here, not what it holds. */
export interface OrderDraft {
  readonly side: OrderSide;
  readonly type: OrderType;
  readonly timeInForce?: OrderTimeInForce | undefined;
  readonly baseAmount?: unknown;
  readonly quoteAmount?: unknown;
  readonly price?: unknown;
  readonly stopPrice?: unknown;
  readonly expirationDate?: unknown;
}

/** A field that does not fit the order's kind. */
export interface Misfit {
  readonly field: Exclude<keyof OrderDraft, "side" | "type">;
  readonly why: "missing" | "out_of_place" | "invalid_for_the_type";
}

export function timeInForceOf({ type, timeInForce }: OrderDraft): OrderTimeInForce {
  return timeInForce ?? TIMES_IN_FORCE[type][0];
}

/** All that does not fit; none when the order has the shape of its kind. */
export function misfitsOf(draft: OrderDraft): Misfit[] {
  const misfits: Misfit[] = [];
  const { type, timeInForce } = draft;
  const valid: readonly OrderTimeInForce[] = TIMES_IN_FORCE[type];
  if (timeInForce !== undefined && !valid.includes(timeInForce)) {
    misfits.push({ field: "timeInForce", why: "invalid_for_the_type" });
  }
  const has = fieldsOf(draft);
  for (const field of DEPENDING) {
    const isThere = draft[field] !== undefined;
    if (has[field] !== isThere) misfits.push({ field, why: has[field] ? "missing" : "out_of_place" });
  }
  return misfits;
}

/** The fields that depend on the kind, in the order in which callers are told of them. */
const DEPENDING = ["baseAmount", "quoteAmount", "price", "stopPrice", "expirationDate"] as const;

/** Which of them an order of this kind has: these and no others. */
function fieldsOf(draft: OrderDraft): Readonly<Record<(typeof DEPENDING)[number], boolean>> {
  const { side, type } = draft;
  const spendsQuote = side === "BUY" && (type === "MARKET" || type === "STOP_MARKET");
  return {
    baseAmount: !spendsQuote,
    quoteAmount: spendsQuote,
    price: type !== "MARKET" && type !== "STOP_MARKET",
    stopPrice: type === "STOP_MARKET" || type === "STOP_LIMIT",
    expirationDate: draft.timeInForce === "GTT",
  };
}
