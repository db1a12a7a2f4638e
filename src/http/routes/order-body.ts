/** Orders on the wire: what is sent to place one, and what one looks like (interface.md, "Order record"). */
import { type Static, Type } from "typebox";
import type { CustomerId } from "../../customers/customer-id.ts";
import {
  type Exchange,
  type Misfit,
  misfitsOf,
  ORDER_STATUSES,
  ORDER_TYPES,
  type Order,
  type OrderRequest,
  type RequestedPrice,
  TIMES_IN_FORCE,
  timeInForceOf,
} from "../../exchange/exchange.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { amountOf, formatAmount, SCALE } from "../../money/amount.ts";
import { assert } from "../../std/assert.ts";
import { formatInstant, type Instant, parseInstant } from "../../std/clock.ts";
import { type FailingField, invalid, shownValue } from "../failing-fields.ts";
import { AccountId, Amount, Body, Decimal, IdentityId, Metadata, RefId, Timestamp, UuidText } from "../schemas.ts";
import { present, profileIdOf, requestedAmount } from "../wire.ts";

const TIMES = ["GTC", "FOK", "IOC", "GTT"] as const;
const SIDES = ["BUY", "SELL"] as const;
const REJECT_REASONS = [
  "identity_pair",
  "gtt_too_soon",
  "post_only_would_cross",
  "no_liquidity",
  "below_one_lot",
  "price_collar",
  "market_halted",
] as const;

export const MarketText = Type.String({
  description: "The code of a market, as GET /v2/markets lists it.",
  minLength: 1,
  maxLength: 100,
  examples: ["BTCUSD"],
});

export const NewOrderBody = Body({
  side: Type.Enum(SIDES),
  market: MarketText,
  type: Type.Enum(ORDER_TYPES, { description: "LIMIT and MARKET are supported so far." }),
  ref_id: Type.Optional({
    ...RefId,
    description:
      "The caller's own name for this order. Used again, the answer is 409 with the first order; free again once that has been closed for more than 24 hours.",
  }),
  base_amount: Type.Optional({
    ...Amount,
    description: "How much of the base asset to trade. For everything but market buys.",
  }),
  quote_amount: Type.Optional({
    ...Amount,
    description: "For market buys: how much of the quote asset to spend. The commission comes on top of it.",
  }),
  price: Type.Optional({
    ...Amount,
    description: "For limit orders: a multiple of the market's tick.",
    examples: ["25000"],
  }),
  stop_price: Type.Optional({ ...Amount, description: "For stop orders: a multiple of the market's tick." }),
  time_in_force: Type.Optional(
    Type.Enum(TIMES, { description: "GTC when it is left out, IOC for market orders, which take no other." }),
  ),
  expiration_date: Type.Optional(
    Type.String({
      description: "For GTT: RFC 3339, or milliseconds since 1970 as a string. Answered as RFC 3339.",
      minLength: 1,
      maxLength: 100,
      examples: ["2026-11-21T09:30:00.000Z"],
    }),
  ),
  identity_id: Type.Optional(IdentityId),
  identity_account_id: Type.Optional(AccountId),
  recipient_profile_id: Type.Optional({
    ...UuidText,
    description: "Another profile of the caller's that what is bought, or what it was sold for, goes to.",
  }),
  metadata: Type.Optional(Metadata),
  await_fill_millis: Type.Optional(
    Type.Integer({
      description: "How long to wait for the order to close before it is answered as it is.",
      default: 0,
      minimum: 0,
      maximum: 10_000,
    }),
  ),
  self_match_prevention_id: Type.Optional(Type.Unknown({ description: "Not supported.", deprecated: true })),
});
export type NewOrderBody = Static<typeof NewOrderBody>;

export const OrderBody = Type.Object(
  {
    id: UuidText,
    profile_id: UuidText,
    ref_id: Type.Optional(Type.String()),
    status: Type.Enum(ORDER_STATUSES),
    side: Type.Enum(SIDES),
    market: Type.String({ examples: ["BTCUSD"] }),
    type: Type.Enum(ORDER_TYPES),
    base_amount: Type.Optional(Decimal),
    price: Type.Optional(Decimal),
    quote_amount: Type.String({ description: "Of a market buy; else empty.", examples: [""] }),
    stop_price: Type.Optional(Decimal),
    time_in_force: Type.Enum(TIMES),
    expiration_date: Type.Optional(Timestamp),
    identity_id: Type.Optional(Type.String()),
    identity_account_id: Type.Optional(Type.String()),
    recipient_profile_id: Type.Optional(UuidText),
    metadata: Type.Optional(Metadata),
    amount_filled: { ...Decimal, description: "In the base asset." },
    volume_weighted_average_price: { ...Decimal, description: 'Half up at 8 decimals; "0" before the first fill.' },
    is_triggered: Type.Boolean(),
    reject_reason: Type.Optional(Type.Enum(REJECT_REASONS, { description: "Why the order is REJECTED." })),
    created_at: Timestamp,
    modified_at: Timestamp,
  },
  { title: "Order" },
);

