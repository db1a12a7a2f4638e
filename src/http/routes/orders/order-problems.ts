/** The problems of orders that are not placed. Exhaustive by type over the rejections of placing one. */
import type { MarketCode } from "../../../catalogue/market.ts";
import type { OrderRejection } from "../../../exchange/exchange.ts";
import { formatAmount } from "../../../money/amount.ts";
import { invalid, shownValue } from "../../problems/failing-fields.ts";
import { Problem } from "../../problems/problems.ts";
import { problemOf } from "../../problems/rejection-problems.ts";
import type { NewOrderBody } from "./order-body.ts";

const WIRE_FIELDS = {
  price: "price",
  stopPrice: "stop_price",
  baseAmount: "base_amount",
  quoteAmount: "quote_amount",
} as const satisfies Record<string, keyof NewOrderBody>;

export function orderProblem(rejection: OrderRejection, body: NewOrderBody, markets: readonly MarketCode[]): Problem {
  switch (rejection.code) {
    case "profile_not_found":
    case "insufficient_funds":
      return problemOf(rejection);
    case "unknown_market":
      return unknownMarket(rejection.market, markets);
    case "off_tick": {
      const { market, tick, below, above } = rejection;
      const nearest =
        below === undefined ? `is ${formatAmount(above)}` : `are ${formatAmount(below)} and ${formatAmount(above)}`;
      return rejectedField(
        rejection.field,
        body,
        `is not a multiple of ${market}'s tick ${formatAmount(tick)}: the nearest ${nearest}`,
      );
    }
    case "price_too_large":
      return rejectedField(
        rejection.field,
        body,
        `is above ${formatAmount(rejection.maximum)}, the highest price on ${rejection.market}`,
      );
    case "amount_too_small":
    case "amount_too_large": {
      const { market, asset, bound } = rejection;
      const side = rejection.code === "amount_too_small" ? "below the minimum" : "above the maximum";
      return rejectedField(rejection.field, body, `is ${side} of ${market}: ${formatAmount(bound)} ${asset}`);
    }
    case "exceed_precision": {
      const { asset, precision } = rejection;
      // An order has exactly one of the two amounts.
      const field = body.quote_amount === undefined ? "base_amount" : "quote_amount";
      const detail = `${field} ${JSON.stringify(body[field])} has more decimals than ${body.market} allows for ${asset}: ${precision}`;
      return new Problem("exceed-precision", detail, { meta: { asset, precision } });
    }
    case "market_unavailable":
      return new Problem("unavailable-market", `market ${rejection.market} is halted and accepts no new orders`, {
        meta: { market: rejection.market },
      });
    case "notional_value_too_large": {
      const { market, asset, orderType } = rejection;
      const [value, maximum] = [formatAmount(rejection.notionalValue), formatAmount(rejection.maximum)];
      const meta = { market, order_type: orderType, order_notional_value: value, max_notional_value: maximum };
      const detail = `the order is worth ${value} ${asset}, but an order on ${market} may be worth ${maximum} at most`;
      return new Problem("notional-value-too-large", detail, { meta });
    }
  }
}

/** @param field the field that named the market */
export function unknownMarket(market: string, markets: readonly MarketCode[], field = "market"): Problem {
  return invalid([{ field, value: shownValue(market), rule: `is not one of ${markets.join(", ")}` }]);
}

function rejectedField(field: keyof typeof WIRE_FIELDS, body: NewOrderBody, rule: string): Problem {
  const name = WIRE_FIELDS[field];
  return invalid([{ field: name, value: shownValue(body[name]), rule }]);
}
