import type { FastifyRequest } from "fastify";
import { type Static, Type } from "typebox";
import {
  type Candle,
  type Exchange,
  endOf,
  INCREMENTS,
  type Increment,
  incrementFor,
} from "../../../exchange/exchange.ts";
import { formatAmount } from "../../../money/amount.ts";
import { formatInstant, type Instant, systemClock } from "../../../std/clock.ts";
import type { Words } from "../../../web/dialect/dialect.ts";
import type { Api } from "../../api.ts";
import { errors } from "../../problems/problem-responses.ts";
import { page, pageRequest } from "../../requests/paging.ts";
import { Decimal, ListQuery, MarketText, NextPageCursor, Order, Timestamp } from "../../requests/schemas.ts";
import { interval, readInterval } from "../../requests/time-range.ts";
import { IncrementText, MaxDataPoints, requireOneLength, tooFewDataPoints } from "./increments.ts";
import { MarketParam, marketInPath } from "./market-in-path.ts";

const DESCRIPTION = `Candles are aligned to midnight UTC on Mondays. Candles without trades are omitted; the current candle changes until its time is over.

Give exactly one of \`increment\` and \`max_data_points\`. The range selects candles by their start; each candle is complete, even if the range ends within it. \`range.end\` defaults to now, \`range.begin\` to 26 weeks before the end.`;

const CandleBody = Type.Object(
  {
    timestamp: { ...Timestamp, description: "Its start." },
    open: { ...Decimal, description: "The first price in it." },
    high: Decimal,
    low: Decimal,
    close: { ...Decimal, description: "The last price in it." },
    volume: { ...Decimal, description: "In the base asset." },
  },
  { title: "Candle", description: "The trades of one increment of time." },
);

const CandleList = Type.Object(
  {
    market: MarketText,
    increment: IncrementText,
    items: Type.Array(CandleBody),
    next_page_cursor: NextPageCursor,
  },
  { title: "CandleList", description: "A page of a market's candles." },
);

const Query = ListQuery(
  {
    increment: Type.Optional(IncrementText),
    max_data_points: MaxDataPoints,
    ...interval("range"),
    order: Order("DESC"),
  },
  { standard: 100, maximum: 1_000 },
);

const HALF_A_YEAR = 26 * 7 * 24 * 60 * 60_000;

export function candleRoutes(api: Api, exchange: Pick<Exchange, "marketCodes" | "marketData">): void {
  api.get(
    "/v2/markets/:market/historical-candles",
    {
      config: { scope: "exchange:historical_prices", walks: () => true },
      schema: {
        operationId: "listHistoricalCandles",
        tags: ["Market data"],
        summary: "List the candles of a market, newest or oldest first",
        description: DESCRIPTION,
        params: Type.Object({ market: MarketParam }),
        querystring: Query,
        response: {
          200: CandleList,
          ...errors(400, 401, 403, 404, 429, 500, 503),
        },
      },
    },
    async (request) => {
      const { series, wanted } = readSeries(request, request.query, systemClock.now(), api.dialect.words.enums);
      const market = marketInPath(exchange, request.params.market, api.dialect.words);
      const { order } = request.query;
      const candles = await exchange.marketData.candles(market, { ...series, order, limit: wanted.limit + 1 });
      const made = page(candles, wanted, ({ at }) => positionText(seriesBehind(series, at, order)), candleBody);
      return { market, increment: series.increment, ...made };
    },
  );
}

/**
 * Candles of one length that start in a range. The cursor contains all of it: default bounds are relative to now, and must
 * not move from page to page.
 */
interface Series {
  readonly increment: Increment;
  readonly from: Instant;
  readonly before: Instant;
}

function readSeries(request: FastifyRequest, query: Static<typeof Query>, now: Instant, words: Words) {
  requireOneLength(query, words);
  const wanted = pageRequest(request, query, positionIn);
  return { wanted, series: wanted.after ?? firstSeries(query, now, words) };
}

function firstSeries(query: Static<typeof Query>, now: Instant, words: Words): Series {
  const { increment, max_data_points: most = 1 } = query;
  const range = readInterval(query, "range");
  const before = range.before ?? ((now + 1) as Instant);
  const from = range.from ?? (Math.max(0, before - HALF_A_YEAR) as Instant);
  const found = increment ?? incrementFor(from, before, most);
  if (found === undefined) throw tooFewDataPoints("candles", most, words);
  return { increment: found, from, before };
}

/** What is left of a series behind a candle. */
function seriesBehind(series: Series, at: Instant, order: "ASC" | "DESC"): Series {
  return order === "DESC" ? { ...series, before: at } : { ...series, from: endOf(at, series.increment) };
}

const positionText = ({ increment, from, before }: Series): string[] => [increment, `${from}`, `${before}`];

function positionIn([name, from, before, ...more]: readonly string[]): Series | undefined {
  const increment = INCREMENTS.find((one) => one === name);
  const [begin, end] = [from, before].map((text) => (/^[0-9]{1,15}$/.test(text ?? "") ? Number(text) : undefined));
  if (increment === undefined || begin === undefined || end === undefined || more.length > 0) return undefined;
  return { increment, from: begin as Instant, before: end as Instant };
}

function candleBody(candle: Candle): Static<typeof CandleBody> {
  return {
    timestamp: formatInstant(candle.at),
    open: formatAmount(candle.open),
    high: formatAmount(candle.high),
    low: formatAmount(candle.low),
    close: formatAmount(candle.close),
    volume: formatAmount(candle.volume),
  };
}
