/** The request to place an order, and orders on the wire (docs/contract/orders.md). */
import { type Static, Type } from "typebox";
import type { CustomerId } from "../../../customers/customer-id.ts";
import {
  type Exchange,
  type Misfit,
  misfitsOf,
  ORDER_ANNOTATIONS,
  ORDER_STATUSES,
  ORDER_TYPES,
  type Order,
  type OrderRequest,
  type RequestedPrice,
  TIMES_IN_FORCE,
  timeInForceOf,
} from "../../../exchange/exchange.ts";
import type { ProfileId } from "../../../ledger/accounts.ts";
import { amountOf, formatAmount, SCALE } from "../../../money/amount.ts";
import { assert } from "../../../std/assert.ts";
import { formatInstant, type Instant, parseInstant } from "../../../std/clock.ts";
import type { Words } from "../../../web/dialect/dialect.ts";
import { type Every, present, profileIdOf, requestedAmount } from "../../domain-mapping.ts";
import { type FailingField, invalid, shownValue } from "../../problems/failing-fields.ts";
import { annotatedBodies } from "../../requests/annotated-bodies.ts";
import {
  Amount,
  Body,
  Decimal,
  MarketText,
  NamedEnum,
  OrEmpty,
  ProfileIdParam,
  RefId,
  Timestamp,
  UuidText,
} from "../../requests/schemas.ts";

const TimeInForce = NamedEnum(
  "TimeInForce",
  ["GTC", "FOK", "IOC", "GTT"],
  "GTC is active until it is filled or cancelled, GTT at most until its expiration_date. IOC trades immediately what it can, FOK all or nothing. The unfilled remainder of GTT, IOC and FOK orders is then cancelled, and their status is CANCELLED.",
);

const RejectReason = NamedEnum(
  "OrderRejectReason",
  [
    "identity_pair",
    "gtt_too_soon",
    "too_many_open_orders",
    "post_only_would_cross",
    "no_liquidity",
    "below_one_lot",
    "price_collar",
    "market_halted",
  ],
  "Why the order is REJECTED.",
);

const CancelReason = NamedEnum(
  "OrderCancelReason",
  ["requested", "expired", "self_trade", "immediate_or_cancel", "fill_or_kill", "too_many_matches"],
  "Why the order is CANCELLED. requested: by the caller. expired: at its expiration_date. self_trade: a newer order of the same customer reached it. immediate_or_cancel: the remainder of a MARKET or IOC order. fill_or_kill: others did not offer enough, or not within 100 orders. too_many_matches: it met a thousand orders and would still cross.",
);

export const NamedMarket = Type.String({
  description: "A market's code, from GET /v2/markets.",
  minLength: 1,
  maxLength: 100,
  "x-word": "market",
});

export const OrderSide = NamedEnum("OrderSide", ["BUY", "SELL"], "BUY or SELL the base asset.");

const OrderType = NamedEnum(
  "OrderType",
  ORDER_TYPES,
  "LIMIT trades at its price or better. MARKET trades immediately at any price. POST_ONLY_LIMIT rests and never takes liquidity. STOP_MARKET and STOP_LIMIT become market and limit orders when the last execution price reaches stop_price: at or below it for a sell, at or above it for a buy.",
);

export const OrderStatus = NamedEnum(
  "OrderStatus",
  ORDER_STATUSES,
  "PENDING_SUBMISSION: stored, with its funds held. SUBMITTED: accepted by the market; a stop that waits for its price, or, for a moment, an order that meets more than 100 resting orders. OPEN: resting on the order book, possibly partly filled. FILLED, CANCELLED and REJECTED are final. GTT orders at their expiration_date, and IOC and FOK orders that are not completely filled, become CANCELLED. EXPIRED is reserved: no order has it.",
);

const ANNOTATED = annotatedBodies(ORDER_ANNOTATIONS);

