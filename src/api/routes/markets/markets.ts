import { type Static, Type } from "typebox";
import { tierFor } from "../../../catalogue/fee-tiers.ts";
import type { Exchange, MarketListing } from "../../../exchange/exchange.ts";
import { formatAmount, ZERO } from "../../../money/amount.ts";
import type { Api } from "../../api.ts";
import { errors } from "../../problems/problem-responses.ts";
import { Decimal, ListOf } from "../../requests/schemas.ts";

const MarketBody = Type.Object(
  {
    market: Type.String({ description: "The market's code.", examples: ["BTCUSD"] }),
    base_asset: Type.String({ examples: ["BTC"] }),
    quote_asset: Type.String({ examples: ["USD"] }),
    status: Type.Enum(["OPEN", "HALTED"], {
      description: "A halted market rejects new orders and matches nothing; orders can be cancelled.",
    }),
    tick: { ...Decimal, description: "The price increment.", examples: ["1"] },
    price_decimals: Type.Integer({ description: "The number of decimals of prices.", examples: [6] }),
    base_decimals: Type.Integer({ description: "The maximum number of decimals of base_amount.", examples: [8] }),
    min_base_amount: { ...Decimal, examples: ["0.0001"] },
    max_base_amount: { ...Decimal, examples: ["500"] },
    min_quote_amount: { ...Decimal, examples: ["1"] },
    max_quote_amount: { ...Decimal, examples: ["5000000"] },
    max_notional_value: {
      ...Decimal,
      description: "The maximum value of an order, in the quote asset.",
      examples: ["5000000"],
    },
    taker_rate: {
      ...Decimal,
      description:
        "The taker's commission at the lowest tier, as a fraction of the gross trade amount. `GET /v2/fees` returns your own.",
      examples: ["0.0035"],
    },
    maker_rebate: {
      ...Decimal,
      description: "The maker's rebate at the lowest tier, as a fraction of the gross trade amount.",
      examples: ["0.0003"],
    },
  },
  { title: "Market", description: "A market and its limits." },
);

export function marketRoutes(api: Api, exchange: Pick<Exchange, "listMarkets">): void {
  api.get(
    "/v2/markets",
    {
      config: { scope: "public" },
      schema: {
        operationId: "listMarkets",
        tags: ["Markets"],
        summary: "List the markets, by code",
        description: "Each market with its assets, limits and status. All in one page.",
        response: { 200: ListOf(MarketBody), ...errors(429, 500, 503) },
      },
    },
    async () => ({ items: (await exchange.listMarkets()).map(marketBody), next_page_cursor: "" }),
  );
}

function marketBody({ market, status }: MarketListing): Static<typeof MarketBody> {
  const base = tierFor(market.feeTiers, ZERO);
  return {
    market: market.code,
    base_asset: market.base,
    quote_asset: market.quote,
    status,
    tick: formatAmount(market.tick),
    price_decimals: market.priceDecimals,
    base_decimals: market.baseDecimals,
    min_base_amount: formatAmount(market.minBaseAmount),
    max_base_amount: formatAmount(market.maxBaseAmount),
    min_quote_amount: formatAmount(market.minQuoteAmount),
    max_quote_amount: formatAmount(market.maxQuoteAmount),
    max_notional_value: formatAmount(market.maxNotionalValue),
    taker_rate: formatAmount(base.takerRate),
    maker_rebate: formatAmount(base.makerRebate),
  };
}
