import { Type } from "typebox";
import type { MarketCode } from "../../../catalogue/market.ts";
import type { Exchange } from "../../../exchange/exchange.ts";
import { notFound } from "../../problems/problems.ts";

/** A market in a path. */
export const MarketParam = Type.String({
  description: "A market's code. Case-sensitive.",
  minLength: 1,
  maxLength: 16,
  examples: ["BTCUSD"],
});

/** The market that a path names; without one of that code the path is not there. */
export function marketInPath(exchange: Pick<Exchange, "marketCodes">, text: string): MarketCode {
  const market = exchange.marketCodes().find((code) => code === text);
  if (market === undefined) throw notFound(`market not found: ${text}`);
  return market;
}
