import { Type } from "typebox";
import type { MarketCode } from "../../../catalogue/market.ts";
import type { Exchange } from "../../../exchange/exchange.ts";
import type { Dialect } from "../../../web/dialect/dialect.ts";
import { notFound } from "../../problems/problems.ts";

export const MarketParam = Type.String({
  description: "A market's code. Case-sensitive.",
  "x-word": "market",
  minLength: 1,
  maxLength: 16,
});

/** @throws Problem 404 when there is no such market */
export function marketInPath(
  exchange: Pick<Exchange, "marketCodes">,
  text: string,
  { markets }: Pick<Dialect, "markets">,
): MarketCode {
  const market = exchange.marketCodes().find((code) => code === text);
  if (market === undefined) throw notFound(`market not found: ${markets.given(text)}`);
  return market;
}
