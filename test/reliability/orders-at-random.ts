/** Orders of every kind as they are sent, around a hundred on two markets: most of them cross, or nearly do. */
import type { Random } from "../support/random.ts";

export const STORM_MARKETS = ["ETHUSD", "LTCUSD"] as const;

export type OrderRequest = Readonly<Record<string, string | number>>;

const KINDS = [
  ...Array<"limit">(8).fill("limit"),
  "market",
  "market",
  "ioc",
  "ioc",
  "fok",
  "gtt",
  "post_only",
  "stop_limit",
  "stop_market",
] as const;

export function orderAtRandom(random: Random, refId: string): OrderRequest {
  const side = random(2) === 0 ? "BUY" : "SELL";
  const price = `${95 + random(11)}.${random(10)}`;
  const base = `0.${random(900) + 100}`;
  const stop = `${96 + random(9)}`;
  const budget = side === "BUY" ? { quote_amount: `${10 + random(60)}.${random(90) + 10}` } : { base_amount: base };
  const market = STORM_MARKETS[random(2)] as string;
  // Some wait for what becomes of them, so that there are answers that say FILLED.
  const patience = random(3) === 0 ? { await_fill_millis: random(300) } : {};
  const asked = { side, market, ref_id: refId, ...patience };
  const limit = { ...asked, type: "LIMIT", base_amount: base, price };
  switch (KINDS[random(KINDS.length)]) {
    case "market":
      return { ...asked, type: "MARKET", ...budget };
    case "ioc":
      return { ...limit, time_in_force: "IOC" };
    case "fok":
      return { ...limit, time_in_force: "FOK" };
    case "gtt":
      return { ...limit, time_in_force: "GTT", expiration_date: `${Date.now() + 11_000 + random(5_000)}` };
    case "post_only":
      return { ...limit, type: "POST_ONLY_LIMIT" };
    case "stop_limit":
      return { ...limit, type: "STOP_LIMIT", stop_price: stop };
    case "stop_market":
      return { ...asked, type: "STOP_MARKET", stop_price: stop, ...budget };
    default:
      return limit;
  }
}