const NEW_ORDER_FIELDS = {
  side: OrderSide,
  market: NamedMarket,
  type: OrderType,
  ref_id: Type.Optional({
    ...RefId,
    description:
      "The caller's own reference for this order. If it is used again, the response is 409 with the first order. It can be reused when that order has been closed for more than 24 hours.",
  }),
  base_amount: Type.Optional({
    ...Amount,
    description: "The amount of the base asset to trade. For all orders except MARKET and STOP_MARKET buys.",
  }),
  quote_amount: OrEmpty({
    ...Amount,
    description:
      "For MARKET and STOP_MARKET buys: the amount of the quote asset to spend. The commission is charged in addition.",
  }),
  price: Type.Optional({
    ...Amount,
    description: "For limit orders: a multiple of the market's tick.",
  }),
  stop_price: Type.Optional({ ...Amount, description: "For stop orders: a multiple of the market's tick." }),
  time_in_force: Type.Optional({
    ...TimeInForce,
    description:
      "MARKET allows IOC only, stops GTC and GTT, LIMIT and POST_ONLY_LIMIT all of them. Default: IOC for MARKET, else GTC. The unfilled remainder is cancelled: of GTT orders at their expiration_date, of IOC and FOK orders immediately.",
  }),
  expiration_date: Type.Optional(
    Type.String({
      description:
        "For GTT: RFC 3339, or milliseconds since 1970 as a string. Returned as RFC 3339. An order that is still open at this time becomes CANCELLED. An order is REJECTED if it is not more than 10 seconds ahead.",
      minLength: 1,
      maxLength: 100,
    }),
  ),
  ...ANNOTATED.requestSchemas,
  recipient_profile_id: Type.Optional({
    ...ProfileIdParam,
    description:
      "The profile, one of the caller's, that receives the proceeds: the base asset of a buy, the quote asset of a sell. Default: the profile in the path.",
  }),
  await_fill_millis: Type.Optional(
    Type.Integer({
      description: "How long the response may wait for the order to close, in milliseconds. Default: 0.",
      minimum: 0,
      maximum: 10_000,
    }),
  ),
};

export const NewOrderBody = Body(NEW_ORDER_FIELDS, { title: "NewOrder" });
export type NewOrderBody = Static<typeof NewOrderBody>;

export const OrderBody = Type.Object(
  {
    id: UuidText,
    profile_id: { ...UuidText, description: "The profile that placed it, and whose funds are held." },
    ref_id: Type.Optional(Type.String({ description: "The caller's own reference." })),
    status: OrderStatus,
    side: OrderSide,
    market: MarketText,
    type: OrderType,
    base_amount: Type.Optional({ ...Decimal, description: "The amount of the base asset to trade." }),
    price: Type.Optional({
      ...Decimal,
      description: "The limit price.",
    }),
    quote_amount: Type.String({ description: "The amount that a market buy may spend; empty for every other order." }),
    stop_price: Type.Optional({ ...Decimal, description: "The last execution price that triggers a stop order." }),
    time_in_force: TimeInForce,
    expiration_date: Type.Optional({
      ...Timestamp,
      description: "When a GTT order that is still open becomes CANCELLED.",
    }),
    ...ANNOTATED.responseSchemas,
    recipient_profile_id: Type.Optional({
      ...UuidText,
      description: "The profile that receives the proceeds.",
    }),
    amount_filled: { ...Decimal, description: "The amount of the base asset that was traded." },
    volume_weighted_average_price: {
      ...Decimal,
      description: 'Rounded half up to 8 decimals; "0" before the first fill.',
    },
    is_triggered: Type.Boolean({ description: "Whether the stop has been triggered." }),
    reject_reason: Type.Optional(RejectReason),
    cancel_reason: Type.Optional(CancelReason),
    created_at: Timestamp,
    modified_at: Timestamp,
  },
  {
    title: "Order",
    description: "An order in its current state. Unused fields are absent, except quote_amount, which is then empty.",
  },
);

export function orderBody(order: Order, exchange: Pick<Exchange, "averagePrice">): Static<typeof OrderBody> {
  return present<Static<typeof OrderBody>>({
    id: order.id,
    profile_id: order.profileId,
    ref_id: order.refId,
    status: order.status,
    side: order.side,
    market: order.market,
    type: order.type,
    base_amount: maybe(order.baseAmount, formatAmount),
    price: maybe(order.price, formatAmount),
    quote_amount: maybe(order.quoteAmount, formatAmount) ?? "",
    stop_price: maybe(order.stopPrice, formatAmount),
    time_in_force: order.timeInForce,
    expiration_date: maybe(order.expirationDate, formatInstant),
    ...ANNOTATED.write(order.annotations),
    recipient_profile_id: order.recipientProfileId,
    amount_filled: formatAmount(order.filled),
    volume_weighted_average_price: formatAmount(exchange.averagePrice(order)),
    is_triggered: order.isTriggered,
    reject_reason: order.rejectReason,
    cancel_reason: order.cancelReason,
    created_at: formatInstant(order.createdAt),
    modified_at: formatInstant(order.updatedAt),
  });
}

