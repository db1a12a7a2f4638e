import { type Static, Type } from "typebox";
import {
  type Exchange,
  type Level,
  type MarketPrice,
  type Match,
  MOST_LEVELS,
  MOST_MATCHES,
  type OrderBook,
  type Statistics,
  type Ticker,
  type WrittenBook,
} from "../../../exchange/exchange.ts";
import { type Amount, formatAmount } from "../../../money/amount.ts";
import { formatInstant } from "../../../std/clock.ts";
import type { Api } from "../../api.ts";
import { present, problemFor } from "../../domain-mapping.ts";
import { errors } from "../../problems/problem-responses.ts";
import { Decimal, MarketText, Repeatable, Timestamp } from "../../requests/schemas.ts";
import { sendJson, sharedBytes } from "../../requests/shared-bodies.ts";
import { OrderSide } from "../orders/order-body.ts";
import { candleRoutes } from "./candles.ts";
import { historicalPriceRoutes } from "./historical-prices.ts";
import { MarketParam, marketInPath } from "./market-in-path.ts";

const Price = { ...Decimal, description: "In the quote asset." };
const AmountText = { ...Decimal, description: "In the base asset." };

const LevelBody = Type.Object(
  { price: Price, amount: AmountText },
  { title: "Level", description: "An amount at a price: resting on the order book, or traded." },
);
const Side = Type.Array(LevelBody, { maxItems: MOST_LEVELS });

const OrderBookBody = Type.Object(
  {
    market: MarketText,
    sequence: Type.String({
      description:
        "The version of the order book: it increases with every change. Feed messages carry the same number; this is the order book after all messages up to it.",
    }),
    bids: Side,
    asks: Side,
  },
  {
    title: "OrderBook",
    description: "The resting orders of a market, summed by price.",
  },
);

const StatisticsBody = Type.Object(
  {
    high: Type.Optional({ ...Price, description: "Absent, like all prices here, if there were no trades." }),
    low: Type.Optional(Price),
    open: Type.Optional({ ...Price, description: "The price of the first trade." }),
    volume: AmountText,
    volume_weighted_average_price: Type.Optional({
      ...Price,
      description: "Rounded half up to 8 decimals, or to the market's price decimals if it has more.",
    }),
    range: Type.Object(
      { begin: Timestamp, end: Timestamp },
      { title: "TimeRange", description: "From its begin to its end, both inclusive." },
    ),
  },
  { title: "Statistics", description: "The trades of a time range." },
);

const TickerBody = Type.Object(
  {
    market: MarketText,
    best_bid: Type.Optional(LevelBody),
    best_ask: Type.Optional(LevelBody),
    last_execution: Type.Optional(LevelBody),
    last_day: StatisticsBody,
    today: StatisticsBody,
    snapshot_at: Timestamp,
  },
  {
    title: "Ticker",
    description: "The best prices and recent statistics of a market.",
  },
);

const RecentExecutionBody = Type.Object(
  {
    match_number: Type.String({
      description: "Increases with `executed_at`. Equals the taker's execution_id; the maker's is one lower.",
    }),
    price: Price,
    amount: AmountText,
    side: { ...OrderSide, description: "The taker's side." },
    executed_at: Timestamp,
  },
  { title: "RecentExecution", description: "A match, without its parties." },
);

const PriceBody = Type.Object(
  {
    market: MarketText,
    current_price: {
      ...Price,
      description: "The price of the last trade.",
    },
    yesterday_price: Type.Optional({
      ...Price,
      description: "The price of the last trade at least 24 hours ago; absent if there was none.",
    }),
    snapshot_at: Timestamp,
  },
  { title: "Price", description: "The current and earlier price of a market." },
);

const RecentExecutionList = Type.Object(
  { items: Type.Array(RecentExecutionBody, { maxItems: MOST_MATCHES }) },
  { title: "RecentExecutionList", description: "The latest trades of a market." },
);

const PriceList = Type.Object(
  { items: Type.Array(PriceBody) },
  { title: "PriceList", description: "The prices of markets." },
);

const PUBLIC = { scope: "public" } as const;
const PARAMS = Type.Object({ market: MarketParam });

type MarketDataExchange = Pick<Exchange, "marketCodes" | "marketData">;

export function marketDataRoutes(api: Api, exchange: MarketDataExchange): void {
  orderBookRoute(api, exchange);
  tickerRoute(api, exchange);
  recentExecutionsRoute(api, exchange);
  pricesRoute(api, exchange);
  candleRoutes(api, exchange);
  historicalPriceRoutes(api, exchange);
}

function orderBookRoute(api: Api, exchange: MarketDataExchange): void {
  api.get(
    "/v2/markets/:market/order-book",
    {
      config: { ...PUBLIC, rate: "order_book" },
      schema: {
        operationId: "getOrderBook",
        tags: ["Market data"],
        summary: "Read the order book of a market",
        description: `The resting amount at each price, best first: bids descending, asks ascending, at most ${MOST_LEVELS} prices per side. A consistent snapshot, not older than the request.`,
        params: PARAMS,
        response: { 200: OrderBookBody, ...errors(400, 404, 429, 500, 503) },
      },
    },
    async ({ params }, reply) => {
      const market = marketInPath(exchange, params.market, api.dialect.words);
      const given = api.dialect.words.markets.given(market);
      return sendJson(reply, bookBytes(await exchange.marketData.orderBook(market), given));
    },
  );
}