export function orderBody(order: Order, exchange: Pick<Exchange, "averagePrice">): Static<typeof OrderBody> {
  return present({
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
    identity_id: order.identityId,
    identity_account_id: order.identityAccountId,
    recipient_profile_id: order.recipientProfileId,
    metadata: order.metadata,
    amount_filled: formatAmount(order.filled),
    volume_weighted_average_price: formatAmount(exchange.averagePrice(order)),
    is_triggered: order.isTriggered,
    reject_reason: order.rejectReason,
    created_at: formatInstant(order.createdAt),
    modified_at: formatInstant(order.modifiedAt),
  });
}

function maybe<From, To>(value: From | undefined, format: (value: From) => To): To | undefined {
  return value === undefined ? undefined : format(value);
}

/** The request to place this order. Throws the problem of a body whose fields do not fit together. */
export function orderRequest(body: NewOrderBody, customerId: CustomerId, profileId: ProfileId): OrderRequest {
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
  const failing = misfitsOf(draft).map((misfit) => failingMisfit(misfit, body));
  const isTold = failing.some(({ field }) => field === "expiration_date");
  if (expirationDate === "unreadable" && !isTold)
    failing.push({ ...sent("expiration_date", body), rule: UNREADABLE_EXPIRATION });
  if (body.self_match_prevention_id !== undefined) {
    failing.push({ ...sent("self_match_prevention_id", body), rule: "is not supported" });
  }
  if (failing.length > 0) throw invalid(failing);
  assert(expirationDate !== "unreadable", "an unreadable time was refused");
  return {
    ...draft,
    customerId,
    profileId,
    expirationDate,
    market: body.market,
    timeInForce: timeInForceOf(draft),
    refId: body.ref_id,
    identityId: body.identity_id,
    identityAccountId: body.identity_account_id,
    recipientProfileId: maybe(body.recipient_profile_id, profileIdOf),
    metadata: body.metadata,
  };
}

const WIRE_FIELDS = {
  type: "type",
  timeInForce: "time_in_force",
  baseAmount: "base_amount",
  quoteAmount: "quote_amount",
  price: "price",
  stopPrice: "stop_price",
  expirationDate: "expiration_date",
} as const satisfies Record<Misfit["field"], keyof NewOrderBody>;

function failingMisfit({ field, why }: Misfit, body: NewOrderBody): FailingField {
  const kind = `${body.type} ${body.side}`;
  const name = WIRE_FIELDS[field];
  switch (why) {
    case "missing":
      return {
        field: name,
        rule: field === "expirationDate" ? "is required for GTT" : `is required for a ${kind} order`,
      };
    case "out_of_place":
      return {
        ...sent(name, body),
        rule: field === "expirationDate" ? "belongs to GTT only" : `does not belong to a ${kind} order`,
      };
    case "invalid_for_the_type":
      return {
        ...sent(name, body),
        rule: `is not valid for a ${body.type} order, which takes ${TIMES_IN_FORCE[body.type].join(", ")}`,
      };
    case "not_supported_yet":
      return { ...sent(name, body), rule: "is not supported yet" };
  }
}

function sent(field: keyof NewOrderBody, body: NewOrderBody): Pick<FailingField, "field" | "value"> {
  return { field, value: shownValue(body[field]) };
}

const UNREADABLE_EXPIRATION =
  'is neither an RFC 3339 date-time, like "2026-11-21T09:30:00.000Z", nor milliseconds, within the years 1970 to 9999';
const LAST_MILLISECOND = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** What is finer than a millisecond rounds up: an order never expires before the time that it was given. */
function expirationOf(text: string): Instant | "unreadable" {
  const instant = /^[0-9]{1,15}$/.test(text) ? (Number(text) as Instant) : parseInstant(text, "up");
  return instant === undefined || instant < 0 || instant > LAST_MILLISECOND ? "unreadable" : instant;
}

/** Cut off behind the decimals that the ledger holds: a price that has more is between two of the market's anyway. */
function requestedPrice(text: string): RequestedPrice {
  const amount = requestedAmount(text);
  if (amount !== "too_precise") return { amount, isExact: true };
  const end = text.indexOf(".") + 1 + SCALE;
  return { amount: amountOf(text.slice(0, end)), isExact: false };
}
