/**
 * Public market data: order books, prices and trades. Everything is read from committed orders and executions, so every
 * node returns the same, whether it runs the market's engine or not.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { MarketCode } from "../../catalogue/market.ts";
import { type Amount, ZERO } from "../../money/amount.ts";
import type { QueryableWithHistory } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Clock, Instant } from "../../std/clock.ts";
import { SharedReads } from "../../std/shared-reads.ts";
import { lowestId } from "../execution-id.ts";
import { averagePrice } from "../orders/orders.ts";
import { type AveragePriceQuery, type AveragePrices, listAveragePrices } from "./average-prices.ts";
import { type CandleQuery, listCandles } from "./candles.ts";
import type { Sums } from "./minute-sums.ts";
import { type RollingDay, RollingDays } from "./rolling-day.ts";
import {
  type Candle,
  type Level,
  type MarketPrice,
  type Match,
  type Quotes,
  readHeadNumber,
  readPrices,
  readQuotes,
  readRecentMatches,
  type WrittenBook,
  writeBook,
} from "./store.ts";
import { VersionedReads } from "./versioned-reads.ts";

/** Trading in a period that ends now. */
export interface Statistics {
  readonly begin: Instant;
  readonly end: Instant;
  /** In the base asset. */
  readonly volume: Amount;
  /** Undefined when nothing was traded. */
  readonly prices:
    | { readonly open: Amount; readonly high: Amount; readonly low: Amount; readonly average: Amount }
    | undefined;
}

export interface Ticker {
  readonly at: Instant;
  readonly bestBid: Level | undefined;
  readonly bestAsk: Level | undefined;
  readonly lastMatch: Level | undefined;
  /** The 24 hours up to now. */
  readonly lastDay: Statistics;
  /** Since midnight UTC. */
  readonly today: Statistics;
}

export interface MarketData {
  /** The best `MOST_LEVELS` levels of each side. The same object until the order book changes. */
  orderBook(market: MarketCode): Promise<WrittenBook>;
  ticker(market: MarketCode): Promise<Ticker>;
  /** The last `MOST_MATCHES`, newest first. The same object until there is a new match. */
  recentMatches(market: MarketCode): Promise<readonly Match[]>;
  /** All markets, sorted by code. */
  prices(): Promise<readonly MarketPrice[]>;
  /** Newest first. */
  candles(market: MarketCode, query: CandleQuery): Promise<readonly Candle[]>;
  /** Undefined when no increment is long enough. */
  averagePrices(market: MarketCode, query: AveragePriceQuery): Promise<AveragePrices | undefined>;
}

export const MOST_LEVELS = 10_000;
export const MOST_MATCHES = 2_000;

export interface MarketDataParts {
  readonly database: QueryableWithHistory;
  readonly catalogue: Catalogue;
  readonly clock: Clock;
}

export function createMarketData({ database, catalogue, clock }: MarketDataParts): MarketData {
  const days = new Map<MarketCode, { readonly history: string; readonly day: RollingDays }>();
  const dayOf = (market: MarketCode, history: string): RollingDays => {
    const known = days.get(market);
    if (known?.history === history) return known.day;
    const day = new RollingDays(database, market);
    days.set(market, { history, day });
    return day;
  };
  const decimalsOf = (market: MarketCode): number => catalogue.findMarket(market)?.priceDecimals ?? 0;
  const readTicker = async (market: MarketCode): Promise<Ticker> => {
    const { history } = database;
    const day = await dayOf(market, history).read(clock.now());
    // Read after the sums, so that each sum has its opening price; the last match is the last one in the sums.
    const begins = [lowestId(day.begins.lastDay), lowestId(day.begins.today)];
    const quotes = await readQuotes(database, market, day.last, begins);
    // After a failover what was read first may not be there any more.
    if (database.history !== history) return readTicker(market);
    return tickerOf(day, quotes, decimalsOf(market));
  };
  const books = new VersionedReads<MarketCode, WrittenBook>({
    newest: (market) => readHeadNumber(database, market),
    read: (market) => writeBook(database, market, MOST_LEVELS),
    versionOf: ({ version }) => version,
    history: () => database.history,
  });
  const tickers = new SharedReads(readTicker);
  const matches = new VersionedReads<MarketCode, readonly Match[]>({
    newest: async (market) => newestOf(await readRecentMatches(database, market, 1)),
    read: (market) => readRecentMatches(database, market, MOST_MATCHES),
    versionOf: newestOf,
    history: () => database.history,
  });
  const prices = new SharedReads<"all", readonly MarketPrice[]>(() => readPrices(database, clock.now()));
  return {
    orderBook: (market) => books.get(market),
    ticker: (market) => tickers.get(market),
    recentMatches: (market) => matches.get(market),
    prices: () => prices.get("all"),
    candles: (market, query) => listCandles(database, market, query),
    averagePrices: (code, query) =>
      listAveragePrices(database, { code, priceDecimals: decimalsOf(code) }, query, clock.now()),
  };
}

const newestOf = ([newest]: readonly Match[]): bigint => newest?.id ?? 0n;

function tickerOf(day: RollingDay, { opens, ...quotes }: Quotes, priceDecimals: number): Ticker {
  const { at, begins } = day;
  const statistics = (begin: Instant, sums: Sums | undefined, open: Amount | undefined): Statistics => {
    if (sums === undefined) return { begin, end: at, volume: ZERO, prices: undefined };
    const { high, low, volume, gross } = sums;
    const average = averagePrice({ filled: volume, filledGross: gross }, priceDecimals);
    return {
      begin,
      end: at,
      volume,
      prices: { open: must(open, "a period with volume has a first match"), high, low, average },
    };
  };
  return {
    at,
    ...quotes,
    lastDay: statistics(begins.lastDay, day.lastDay, opens[0]),
    today: statistics(begins.today, day.today, opens[1]),
  };
}