function maybe<From, To>(value: From | undefined, format: (value: From) => To): To | undefined {
  return value === undefined ? undefined : format(value);
}

/** @throws Problem 400 when the fields of the body do not fit together */
export function orderRequest(
  body: NewOrderBody,
  customerId: CustomerId,
  profileId: ProfileId,
  words: Words,
): Every<OrderRequest> {
  const expirationDate = maybe(body.expiration_date, expirationOf);
  const draft = {
    side: body.side,
    type: body.type,
    timeInForce: body.time_in_force,
    baseAmount: maybe(body.base_amount, requestedAmount),
    quoteAmount: maybe(body.quote_amount, requestedAmount),
    price: maybe(body.price, requestedPrice),
    stopPrice: maybe(body.stop_price, requestedPrice),
    expirationDate,
  };
  const failing = misfitsOf(draft).map((misfit) => failingMisfit(misfit, body, words));
  const isReported = failing.some(({ field }) => field === "expiration_date");
  if (expirationDate === "unreadable" && !isReported)
    failing.push({ ...sent("expiration_date", body, words), rule: UNREADABLE_EXPIRATION });
  if (failing.length > 0) throw invalid(failing);
  assert(expirationDate !== "unreadable", "an unreadable time was rejected");
  const { side, type, baseAmount, quoteAmount, price, stopPrice } = draft;
  // Field by field: spreading the draft doubles the cost of this function.
  return {
    customerId,
    profileId,
    market: body.market,
    side,
    type,
    timeInForce: timeInForceOf(draft),
    baseAmount,
    quoteAmount,
    price,
    stopPrice,
    expirationDate,
    refId: body.ref_id,
    annotations: ANNOTATED.read(body),
    recipientProfileId: maybe(body.recipient_profile_id, profileIdOf),
  };
}

const WIRE_FIELDS = {
  timeInForce: "time_in_force",
  baseAmount: "base_amount",
  quoteAmount: "quote_amount",
  price: "price",
  stopPrice: "stop_price",
  expirationDate: "expiration_date",
} as const satisfies Record<Misfit["field"], keyof NewOrderBody>;

/** @param words in which its texts name the values of enums */
function failingMisfit({ field, why }: Misfit, body: NewOrderBody, words: Words): FailingField {
  const type = words.given(body.type);
  const kind = `${type} ${words.given(body.side)}`;
  const name = WIRE_FIELDS[field];
  switch (why) {
    case "missing":
      return {
        field: name,
        rule: field === "expirationDate" ? "is required for GTT" : `is required for a ${kind} order`,
      };
    case "out_of_place":
      return {
        ...sent(name, body, words),
        rule: field === "expirationDate" ? "belongs to GTT only" : `does not belong to a ${kind} order`,
      };
    case "invalid_for_the_type":
      return {
        ...sent(name, body, words),
        rule: `is not valid for a ${type} order, which takes ${TIMES_IN_FORCE[body.type].map(words.given).join(", ")}`,
      };
  }
}

function sent(field: keyof NewOrderBody, body: NewOrderBody, words: Words): Pick<FailingField, "field" | "value"> {
  const value = field === "time_in_force" ? maybe(body[field], words.given) : body[field];
  return { field, value: shownValue(value) };
}

const UNREADABLE_EXPIRATION =
  'is neither an RFC 3339 date-time, like "2026-11-21T09:30:00.000Z", nor milliseconds, within the years 1970 to 9999';
const LAST_MILLISECOND = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Rounds up to a millisecond, because an order never expires early; but not past the last one that can be stored. */
function expirationOf(text: string): Instant | "unreadable" {
  const instant = /^[0-9]{1,15}$/.test(text)
    ? (Number(text) as Instant)
    : (parseInstant(text, "up") ?? parseInstant(text, "down"));
  return instant === undefined || instant < 0 || instant > LAST_MILLISECOND ? "unreadable" : instant;
}

/** Truncates to the ledger's decimals: a price with more is off tick anyway. */
function requestedPrice(text: string): RequestedPrice {
  const amount = requestedAmount(text);
  if (amount !== "too_precise") return { amount, isExact: true };
  const end = text.indexOf(".") + 1 + SCALE;
  return { amount: amountOf(text.slice(0, end)), isExact: false };
}
