/**
 * The exchange's front door: orders are placed, cancelled and read here. The engines match them; they are notified of
 * every order and cancel request once it is durable.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { MarketCode } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Claim, Outcome } from "../ledger/decision.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import type { Amount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Database } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import { type Clock, steadyClock } from "../std/clock.ts";
import type { IdSource } from "../std/id.ts";
import { SharedReads } from "../std/shared-reads.ts";
import { type CustomerFees, Fees } from "./customer-fees/customer-fees.ts";
import type { ShownExecution } from "./execution.ts";
import { type ExecutionFilter, listExecutions } from "./executions/store.ts";
import { createMarketData, type MarketData } from "./market-data/market-data.ts";
import type { BookChange } from "./market-feed/book-change.ts";
import { BookRecorder } from "./market-feed/book-recorder.ts";
import { Feed, type MarketFeed } from "./market-feed/market-feed.ts";
import type { MarketState } from "./market-state.ts";
import { haltMarket, type MarketNotFound, resumeMarket } from "./market-status/halt.ts";
import { findLastPrice, listMarkets, type MarketListing } from "./market-status/markets.ts";
import type { Order, OrderId } from "./order.ts";
import { FillWaiters } from "./orders/await-fill.ts";
import { averagePrice, cancel, type OrderNotCancellable, type OrderNotFound, place } from "./orders/orders.ts";
import type { OrderRejection, OrderRequest } from "./orders/rules.ts";
import { findOrder, findOrderOfCustomer, listOrders, type OrderFilter } from "./orders/store.ts";

export type { CustomerFees, MarketFees } from "./customer-fees/customer-fees.ts";
export type { ExecutionId, ShownExecution } from "./execution.ts";
export { EXECUTION_ANNOTATIONS, shownExecution } from "./execution.ts";
export type { ExecutionFilter } from "./executions/store.ts";
export type { AveragePriceQuery } from "./market-data/average-prices.ts";
export { endOf, INCREMENTS, type Increment, incrementFor } from "./market-data/candles.ts";
export { type MarketData, MOST_LEVELS, MOST_MATCHES, type Statistics, type Ticker } from "./market-data/market-data.ts";
export type { Candle, Level, MarketPrice, Match, OrderBook, WrittenBook } from "./market-data/store.ts";
export type { BookNews } from "./market-feed/book-follower.ts";
export type { Listener } from "./market-feed/listeners.ts";
export type { Followed, MarketFeed } from "./market-feed/market-feed.ts";
export type { LastMatch } from "./market-feed/match-follower.ts";
export type { MarketNotFound } from "./market-status/halt.ts";
export type { MarketListing } from "./market-status/markets.ts";
export type { Order, OrderId } from "./order.ts";
export { ORDER_ANNOTATIONS, ORDER_STATUSES, ORDER_TYPES } from "./order.ts";
export { type Misfit, misfitsOf, TIMES_IN_FORCE, timeInForceOf } from "./orders/order-kinds.ts";
export type { OrderNotCancellable, OrderNotFound } from "./orders/orders.ts";
export type { OrderRejection, OrderRequest, RequestedPrice } from "./orders/rules.ts";
export type { OrderFilter } from "./orders/store.ts";

/** What placing and cancelling need of the engines. On a node without engines, other nodes run them. */
export interface EngineSignals {
  /** There is work on this market. */
  wake(market: MarketCode): void;
  /** Reports the orders that a round changed, and its change of the order book, once they are durable. */
  onCommitted(listener: (round: { readonly orders: readonly Order[]; readonly change: BookChange }) => void): void;
}

