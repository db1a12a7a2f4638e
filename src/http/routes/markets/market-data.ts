import type { FastifyReply } from "fastify";
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
import { errors } from "../../problems/problem-responses.ts";
import { Decimal, Repeatable, Timestamp } from "../../requests/schemas.ts";
import { present } from "../../wire.ts";
import { unknownMarket } from "../orders/order-problems.ts";
import { candleRoutes } from "./candles.ts";
import { MarketParam, marketInPath } from "./market-in-path.ts";

const MarketText = Type.String({ examples: ["BTCUSD"] });
const Price = { ...Decimal, description: "In the quote asset.", examples: ["25000.5"] };
const AmountText = { ...Decimal, description: "In the base asset.", examples: ["0.5"] };

const LevelBody = Type.Object(
  { price: Price, amount: AmountText },
  { title: "Level", description: "What is offered or asked for at one price, or was traded at it." },
);
const Side = Type.Array(LevelBody, { maxItems: MOST_LEVELS });

const OrderBookBody = Type.Object(
  {
    market: MarketText,
    sequence: Type.String({
      description:
        "Rises with every change of the market. The feed of market data numbers its messages with it: the book here is the one that the feed's messages up to this number make.",
      examples: ["4711"],
    }),
    bids: Side,
    asks: Side,
  },
  {
    title: "OrderBook",
    description: "The orders that rest on a market, added up by price.",
    examples: [
      {
        market: "BTCUSD",
        sequence: "4711",
        bids: [{ price: "24999", amount: "0.75" }],
        asks: [
          { price: "25001", amount: "0.5" },
          { price: "25010", amount: "1.25" },
        ],
      },
    ],
  },
);

const StatisticsBody = Type.Object(
  {
    high: Type.Optional({ ...Price, description: "Left out, as all prices here, when nothing was traded." }),
    low: Type.Optional(Price),
    open: Type.Optional({ ...Price, description: "The first price in the range." }),
    volume: AmountText,
    volume_weighted_average_price: Type.Optional({
      ...Price,
      description: "Rounded half up at 8 decimals, or at the market's price decimals if these are more.",
    }),
    range: Type.Object({ begin: Timestamp, end: Timestamp }),
  },
  { title: "Statistics", description: "What was traded in a range of time." },
);

const DAY = { high: "25100", low: "24800", open: "24900", volume: "12.5", volume_weighted_average_price: "24950.25" };

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
    description: "A market at a glance.",
    examples: [
      {
        market: "BTCUSD",
        best_bid: { price: "24999", amount: "0.75" },
        best_ask: { price: "25001", amount: "0.5" },
        last_execution: { price: "25000", amount: "0.1" },
        last_day: { ...DAY, range: { begin: "2026-11-20T09:30:00.000Z", end: "2026-11-21T09:30:00.000Z" } },
        today: { ...DAY, range: { begin: "2026-11-21T00:00:00.000Z", end: "2026-11-21T09:30:00.000Z" } },
        snapshot_at: "2026-11-21T09:30:00.000Z",
      },
    ],
  },
);

const RecentExecutionBody = Type.Object(
  {
    match_number: Type.String({
      description: "Rises with `executed_at`. It is the taker's execution_id; the maker's is the one before it.",
      examples: ["911217432748032001"],
    }),
    price: Price,
    amount: AmountText,
    side: Type.Enum(["BUY", "SELL"], { description: "The taker's side." }),
    executed_at: Timestamp,
  },
  { title: "RecentExecution", description: "A match, as everybody may see it." },
);

