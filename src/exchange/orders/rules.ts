/**
 * The rules of placing an order. The order of checks is part of the interface (docs/contract/requests.md#order-of-checks,
 * rule 3): profiles, market, price and amounts, market status, notional value, the two reasons for which an order is
 * stored as REJECTED, funds.
 */
import type { FeeRates } from "../../catalogue/fee-tiers.ts";
import type { Market, MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import {
  activeProfile,
  type Profile,
  type ProfileNotFound,
  profileNotFound,
  profileTable,
} from "../../customers/profiles/profiles.ts";
import { entry, journal, type ProfileId } from "../../ledger/accounts.ts";
import { accept, type Decision, type Rejection, type State } from "../../ledger/decision.ts";
import {
  checkFunds,
  type ExceedPrecision,
  type InsufficientFunds,
  type RequestedAmount,
} from "../../ledger/rejections.ts";
import { change } from "../../ledger/tables.ts";
import { type Amount, fitsPrecision, minus, multiplyExact, negative, plus, unitOf, ZERO } from "../../money/amount.ts";
import type { Asset, AssetCode } from "../../money/asset.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { instantOf } from "../../std/id.ts";
import { type Check, done, PASSED, type Result, reject } from "../../std/result.ts";
import { marketTable } from "../market-state.ts";
import {
  type Order,
  type OrderId,
  type OrderRejectReason,
  type OrderSide,
  type OrderTimeInForce,
  type OrderType,
  orderTable,
} from "../order.ts";

export interface UnknownMarket extends Rejection {
  readonly code: "unknown_market";
  /** The field of the request that named the market. */
  readonly field: "market" | "markets";
  readonly market: string;
  readonly markets: readonly MarketCode[];
}

/** The price is not a multiple of the market's tick. `below` is undefined when there is no lower valid price. */
export interface OffTick extends Rejection {
  readonly code: "off_tick";
  readonly field: "price" | "stopPrice";
  readonly market: MarketCode;
  readonly tick: Amount;
  readonly below: Amount | undefined;
  readonly above: Amount;
}

/** The price exceeds what the order book can represent. */
export interface PriceTooLarge extends Rejection {
  readonly code: "price_too_large";
  readonly field: "price" | "stopPrice";
  readonly market: MarketCode;
  readonly maximum: Amount;
}

export interface AmountOutOfBounds extends Rejection {
  readonly code: "amount_too_small" | "amount_too_large";
  readonly field: "baseAmount" | "quoteAmount";
  readonly market: MarketCode;
  readonly asset: AssetCode;
  readonly bound: Amount;
}

export interface MarketUnavailable extends Rejection {
  readonly code: "market_unavailable";
  readonly market: MarketCode;
}

export interface NotionalValueTooLarge extends Rejection {
  readonly code: "notional_value_too_large";
  readonly market: MarketCode;
  readonly orderType: OrderType;
  readonly notionalValue: Amount;
  readonly maximum: Amount;
  readonly asset: AssetCode;
}

/** Why an order's terms are invalid on its market. */
type TermsRejection = OffTick | PriceTooLarge | AmountOutOfBounds | ExceedPrecision;

export type OrderRejection =
  | ProfileNotFound
  | UnknownMarket
  | TermsRejection
  | MarketUnavailable
  | NotionalValueTooLarge
  | InsufficientFunds;

/** A requested price. `isExact` is false if it has more decimals than the ledger and was truncated: it is never on a tick. */
export interface RequestedPrice {
  readonly amount: Amount;
  readonly isExact: boolean;
}

/** A request to place an order, without misfits (`misfitsOf`). */
export interface OrderRequest {
  readonly customerId: CustomerId;
  readonly profileId: ProfileId;
  readonly market: string;
  readonly side: OrderSide;
  readonly type: OrderType;
  readonly timeInForce: OrderTimeInForce;
  readonly baseAmount?: RequestedAmount | undefined;
  readonly quoteAmount?: RequestedAmount | undefined;
  readonly price?: RequestedPrice | undefined;
  readonly stopPrice?: RequestedPrice | undefined;
  readonly expirationDate?: Instant | undefined;
  readonly refId?: string | undefined;
  readonly recipientProfileId?: ProfileId | undefined;
  readonly annotations?: Order["annotations"] | undefined;
}

/** The market of an order, and what placement needs to know about it. */
export interface Venue {
  readonly market: Market;
  readonly quote: Asset;
  /** The customer's rates, a few seconds old at most. The order keeps them. */
  readonly rates: FeeRates;
  /** The price of the last execution when the request arrived, if any. */
  readonly lastPrice: Amount | undefined;
}

type Terms = Pick<Order, "baseAmount" | "quoteAmount" | "price" | "stopPrice">;

/** A GTT order that does not expire later than this is REJECTED (docs/contract/orders.md#stored-rejections, rule 2). */
const SHORTEST_LIFE_MS = 10_000;

export function decideOrder(
  request: OrderRequest,
  id: OrderId,
  found: Result<Venue, UnknownMarket>,
  state: State,
  now: Instant,
): Decision<Order, OrderRejection> {
  const { customerId, profileId } = request;
  if (activeProfile(state, profileId, customerId) === undefined) return reject(profileNotFound(profileId));
  const recipientId = request.recipientProfileId ?? profileId;
  const recipient = activeProfile(state, recipientId, customerId);
  if (recipient === undefined) return reject(profileNotFound(recipientId));
  if (found.kind === "rejected") return found;
  const venue = found.value;
  const { market } = venue;
  const checked = termsOf(request, venue);
  if (checked.kind === "rejected") return checked;
  const terms = checked.value;
  const { status } = must(state.get(marketTable, market.code), "a market of the catalogue has its row");
  if (status === "HALTED") return reject({ code: "market_unavailable", market: market.code });
  const notional = checkNotional(request, terms, venue);
  if (notional.kind === "rejected") return notional;
  const rejectReason = rejectReasonOf(request, now);
  if (rejectReason !== undefined) {
    const rejected = openOrder(request, id, terms, venue, { held: ZERO, rejectReason });
    return accept(rejected, { states: [change(orderTable, rejected)] });
  }
  const hold = holdOf(request, terms, venue);
  const funds = checkFunds(state, profileId, hold.asset, hold.amount);
  if (funds.kind === "rejected") return funds;

  // From here the order must be placed.
  const order = openOrder(request, id, terms, venue, { held: hold.amount });
  return accept(order, {
    states: [change(orderTable, order), ...countIncoming(recipient, profileId)],
    journals: [
      journal(id, "order_held", [
        entry(profileId, hold.asset, negative(hold.amount), "available"),
        entry(profileId, hold.asset, hold.amount, "trading"),
      ]),
    ],
  });
}

function termsOf(request: OrderRequest, { market, quote }: Venue): Result<Terms, TermsRejection> {
  const price = request.price && checkPrice("price", request.price, market);
  if (price?.kind === "rejected") return price;
  const stopPrice = request.stopPrice && checkPrice("stopPrice", request.stopPrice, market);
  if (stopPrice?.kind === "rejected") return stopPrice;
  const baseAmount =
    request.baseAmount &&
    checkAmount("baseAmount", request.baseAmount, market, {
      asset: market.base,
      decimals: market.baseDecimals,
      minimum: market.minBaseAmount,
      maximum: market.maxBaseAmount,
    });
  if (baseAmount?.kind === "rejected") return baseAmount;
  const quoteAmount =
    request.quoteAmount &&
    checkAmount("quoteAmount", request.quoteAmount, market, {
      asset: quote.code,
      decimals: quote.precision,
      minimum: market.minQuoteAmount,
      maximum: market.maxQuoteAmount,
    });
  if (quoteAmount?.kind === "rejected") return quoteAmount;
  return done({
    price: price?.value,
    stopPrice: stopPrice?.value,
    baseAmount: baseAmount?.value,
    quoteAmount: quoteAmount?.value,
  });
}

function checkPrice(
  field: "price" | "stopPrice",
  { amount, isExact }: RequestedPrice,
  { code: market, tick, priceDecimals }: Market,
): Result<Amount, OffTick | PriceTooLarge> {
  const below = minus(amount, (amount % tick) as Amount);
  if (!isExact || below !== amount) {
    const above = plus(below, tick);
    return reject({ code: "off_tick", field, market, tick, below: below === ZERO ? undefined : below, above });
  }
  // The book counts prices in safe integers of the market's smallest unit.
  const max = BigInt(Number.MAX_SAFE_INTEGER) * unitOf(priceDecimals);
  const maximum = (max - (max % tick)) as Amount;
  return amount <= maximum ? done(amount) : reject({ code: "price_too_large", field, market, maximum });
}

interface AmountBounds {
  readonly asset: AssetCode;
  readonly decimals: number;
  readonly minimum: Amount;
  readonly maximum: Amount;
}

function checkAmount(
  field: "baseAmount" | "quoteAmount",
  amount: RequestedAmount,
  { code: market }: Market,
  { asset, decimals, minimum, maximum }: AmountBounds,
): Result<Amount, AmountOutOfBounds | ExceedPrecision> {
  // An amount that no asset can hold cannot be compared with the bounds.
  if (amount === "too_precise") return reject({ code: "exceed_precision", field, market, asset, precision: decimals });
  if (amount < minimum) return reject({ code: "amount_too_small", field, market, asset, bound: minimum });
  if (amount > maximum) return reject({ code: "amount_too_large", field, market, asset, bound: maximum });
  if (!fitsPrecision(amount, decimals))
    return reject({ code: "exceed_precision", field, market, asset, precision: decimals });
  return done(amount);
}

function checkNotional(
  { type }: OrderRequest,
  { baseAmount, quoteAmount, price }: Terms,
  { market, lastPrice }: Venue,
): Check<NotionalValueTooLarge> {
  const assumedPrice = price ?? lastPrice;
  const product = baseAmount && assumedPrice && multiplyExact(baseAmount, assumedPrice);
  const notionalValue = quoteAmount ?? product;
  const maximum = market.maxNotionalValue;
  if (notionalValue === undefined || notionalValue <= maximum) return PASSED;
  const what = { market: market.code, orderType: type, asset: market.quote };
  return reject({ code: "notional_value_too_large", ...what, notionalValue, maximum });
}

/** The reason to store an order as REJECTED at once, independent of the book and of funds. */
function rejectReasonOf(
  { annotations: { identityId, identityAccountId } = {}, expirationDate }: OrderRequest,
  now: Instant,
): OrderRejectReason | undefined {
  if ((identityId === undefined) !== (identityAccountId === undefined)) return "identity_pair";
  if (expirationDate !== undefined && expirationDate <= now + SHORTEST_LIFE_MS) return "gtt_too_soon";
  return undefined;
}

/** The most that the order may cost: a sell its base amount, a buy its gross plus commission. */
function holdOf(
  { side }: OrderRequest,
  { baseAmount, quoteAmount, price }: Terms,
  { market, rates }: Venue,
): { asset: AssetCode; amount: Amount } {
  if (side === "SELL") return { asset: market.base, amount: must(baseAmount, "a sell names its base amount") };
  const gross =
    quoteAmount ??
    multiplyExact(
      must(baseAmount, "a buy without a quote amount names its base"),
      must(price, "a limit buy has a price"),
    );
  return { asset: market.quote, amount: plus(gross, multiplyExact(gross, rates.takerRate)) };
}

/** A profile counts the orders of other profiles that will pay into it, so that it cannot be deactivated before. */
function countIncoming(recipient: Profile, profileId: ProfileId) {
  return recipient.id === profileId
    ? []
    : [change(profileTable, { ...recipient, incomingCount: recipient.incomingCount + 1 })];
}

/** The order as it is first stored: pending for its engine, or closed if there is a reason to reject it. */
function openOrder(
  request: OrderRequest,
  id: OrderId,
  terms: Terms,
  { market, rates }: Venue,
  { held, rejectReason }: { readonly held: Amount; readonly rejectReason?: OrderRejectReason },
): Order {
  const createdAt = instantOf(id);
  // Field by field: an object spread would give each order its own hidden class.
  return {
    baseAmount: terms.baseAmount,
    quoteAmount: terms.quoteAmount,
    price: terms.price,
    stopPrice: terms.stopPrice,
    id,
    profileId: request.profileId,
    customerId: request.customerId,
    market: market.code,
    side: request.side,
    type: request.type,
    timeInForce: request.timeInForce,
    expirationDate: request.expirationDate,
    takerRate: rates.takerRate,
    makerRebate: rates.makerRebate,
    recipientProfileId: request.recipientProfileId,
    refId: request.refId,
    annotations: request.annotations ?? {},
    createdAt,
    status: rejectReason === undefined ? "PENDING_SUBMISSION" : "REJECTED",
    sequence: undefined,
    priority: undefined,
    filled: ZERO,
    filledGross: ZERO,
    held,
    isTriggered: false,
    rejectReason,
    cancelReason: undefined,
    updatedAt: createdAt,
    closedAt: rejectReason === undefined ? undefined : createdAt,
    version: 0n,
  };
}
