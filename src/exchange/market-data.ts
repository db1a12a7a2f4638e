/**
 * Market data: the book, prices and what was traded, as anybody may know them. All of it is read from the committed
 * orders and executions, so every node answers the same, whether it runs the market's engine or not.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { MarketCode } from "../catalogue/market.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Clock } from "../std/clock.ts";
import { type Candle, type CandleQuery, listCandles } from "./candles.ts";
import {
  type MarketPrice,
  type Match,
  type OrderBook,
  readBook,
  readPrices,
  readRecentMatches,
  readTicker,
  type Ticker,
} from "./market-data-store.ts";
import { SharedReads } from "./shared-reads.ts";

export interface MarketData {
  /** With at most `MOST_LEVELS` levels on each side, the best ones. */
  orderBook(market: MarketCode): Promise<OrderBook>;
  ticker(market: MarketCode): Promise<Ticker>;
  /** The last `MOST_MATCHES`, newest first. */
  recentMatches(market: MarketCode): Promise<readonly Match[]>;
  /** Of all markets, in the order of their codes. */
  prices(): Promise<readonly MarketPrice[]>;
  /** Newest first. */
  candles(market: MarketCode, query: CandleQuery): Promise<readonly Candle[]>;
}

export const MOST_LEVELS = 10_000;
export const MOST_MATCHES = 2_000;

export interface MarketDataParts {
  readonly database: Queryable;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
}

export function createMarketData({ database, catalogue, clock }: MarketDataParts): MarketData {
  const priceDecimals = (market: MarketCode): number => catalogue.findMarket(market)?.priceDecimals ?? 0;
  const books = new SharedReads((market: MarketCode) => readBook(database, market, MOST_LEVELS));
  const tickers = new SharedReads((market: MarketCode) =>
    readTicker(database, market, clock.now(), priceDecimals(market)),
  );
  const matches = new SharedReads((market: MarketCode) => readRecentMatches(database, market, MOST_MATCHES));
  const prices = new SharedReads<"all", readonly MarketPrice[]>(() => readPrices(database, clock.now()));
  return {
    orderBook: (market) => books.get(market),
    ticker: (market) => tickers.get(market),
    recentMatches: (market) => matches.get(market),
    prices: () => prices.get("all"),
    candles: (market, query) => listCandles(database, market, query),
  };
}