const PriceBody = Type.Object(
  {
    market: MarketText,
    current_price: Type.Optional({
      ...Price,
      description: "Of the last execution; left out before the first.",
    }),
    yesterday_price: Type.Optional({
      ...Price,
      description: "Of the last execution that was 24 hours ago or earlier; left out when there was none.",
    }),
    snapshot_at: Timestamp,
  },
  { title: "Price", description: "What a market traded at." },
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
        description: `What rests on the book at each price: bids descending, asks ascending, so the best come first. The best ${MOST_LEVELS} prices of each side at most. It is the book of one moment, which is not before the request.`,
        params: PARAMS,
        response: { 200: OrderBookBody, ...errors(400, 404, 429, 500, 503) },
      },
    },
    async ({ params }, reply) => {
      const market = marketInPath(exchange, params.market);
      return sendJson(reply, bookBytes(await exchange.marketData.orderBook(market), market));
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
        summary: "Read the best prices of a market and what was traded",
        description:
          "`last_day` is the 24 hours up to now, `today` is since midnight UTC. What a market does not have, such as a best bid on an empty book, is left out.",
        params: PARAMS,
        response: { 200: TickerBody, ...errors(400, 404, 429, 500, 503) },
      },
    },
    async ({ params }) => {
      const market = marketInPath(exchange, params.market);
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
        summary: "List what was traded last on a market, newest first",
        description: `One record for each match, whoever its parties are: the last ${MOST_MATCHES} at most.`,
        params: PARAMS,
        response: {
          200: Type.Object({ items: Type.Array(RecentExecutionBody, { maxItems: MOST_MATCHES }) }),
          ...errors(400, 404, 429, 500, 503),
        },
      },
    },
    async ({ params }, reply) => {
      const matches = await exchange.marketData.recentMatches(marketInPath(exchange, params.market));
      return sendJson(reply, matchesBytes(matches));
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
        description: "In the order of the markets' codes.",
        querystring: Type.Object({ markets: Repeatable(MarketParam, "Only these markets.") }),
        response: { 200: Type.Object({ items: Type.Array(PriceBody) }), ...errors(400, 429, 500, 503) },
      },
    },
    async ({ query }) => {
      const codes = exchange.marketCodes();
      const unknown = query.markets?.find((text) => codes.every((code) => code !== text));
      if (unknown !== undefined) throw unknownMarket(unknown, codes, "markets");
      const wanted: ReadonlySet<string> = new Set(query.markets ?? codes);
      const prices = await exchange.marketData.prices();
      return { items: prices.filter(({ market }) => wanted.has(market)).map(priceBody) };
    },
  );
}

/** What is large and the same for everybody is made into bytes once, and kept for as long as its origin is. */
function cachedBytes<Origin extends object, Rest extends readonly unknown[]>(
  make: (origin: Origin, ...rest: Rest) => string,
): (origin: Origin, ...rest: Rest) => Buffer {
  const made = new WeakMap<Origin, Buffer>();
  return (origin, ...rest) => {
    const bytes = made.get(origin) ?? Buffer.from(make(origin, ...rest));
    made.set(origin, bytes);
    return bytes;
  };
}

const bookBytes = cachedBytes(
  ({ number, bids, asks }: WrittenBook, market: string) =>
    `{"market":${JSON.stringify(market)},"sequence":"${number}","bids":[${bids}],"asks":[${asks}]}`,
);

const matchesBytes = cachedBytes((matches: readonly Match[]) =>
  JSON.stringify({ items: matches.map(recentExecutionBody) }),
);

/** A body that is bytes already. */
function sendJson(reply: Pick<FastifyReply, "type" | "send">, bytes: Buffer): never {
  return reply.type("application/json; charset=utf-8").send(bytes) as never;
}

export function orderBookBody(market: string, { number, bids, asks }: OrderBook): Static<typeof OrderBookBody> {
  return { market, sequence: number.toString(), bids: bids.map(levelBody), asks: asks.map(levelBody) };
}

function levelBody({ price, amount }: Level): Static<typeof LevelBody> {
  return { price: formatAmount(price), amount: formatAmount(amount) };
}

function tickerBody(market: string, ticker: Ticker): Static<typeof TickerBody> {
  const { bestBid, bestAsk, lastMatch } = ticker;
  return {
    market,
    ...present({
      best_bid: bestBid && levelBody(bestBid),
      best_ask: bestAsk && levelBody(bestAsk),
      last_execution: lastMatch && levelBody(lastMatch),
    }),
    last_day: statisticsBody(ticker.lastDay),
    today: statisticsBody(ticker.today),
    snapshot_at: formatInstant(ticker.at),
  };
}

function statisticsBody({ begin, end, volume, prices }: Statistics): Static<typeof StatisticsBody> {
  return {
    ...(prices && {
      high: formatAmount(prices.high),
      low: formatAmount(prices.low),
      open: formatAmount(prices.open),
      volume_weighted_average_price: formatAmount(prices.average),
    }),
    volume: formatAmount(volume),
    range: { begin: formatInstant(begin), end: formatInstant(end) },
  };
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

function priceBody({ market, at, current, yesterday }: MarketPrice): Static<typeof PriceBody> {
  return {
    market,
    ...present({
      current_price: optionalAmount(current),
      yesterday_price: optionalAmount(yesterday),
    }),
    snapshot_at: formatInstant(at),
  };
}

const optionalAmount = (amount: Amount | undefined): string | undefined =>
  amount === undefined ? undefined : formatAmount(amount);
