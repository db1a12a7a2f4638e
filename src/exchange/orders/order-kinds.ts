/**
 * The fields and times in force of each kind of order (docs/contract/orders.md#placing-an-order, #time-in-force). These
 * rules need neither a market nor a clock.
 */
import type { OrderSide, OrderTimeInForce, OrderType } from "../order.ts";

/** The times in force of each type; the first is the default. */
export const TIMES_IN_FORCE = {
  MARKET: ["IOC"],
  LIMIT: ["GTC", "IOC", "GTT", "FOK"],
  POST_ONLY_LIMIT: ["GTC", "IOC", "GTT", "FOK"],
  STOP_MARKET: ["GTC", "GTT"],
  STOP_LIMIT: ["GTC", "GTT"],
} as const satisfies Readonly<Record<OrderType, readonly [OrderTimeInForce, ...OrderTimeInForce[]]>>;

/** An order's fields that depend on its kind. Only their presence matters here. */
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

/** A field that the order's kind does not allow, or lacks. */
export interface Misfit {
  readonly field: Exclude<keyof OrderDraft, "side" | "type">;
  readonly why: "missing" | "out_of_place" | "invalid_for_the_type";
}

export function timeInForceOf({ type, timeInForce }: OrderDraft): OrderTimeInForce {
  return timeInForce ?? TIMES_IN_FORCE[type][0];
}

/** @returns all misfits, in the order in which they are reported */
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

/** The fields that depend on the kind, in report order. */
const DEPENDING = ["baseAmount", "quoteAmount", "price", "stopPrice", "expirationDate"] as const;

/** Whether an order of this kind must have each field; if not, it must not have it. */
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
