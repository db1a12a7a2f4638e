import { type Static, Type } from "typebox";
import { tierFor } from "../../../catalogue/fee-tiers.ts";
import type { Exchange, MarketListing } from "../../../exchange/exchange.ts";
import { formatAmount, ZERO } from "../../../money/amount.ts";
import { formatInstant } from "../../../std/clock.ts";
import type { Api } from "../../api.ts";
import { present } from "../../domain-mapping.ts";
import { errors } from "../../problems/problem-responses.ts";
import { AssetText, Decimal, MarketText, NamedEnum, Timestamp } from "../../requests/schemas.ts";
import { sendJson, sharedBytes } from "../../requests/shared-bodies.ts";

const TradingStatus = NamedEnum(
  "TradingStatus",
  ["AVAILABLE", "UNAVAILABLE"],
  "AVAILABLE: orders are accepted. UNAVAILABLE: the market is halted.",
);
const StatusReason = NamedEnum(
  "TradingStatusReason",
  ["SCHEDULED_MAINTENANCE", "TRADING_SUSPENDED", "UNSCHEDULED_MAINTENANCE"],
  "While UNAVAILABLE. Always TRADING_SUSPENDED: the operator has halted the market.",
);
const ScheduledMaintenance = Type.Object({}, { additionalProperties: false });

const MarketStatusBody = Type.Object(
  {
    buy_status: TradingStatus,
    sell_status: TradingStatus,
    buy_reason: Type.Optional(StatusReason),
    sell_reason: Type.Optional(StatusReason),
    updated_at: Type.Optional({
      ...Timestamp,
      description: "When the market was last halted or resumed. Absent if it never was.",
    }),
    scheduled_maintenance: Type.Array(ScheduledMaintenance, {
      description: "Always empty: there is no schedule.",
      maxItems: 0,
    }),
  },
  { title: "MarketStatus", description: "Whether a market takes orders. Both sides are halted together." },
);

const MarketState = NamedEnum(
  "MarketState",
  ["OPEN", "HALTED"],
  "A halted market rejects new orders and matches nothing; orders can be cancelled.",
);

const MarketBody = Type.Object(
  {
    market: MarketText,
    base_asset: AssetText,
    quote_asset: AssetText,
    status: MarketState,
    market_status: MarketStatusBody,
    tick_rate: { ...Decimal, description: "The price increment: prices are multiples of it." },
    tick: { ...Decimal, description: "The same as tick_rate." },
    price_decimals: Type.Integer({ description: "The number of decimals of prices." }),
    base_decimals: Type.Integer({ description: "The maximum number of decimals of base_amount." }),
    min_base_amount: { ...Decimal },
    max_base_amount: { ...Decimal },
    min_quote_amount: { ...Decimal },
    max_quote_amount: { ...Decimal },
    max_notional_value: {
      ...Decimal,
      description: "The maximum value of an order, in the quote asset.",
    },
    taker_rate: {
      ...Decimal,
      description:
        "The taker's commission at the lowest tier, as a fraction of the gross trade amount. `GET /v2/fees` returns your own.",
    },
    maker_rebate: {
      ...Decimal,
      description: "The maker's rebate at the lowest tier, as a fraction of the gross trade amount.",
    },
  },
  { title: "Market", description: "A market and its limits." },
);

const MarketList = Type.Object(
  { markets: Type.Array(MarketBody) },
  { title: "MarketList", description: "All markets." },
);

export function marketRoutes(api: Api, exchange: Pick<Exchange, "listMarkets">): void {
  const bytesOf = sharedBytes((listings: readonly MarketListing[]) =>
    JSON.stringify(api.dialect.giver(MarketList)({ markets: listings.map(marketBody) })),
  );
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
          200: MarketList,
          ...errors(429, 500, 503),
        },
      },
    },
    async (_request, reply) => sendJson(reply, bytesOf(await exchange.listMarkets())),
  );
}

/** What of a market an event shows: the rest is the catalogue's, of which only the present is known. */
export const MarketEventBody = Type.Object(
  { market: MarketText, status: MarketState, market_status: MarketStatusBody },
  { title: "MarketEvent", description: "A market that was halted or resumed." },
);

export function marketEventBody({
  code,
  status,
}: {
  readonly code: string;
  readonly status: MarketListing["status"];
}): Static<typeof MarketEventBody> {
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
    scheduled_maintenance: [],
    updated_at: statusSince === undefined ? undefined : formatInstant(statusSince),
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
