import { type Static, Type } from "typebox";
import type { CustomerFees, Exchange, MarketFees } from "../../../exchange/exchange.ts";
import { formatAmount } from "../../../money/amount.ts";
import { formatInstant } from "../../../std/clock.ts";
import type { Api } from "../../api.ts";
import { errors } from "../../problems/problem-responses.ts";
import { Decimal, ListOf, Timestamp } from "../../requests/schemas.ts";
import { unknownMarket } from "../orders/order-problems.ts";

const TakerRate = { ...Decimal, description: "The taker's commission, of gross.", examples: ["0.0025"] };
const MakerRebate = { ...Decimal, description: "What the maker is paid, of gross.", examples: ["0.0003"] };

const TierBody = Type.Object(
  {
    minimum_gross: { ...Decimal, description: "For who has traded so much in 30 days, or more.", examples: ["100000"] },
    taker_rate: TakerRate,
    maker_rebate: MakerRebate,
  },
  { title: "FeeTier", description: "Rates by what was traded." },
);

const FeesBody = Type.Object(
  {
    market: Type.String({ description: "Its code.", examples: ["BTCUSD"] }),
    quote_asset: Type.String({ description: "What volume and commissions are in.", examples: ["USD"] }),
    taker_rate: TakerRate,
    maker_rebate: MakerRebate,
    source: Type.Enum(["TIER", "AGREEMENT"], {
      description: "Whether these rates are those of a tier, or were agreed with you and hold whatever you trade.",
    }),
    thirty_day_gross: {
      ...Decimal,
      description: "What you have traded on all markets with this quote asset, as maker and as taker.",
      examples: ["125000.5"],
    },
    counted_since: {
      ...Timestamp,
      description: "What was traded from here on counts: today, in UTC, and the 29 days before.",
    },
    tiers: Type.Array(TierBody, { description: "All tiers of the market, the lowest first." }),
  },
  { title: "Fees", description: "What trading on a market costs you." },
);

const DESCRIPTION = `What you pay as the taker and are paid as the maker on each market, in the order of their codes and always in one page: by your volume of 30 days, or as it was agreed with you.

Volume counts as soon as a match is durable. An order is given the rates of a moment that is up to ten seconds before its placement, and keeps them for its life.`;

export function feeRoutes(api: Api, exchange: Pick<Exchange, "feesOf" | "marketCodes">): void {
  api.get(
    "/v2/fees",
    {
      config: { scope: "exchange:read_order" },
      schema: {
        operationId: "listFees",
        tags: ["Orders"],
        summary: "List your fees on each market",
        description: DESCRIPTION,
        querystring: Type.Object({
          market: Type.Optional(
            Type.String({ description: "Only this market.", minLength: 1, maxLength: 100, examples: ["BTCUSD"] }),
          ),
        }),
        response: { 200: ListOf(FeesBody), ...errors(400, 401, 403, 429, 500, 503) },
      },
    },
    async ({ grant: { customerId }, query: { market } }) => {
      const codes = exchange.marketCodes();
      if (market !== undefined && !codes.some((code) => code === market)) throw unknownMarket(market, codes);
      const fees = await exchange.feesOf(customerId);
      const listed = fees.markets.filter((one) => market === undefined || one.market === market);
      return { items: listed.map((one) => feesBody(one, fees)), next_page_cursor: "" };
    },
  );
}

function feesBody(fees: MarketFees, { since }: CustomerFees): Static<typeof FeesBody> {
  return {
    market: fees.market,
    quote_asset: fees.quote,
    taker_rate: formatAmount(fees.takerRate),
    maker_rebate: formatAmount(fees.makerRebate),
    source: fees.isAgreed ? "AGREEMENT" : "TIER",
    thirty_day_gross: formatAmount(fees.thirtyDayGross),
    counted_since: formatInstant(since),
    tiers: fees.tiers.map((tier) => ({
      minimum_gross: formatAmount(tier.minimumGross),
      taker_rate: formatAmount(tier.takerRate),
      maker_rebate: formatAmount(tier.makerRebate),
    })),
  };
}