function tickerRoute(api: Api, exchange: MarketDataExchange): void {
  api.get(
    "/v2/markets/:market/ticker",
    {
      config: PUBLIC,
      schema: {
        operationId: "getTicker",
        tags: ["Market data"],
        summary: "Read the best prices and statistics of a market",
        description:
          "`last_day` covers the last 24 hours, `today` the time since midnight UTC. Absent values, such as the best bid of an empty order book, are omitted.",
        params: PARAMS,
        response: { 200: TickerBody, ...errors(400, 404, 429, 500, 503) },
      },
    },
    async ({ params }) => {
      const market = marketInPath(exchange, params.market, api.dialect.words);
      return tickerBody(market, await exchange.marketData.ticker(market));
    },
  );
}

function recentExecutionsRoute(api: Api, exchange: MarketDataExchange): void {
  api.get(
    "/v2/markets/:market/recent-executions",
    {
      config: { ...PUBLIC, rate: "recent_executions" },
      schema: {
        operationId: "listRecentExecutions",
        tags: ["Market data"],
        summary: "List the latest trades of a market, newest first",
        description: `One record for every trade, at most the last ${MOST_MATCHES}.`,
        params: PARAMS,
        response: {
          200: RecentExecutionList,
          ...errors(400, 404, 429, 500, 503),
        },
      },
    },
    async ({ params }, reply) => {
      const matches = await exchange.marketData.recentMatches(marketInPath(exchange, params.market, api.dialect.words));
      return sendJson(reply, matchesBytes(matches, api.dialect.giver(RecentExecutionBody)));
    },
  );
}

function pricesRoute(api: Api, exchange: MarketDataExchange): void {
  api.get(
    "/v2/all-markets/prices",
    {
      config: PUBLIC,
      schema: {
        operationId: "listPrices",
        tags: ["Market data"],
        summary: "List the prices of all markets, or of some",
        description: "Sorted by market code. A market that never traded is left out.",
        querystring: Type.Object({ markets: Repeatable(MarketParam, "Only these markets.") }),
        response: {
          200: PriceList,
          ...errors(400, "unknown_market", 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { markets: named } = request.query;
      const markets = exchange.marketCodes();
      const market = named?.find((text) => markets.every((code) => code !== text));
      if (market !== undefined)
        throw problemFor(request, { code: "unknown_market", field: "markets", market, markets });
      const wanted: ReadonlySet<string> = new Set(named ?? markets);
      const prices = await exchange.marketData.prices();
      return { items: prices.flatMap((price) => (wanted.has(price.market) ? priceBody(price) : [])) };
    },
  );
}

const bookBytes = sharedBytes(
  ({ version, bids, asks }: WrittenBook, market: string) =>
    `{"market":${JSON.stringify(market)},"sequence":"${version}","bids":[${bids}],"asks":[${asks}]}`,
);

const matchesBytes = sharedBytes((matches: readonly Match[], give: (body: object) => object) =>
  JSON.stringify({ items: matches.map((match) => give(recentExecutionBody(match))) }),
);

export function orderBookBody(market: string, { version, bids, asks }: OrderBook): Static<typeof OrderBookBody> {
  return { market, sequence: version.toString(), bids: bids.map(levelBody), asks: asks.map(levelBody) };
}

function levelBody({ price, amount }: Level): Static<typeof LevelBody> {
  return { price: formatAmount(price), amount: formatAmount(amount) };
}

function tickerBody(market: string, ticker: Ticker): Static<typeof TickerBody> {
  const { bestBid, bestAsk, lastMatch } = ticker;
  return present<Static<typeof TickerBody>>({
    market,
    best_bid: bestBid && levelBody(bestBid),
    best_ask: bestAsk && levelBody(bestAsk),
    last_execution: lastMatch && levelBody(lastMatch),
    last_day: statisticsBody(ticker.lastDay),
    today: statisticsBody(ticker.today),
    snapshot_at: formatInstant(ticker.at),
  });
}

function statisticsBody({ begin, end, volume, prices }: Statistics): Static<typeof StatisticsBody> {
  return present<Static<typeof StatisticsBody>>({
    high: optionalAmount(prices?.high),
    low: optionalAmount(prices?.low),
    open: optionalAmount(prices?.open),
    volume_weighted_average_price: optionalAmount(prices?.average),
    volume: formatAmount(volume),
    range: { begin: formatInstant(begin), end: formatInstant(end) },
  });
}

export function recentExecutionBody(match: Match): Static<typeof RecentExecutionBody> {
  return {
    match_number: match.id.toString(),
    price: formatAmount(match.price),
    amount: formatAmount(match.amount),
    side: match.side,
    executed_at: formatInstant(match.executedAt),
  };
}

/** Nothing of a market that never traded: the vendor leaves such a market out, and its clients read a price of each. */
function priceBody({ market, at, current, yesterday }: MarketPrice): Static<typeof PriceBody>[] {
  if (current === undefined) return [];
  return [
    present<Static<typeof PriceBody>>({
      market,
      current_price: formatAmount(current),
      yesterday_price: optionalAmount(yesterday),
      snapshot_at: formatInstant(at),
    }),
  ];
}

const optionalAmount = (amount: Amount | undefined): string | undefined =>
  amount === undefined ? undefined : formatAmount(amount);
