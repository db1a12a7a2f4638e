import { type Static, Type } from "typebox";
import type { CustomerFees, Exchange, MarketFees } from "../../../exchange/exchange.ts";
import { formatAmount } from "../../../money/amount.ts";
import { formatInstant } from "../../../std/clock.ts";
import type { Api } from "../../api.ts";
import { problemFor } from "../../domain-mapping.ts";
import { errors } from "../../problems/problem-responses.ts";
import { AssetText, Decimal, ListOf, MarketText, NamedEnum, Timestamp } from "../../requests/schemas.ts";
import { sendJson, sharedBytes } from "../../requests/shared-bodies.ts";

const TakerRate = {
  ...Decimal,
  description: "The taker's commission, as a fraction of the gross trade amount.",
};
const MakerRebate = {
  ...Decimal,
  description: "The maker's rebate, as a fraction of the gross trade amount.",
};

const TierBody = Type.Object(
  {
    minimum_gross: {
      ...Decimal,
      description: "Minimum 30-day traded volume for this tier, in the quote asset.",
    },
    taker_rate: TakerRate,
    maker_rebate: MakerRebate,
  },
  { title: "FeeTier", description: "The rates from one minimum volume on." },
);

const FeesBody = Type.Object(
  {
    market: MarketText,
    quote_asset: { ...AssetText, description: "The asset of volumes and commissions." },
    taker_rate: TakerRate,
    maker_rebate: MakerRebate,
    source: NamedEnum(
      "FeeSource",
      ["TIER", "AGREEMENT"],
      "TIER: these rates follow your volume. AGREEMENT: they were agreed with you and do not depend on it.",
    ),
    thirty_day_gross: {
      ...Decimal,
      description: "Your traded volume on all markets with this quote asset, as maker and taker.",
    },
    counted_since: {
      ...Timestamp,
      description: "The start of the 30 days: midnight UTC, 29 days ago.",
    },
    tiers: Type.Array(TierBody, { description: "All tiers of the market, the lowest first." }),
  },
  { title: "Fees", description: "Your fees on one market." },
);

const FeesList = ListOf(FeesBody);

const DESCRIPTION = `Your taker rate and maker rebate on each market, by your 30-day volume or as agreed with you. Sorted by market code, always in one page.

Volume counts as soon as a match is durable. An order keeps the rates that applied up to ten seconds before its placement.`;

export function feeRoutes(api: Api, exchange: Pick<Exchange, "feesOf" | "marketCodes">): void {
  const textOf = (fees: CustomerFees, market?: string): string => {
    const listed = fees.markets.filter((one) => market === undefined || one.market === market);
    const body = { items: listed.map((one) => feesBody(one, fees)), next_page_cursor: "" };
    return JSON.stringify(api.dialect.giver(FeesList)(body));
  };
  const bytesOfAll = sharedBytes((fees: CustomerFees) => textOf(fees));
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
            Type.String({ ...MarketText, description: "Only this market.", minLength: 1, maxLength: 100 }),
          ),
        }),
        response: { 200: FeesList, ...errors(400, 401, 403, "unknown_market", 429, 500, 503) },
      },
    },
    async (request, reply) => {
      const { market } = request.query;
      const markets = exchange.marketCodes();
      if (market !== undefined && !markets.some((code) => code === market))
        throw problemFor(request, { code: "unknown_market", field: "market", market, markets });
      const fees = await exchange.feesOf(request.grant.customerId);
      return sendJson(reply, market === undefined ? bytesOfAll(fees) : Buffer.from(textOf(fees, market)));
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
