import { type Static, Type } from "typebox";
import { tierFor } from "../../../catalogue/fee-tiers.ts";
import type { Exchange, MarketListing } from "../../../exchange/exchange.ts";
import { formatAmount, ZERO } from "../../../money/amount.ts";
import { formatInstant } from "../../../std/clock.ts";
import type { Api } from "../../api.ts";
import { present } from "../../domain-mapping.ts";
import { errors } from "../../problems/problem-responses.ts";
import { AssetText, Decimal, MarketText, Timestamp } from "../../requests/schemas.ts";

const TRADING_STATUSES = ["AVAILABLE", "UNAVAILABLE"] as const;
const STATUS_REASONS = ["SCHEDULED_MAINTENANCE", "TRADING_SUSPENDED", "UNSCHEDULED_MAINTENANCE"] as const;
const SIDE = { description: "AVAILABLE: orders are accepted. UNAVAILABLE: the market is halted." };
const REASON = { description: "While UNAVAILABLE. Always TRADING_SUSPENDED: the operator has halted the market." };

const MarketStatusBody = Type.Object(
  {
    buy_status: Type.Enum(TRADING_STATUSES, SIDE),
    sell_status: Type.Enum(TRADING_STATUSES, SIDE),
    buy_reason: Type.Optional(Type.Enum(STATUS_REASONS, REASON)),
    sell_reason: Type.Optional(Type.Enum(STATUS_REASONS, REASON)),
    updated_at: Type.Optional({
      ...Timestamp,
      description: "When the market was last halted or resumed. Absent if it never was.",
    }),
    scheduled_maintenance: Type.Array(Type.Object({}), { description: "Always empty: there is no schedule." }),
  },
  { title: "MarketStatus", description: "Whether a market takes orders. Both sides are halted together." },
);

export const MarketBody = Type.Object(
  {
    market: MarketText,
    base_asset: { ...AssetText, examples: ["BTC"] },
    quote_asset: AssetText,
    status: Type.Enum(["OPEN", "HALTED"], {
      description: "A halted market rejects new orders and matches nothing; orders can be cancelled.",
    }),
    market_status: MarketStatusBody,
    tick_rate: { ...Decimal, description: "The price increment: prices are multiples of it.", examples: ["0.25"] },
    tick: { ...Decimal, description: "The same as tick_rate.", examples: ["0.25"] },
    price_decimals: Type.Integer({ description: "The number of decimals of prices.", examples: [6] }),
    base_decimals: Type.Integer({ description: "The maximum number of decimals of base_amount.", examples: [8] }),
    min_base_amount: { ...Decimal, examples: ["0.00000001"] },
    max_base_amount: { ...Decimal, examples: ["500"] },
    min_quote_amount: { ...Decimal, examples: ["0.01"] },
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
        description: "Each market with its assets, limits and status.",
        response: {
          200: Type.Object({ markets: Type.Array(MarketBody) }),
          ...errors(429, 500, 503),
        },
      },
    },
    async () => ({ markets: (await exchange.listMarkets()).map(marketBody) }),
  );
}

/** What of a market an event shows: the rest is the catalogue's, of which only the present is known. */
export function marketEventBody({ code, status }: { readonly code: string; readonly status: MarketListing["status"] }) {
  return { market: code, status, market_status: statusBody({ status, statusSince: undefined }) };
}

function statusBody({
  status,
  statusSince,
}: Pick<MarketListing, "status" | "statusSince">): Static<typeof MarketStatusBody> {
  const [side, reason] = status === "OPEN" ? (["AVAILABLE"] as const) : (["UNAVAILABLE", "TRADING_SUSPENDED"] as const);
  return present<Static<typeof MarketStatusBody>>({
    buy_status: side,
    sell_status: side,
    buy_reason: reason,
    sell_reason: reason,
    updated_at: statusSince === undefined ? undefined : formatInstant(statusSince),
    scheduled_maintenance: [],
  });
}

function marketBody(listing: MarketListing): Static<typeof MarketBody> {
  const { market, status } = listing;
  const base = tierFor(market.feeTiers, ZERO);
  return {
    market: market.code,
    base_asset: market.base,
    quote_asset: market.quote,
    status,
    market_status: statusBody(listing),
    tick_rate: formatAmount(market.tick),
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
