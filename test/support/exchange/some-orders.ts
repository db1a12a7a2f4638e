import type { Random } from "../random.ts";
import { ahead, type OrderAsked } from "./orders.ts";

/** An order of any kind on one of the markets, at prices from 95 to 106. */
export function someOrder(markets: readonly string[], random: Random): OrderAsked {
  const market = markets[random(markets.length)] as string;
  const side = random(2) === 0 ? "BUY" : "SELL";
  const price = `${95 + random(11)}.${random(10)}`;
  const base = `0.${random(999) + 1}`;
  const stopPrice = `${95 + random(11)}`;
  const rates = { takerRate: `0.00${35 + random(10)}`, makerRebate: `0.000${random(10)}` };
  const asked = { market, side, ...rates } as const;
  switch (random(10)) {
    case 0:
      return { ...asked, type: "MARKET", timeInForce: "IOC", ...(side === "BUY" ? { quote: "12.34" } : { base }) };
    case 1:
      return { ...asked, type: "POST_ONLY_LIMIT", base, price };
    case 2:
      return { ...asked, type: "STOP_LIMIT", base, price, stopPrice };
    case 3:
      return { ...asked, type: "STOP_MARKET", stopPrice, ...(side === "BUY" ? { quote: "9.99" } : { base }) };
    case 4:
      return { ...asked, base, price, timeInForce: "IOC" };
    case 5:
      return { ...asked, base, price, timeInForce: "FOK" };
    case 6:
      return { ...asked, base, price, timeInForce: "GTT", expirationDate: ahead(random(2_000)) };
    default:
      return { ...asked, base, price };
  }
}