export interface Exchange {
  /** An order that is stored as REJECTED has the outcome "done". "exists": the ref_id belongs to the order with this id. */
  place(request: OrderRequest, caller: Caller): Promise<Outcome<Order, OrderRejection, Claim>>;
  /** The order as it is when it has closed, after `millis` ms, or when the signal is aborted. */
  untilClosed(order: Order, millis: number, signal: AbortSignal): Promise<Order>;
  /** "done" means requested: a fill may still come first. */
  cancel(
    customerId: CustomerId,
    profileId: ProfileId,
    id: OrderId,
    caller: Caller,
  ): Promise<Outcome<MarketCode, OrderNotFound | OrderNotCancellable>>;
  findOrder(customerId: CustomerId, profileId: ProfileId, id: OrderId): Promise<Order | undefined>;
  findOrderOfCustomer(customerId: CustomerId, id: OrderId): Promise<Order | undefined>;
  listOrders(filter: OrderFilter): Promise<Order[]>;
  /** The average fill price; zero before the first fill. */
  averagePrice(order: Order): Amount;
  listExecutions(filter: ExecutionFilter): Promise<ShownExecution[]>;
  /** Callers at the same time share one array. */
  listMarkets(): Promise<readonly MarketListing[]>;
  /** The customer's current fee rates on each market. */
  feesOf(customerId: CustomerId): Promise<CustomerFees>;
  readonly marketData: MarketData;
  readonly feed: MarketFeed;
  /** The asset of the market's prices and commissions. */
  quoteAssetOf(market: MarketCode): AssetCode;
  /** Sorted. */
  marketCodes(): readonly MarketCode[];
  /** The price of the market's last execution; undefined before the first. */
  lastPrice(market: MarketCode): Promise<Amount | undefined>;
  haltMarket(market: MarketCode, caller: Caller): Promise<Outcome<MarketState, MarketNotFound>>;
  resumeMarket(market: MarketCode, caller: Caller): Promise<Outcome<MarketState, MarketNotFound>>;
  /** Ends all waiting for orders, and the feed. */
  stop(): void;
}

/** What records show beside what is stored of them. */
export type Figures = Pick<Exchange, "averagePrice" | "quoteAssetOf">;

export function figuresOf(catalogue: Catalogue): Figures {
  return {
    averagePrice: (order) => averagePrice(order, catalogue.findMarket(order.market)?.priceDecimals ?? 0),
    quoteAssetOf: (market) => must(catalogue.findMarket(market), "an execution is of a market of the catalogue").quote,
  };
}

export interface ExchangeParts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly engines: EngineSignals;
  /** Called when the feed fails; it retries. */
  readonly onFeedFault: (error: Error) => void;
  /** Called when a market's order book had to be read again. */
  readonly onFeedGap?: ((market: MarketCode) => void) | undefined;
}

export function createExchange(parts: ExchangeParts): Exchange {
  const { database, lane, catalogue, engines } = parts;
  const waiters = new FillWaiters(database.commits);
  const listings = new SharedReads<"all", readonly MarketListing[]>(() => listMarkets(database, catalogue));
  const fees = new Fees(parts);
  const placing = { ...parts, fees };
  const following = { database, clock: steadyClock, onFault: parts.onFeedFault };
  const feed = new Feed({ ...following, onGap: parts.onFeedGap });
  const recorder = new BookRecorder({ ...following, onWritten: () => feed.wake() });
  engines.onCommitted(({ orders, change }) => {
    waiters.onCommitted(orders);
    recorder.record(change);
  });
  return {
    place: async (request, caller) => {
      const outcome = await place(placing, request, caller);
      if (outcome.kind === "done" && outcome.value.closedAt === undefined) engines.wake(outcome.value.market);
      return outcome;
    },
    untilClosed: (order, millis, signal) => waiters.untilClosed(order, millis, signal),
    cancel: async (customerId, profileId, id, caller) => {
      const outcome = await cancel(parts, customerId, profileId, id, caller);
      if (outcome.kind === "done") engines.wake(outcome.value);
      return outcome;
    },
    findOrder: (customerId, profileId, id) => findOrder(database, customerId, profileId, id),
    findOrderOfCustomer: (customerId, id) => findOrderOfCustomer(database.commits, customerId, id),
    listOrders: (filter) => listOrders(database, filter),
    listExecutions: async (filter) => {
      const executions = await listExecutions(database, filter);
      await catalogue.learnMarkets(executions.map(({ market }) => market));
      return executions;
    },
    listMarkets: () => listings.get("all"),
    feesOf: (customerId) => fees.feesOf(customerId),
    marketData: createMarketData(parts),
    feed,
    ...figuresOf(catalogue),
    marketCodes: () => catalogue.listMarkets().map(({ code }) => code),
    lastPrice: (market) => findLastPrice(database, market),
    haltMarket: (market, caller) => lane.execute(haltMarket(market, caller)),
    resumeMarket: (market, caller) => lane.execute(resumeMarket(market, caller)),
    stop: () => {
      waiters.stop();
      feed.stop();
    },
  };
}
