/** Places orders and requests their cancellation. Only the engine changes them afterwards. */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { activeProfileKey, recipientKey } from "../../customers/profiles/profiles.ts";
import { accountKey, type ProfileId } from "../../ledger/accounts.ts";
import type { Caller } from "../../ledger/caller.ts";
import type { Claim, Outcome, Rejection } from "../../ledger/decision.ts";
import type { Key } from "../../ledger/tables.ts";
import type { Lane } from "../../ledger/writer/lane.ts";
import { type Amount, mulDiv, unitOf, ZERO } from "../../money/amount.ts";
import type { Database } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import type { IdSource } from "../../std/id.ts";
import { done, type Result, reject } from "../../std/result.ts";
import type { Fees } from "../customer-fees/customer-fees.ts";
import { marketKey } from "../market-state.ts";
import { findLastPrice } from "../market-status/markets.ts";
import { type Order, type OrderId, type OrderStatus, orderTable } from "../order.ts";
import { decideOrder, type OrderRejection, type OrderRequest, type UnknownMarket, type Venue } from "./rules.ts";
import { requestCancel } from "./store.ts";

export interface OrderNotFound extends Rejection {
  readonly code: "order_not_found";
  readonly orderId: OrderId;
}

export interface OrderNotCancellable extends Rejection {
  readonly code: "order_not_cancellable";
  readonly status: OrderStatus;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly fees: Pick<Fees, "ratesOf">;
}

/** How long the ref_id of a closed order stays taken (docs/contract/requests.md#replay-protection, rule 3). */
const REF_ID_KEPT_MS = 24 * 60 * 60 * 1_000;
/** Decimals of an average price, unless the market's prices have more (docs/contract/orders.md#order-records). */
const AVERAGE_DECIMALS = 8;

/** Holds the funds and stores the order, durably. */
export async function place(
  parts: Parts,
  request: OrderRequest,
  caller: Caller,
): Promise<Outcome<Order, OrderRejection, Claim>> {
  const { customerId, profileId, recipientProfileId = profileId } = request;
  const venue = await venueOf(parts, request);
  // Made last, because the id contains the time: the clock may have been found wrong while rates were read.
  const id = parts.ids.next() as OrderId;
  const dependsOn = [activeProfileKey(profileId)];
  if (recipientProfileId !== profileId) dependsOn.push(recipientKey(profileId, recipientProfileId));
  if (venue.kind === "done") dependsOn.push(openMarketKey(venue.value.market.code), heldFrom(request, venue.value));
  return parts.lane.execute({
    queueKey: customerId,
    caller,
    dependsOn,
    claims: claimsOf(request, id, parts.clock.now()),
    decide: (state, now) => decideOrder(request, id, venue, state, now),
  });
}

/**
 * Not locked: if orders of several nodes held the market, one or another always would, and its halt would wait for long. The
 * engine rejects an order that was placed while its market was halted.
 */
const openMarketKey = (code: MarketCode): Key => ({ ...marketKey(code), reads: "as it was" });

/** The account in which the order holds its funds. */
function heldFrom({ side, profileId }: OrderRequest, { market }: Venue) {
  return accountKey(profileId, side === "BUY" ? market.quote : market.base);
}

async function venueOf(
  { database, catalogue, fees }: Parts,
  request: OrderRequest,
): Promise<Result<Venue, UnknownMarket>> {
  const market = catalogue.findMarket(request.market);
  if (market === undefined) {
    const markets = catalogue.listMarkets().map(({ code }) => code);
    return reject({ code: "unknown_market", field: "market", market: request.market, markets });
  }
  const quote = must(catalogue.findAsset(market.quote), "the assets of a market are in the catalogue");
  // The last price only values sells without a limit. It bounds mistakes, so it may be stale.
  const isSellAtAnyPrice = request.side === "SELL" && request.price === undefined;
  const lastPrice = isSellAtAnyPrice ? await findLastPrice(database, market.code) : undefined;
  return done({ market, quote, rates: await fees.ratesOf(request.customerId, market), lastPrice });
}

function claimsOf({ customerId, refId }: OrderRequest, id: OrderId, now: Instant): Claim[] {
  if (refId === undefined) return [];
  const released = { table: orderTable.name, closedBefore: (now - REF_ID_KEPT_MS) as Instant };
  return [{ customerId, kind: "order", refId, id, released }];
}

/** Requests a cancellation, durably; a fill may still come first. @returns the market whose engine must be notified */
export async function cancel(
  { database, clock }: Pick<Parts, "database" | "clock">,
  customerId: CustomerId,
  profileId: ProfileId,
  id: OrderId,
  caller: Caller,
): Promise<Outcome<MarketCode, OrderNotFound | OrderNotCancellable>> {
  const requested = await requestCancel(database.commits, { customerId, profileId, id, caller, now: clock.now() });
  if (requested === undefined) return reject({ code: "order_not_found", orderId: id });
  const { market, status } = requested;
  if (market === undefined) return reject({ code: "order_not_cancellable", status });
  return done(market);
}

/** The average fill price: zero before the first fill, otherwise rounded half up from exact totals. */
export function averagePrice(
  { filled, filledGross }: Pick<Order, "filled" | "filledGross">,
  priceDecimals: number,
): Amount {
  if (filled === ZERO) return ZERO;
  const decimals = Math.max(AVERAGE_DECIMALS, priceDecimals);
  const units = mulDiv(filledGross, 10n ** BigInt(decimals), filled, "half_up");
  return (units * unitOf(decimals)) as Amount;
}
