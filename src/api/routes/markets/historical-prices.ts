import { type Static, Type } from "typebox";
import type { AveragePriceQuery, Exchange } from "../../../exchange/exchange.ts";
import { type Amount, formatAmount } from "../../../money/amount.ts";
import { formatInstant, type Instant } from "../../../std/clock.ts";
import type { Api } from "../../api.ts";
import { errors } from "../../problems/problem-responses.ts";
import { Decimal, Limit, Timestamp } from "../../requests/schemas.ts";
import { interval, readInterval } from "../../requests/time-range.ts";
import { IncrementText, MaxDataPoints, requireOneLength, tooFewDataPoints } from "./increments.ts";
import { MarketParam, marketInPath } from "./market-in-path.ts";

const DESCRIPTION = `The price of the last trade, averaged over the time of each increment. Increments are aligned like candles. One without trades has the price that it began with; that of the market's first trade counts from this trade on.

Give exactly one of \`increment\` and \`max_data_points\`. The range selects increments by their start; only complete ones are returned. \`range.begin\` defaults to the market's first trade, \`range.end\` to now.`;

const HistoricalPriceBody = Type.Object(
  {
    timestamp: { ...Timestamp, description: "The start of the increment." },
    average_price: {
      ...Decimal,
      description: "Rounded half up to 8 decimals, or to the market's price decimals if it has more.",
    },
  },
  { title: "HistoricalPrice", description: "The average price of one increment of time." },
);

const HistoricalPriceList = Type.Object(
  {
    items: Type.Array(HistoricalPriceBody),
    total_count: Type.Integer({ description: "How many there are in the range.", format: "int32" }),
  },
  { title: "HistoricalPriceList", description: "Average prices of a market, oldest first." },
);

const Query = Type.Object({
  increment: Type.Optional(IncrementText),
  max_data_points: MaxDataPoints,
  ...interval("range"),
  "pagination.limit": Limit(100, 1_000),
  "pagination.offset": Type.Integer({
    description: "How many of the range to skip.",
    format: "int32",
    default: 0,
    minimum: 0,
    maximum: 2_147_483_647,
  }),
});

export function historicalPriceRoutes(api: Api, exchange: Pick<Exchange, "marketCodes" | "marketData">): void {
  api.get(
    "/v2/markets/:market/historical-prices",
    {
      config: { scope: "exchange:historical_prices", walks: () => true },
      schema: {
        operationId: "listHistoricalPrices",
        tags: ["Market data"],
        summary: "List the average prices of a market, oldest first",
        description: DESCRIPTION,
        params: Type.Object({ market: MarketParam }),
        querystring: Query,
        response: { 200: HistoricalPriceList, ...errors(400, 401, 403, 404, 429, 500, 503) },
      },
    },
    async ({ query, params }) => {
      const { words } = api.dialect;
      requireOneLength(query, words.enums);
      const market = marketInPath(exchange, params.market, words);
      const { increment, max_data_points: most = 1 } = query;
      const asked: AveragePriceQuery = {
        length: increment === undefined ? { most } : { increment },
        ...readInterval(query, "range"),
        skip: query["pagination.offset"],
        limit: query["pagination.limit"],
      };
      const found = await exchange.marketData.averagePrices(market, asked);
      if (found === undefined) throw tooFewDataPoints("averages", most, words.enums);
      return { items: found.prices.map(priceBody), total_count: found.total };
    },
  );
}

function priceBody({
  at,
  price,
}: {
  readonly at: Instant;
  readonly price: Amount;
}): Static<typeof HistoricalPriceBody> {
  return { timestamp: formatInstant(at), average_price: formatAmount(price) };
}
