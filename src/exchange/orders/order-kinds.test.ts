import { describe, expect, test } from "vitest";
import type { OrderTimeInForce, OrderType } from "../order.ts";
import { type Misfit, misfitsOf, type OrderDraft, TIMES_IN_FORCE, timeInForceOf } from "./order-kinds.ts";

const LIMIT: OrderDraft = { side: "BUY", type: "LIMIT", baseAmount: "1", price: "2" };
const MARKET: OrderDraft = { side: "BUY", type: "MARKET", quoteAmount: "1" };

/** docs/contract/orders.md#time-in-force; the first is the default. */
const TABLE = `
  MARKET           IOC
  LIMIT            GTC IOC GTT FOK
  POST_ONLY_LIMIT  GTC IOC GTT FOK
  STOP_MARKET      GTC GTT
  STOP_LIMIT       GTC GTT
`;

describe("the times in force of each type are those of the contract", () => {
  const lines = TABLE.trim()
    .split("\n")
    .map((line) => line.trim().split(/ +/) as [OrderType, ...OrderTimeInForce[]]);
  test.each(lines)("%s", (type, ...times) => {
    expect(TIMES_IN_FORCE[type]).toEqual(times);
    expect(timeInForceOf({ side: "BUY", type })).toBe(times[0]);
    for (const timeInForce of ["GTC", "IOC", "GTT", "FOK"] as const) {
      const isInvalid = misfitsOf({ side: "BUY", type, timeInForce }).some(({ why }) => why === "invalid_for_the_type");
      expect(isInvalid, timeInForce).toBe(!times.includes(timeInForce));
    }
  });
});

describe("a kind has its own fields and no others", () => {
  const missing = (field: Misfit["field"]): Misfit => ({ field, why: "missing" });
  const outOfPlace = (field: Misfit["field"]): Misfit => ({ field, why: "out_of_place" });
  const cases: [string, OrderDraft, Misfit[]][] = [
    ["limit", LIMIT, []],
    ["limit sell", { ...LIMIT, side: "SELL" }, []],
    ["market buy", MARKET, []],
    ["market sell", { side: "SELL", type: "MARKET", baseAmount: "1" }, []],
    ["market sell for a sum", { ...MARKET, side: "SELL" }, [missing("baseAmount"), outOfPlace("quoteAmount")]],
    [
      "market buy of base",
      { side: "BUY", type: "MARKET", baseAmount: "1" },
      [outOfPlace("baseAmount"), missing("quoteAmount")],
    ],
    ["stop buy", { ...MARKET, type: "STOP_MARKET", stopPrice: "1" }, []],
    ["stop sell", { side: "SELL", type: "STOP_MARKET", baseAmount: "1", stopPrice: "1" }, []],
    ["stop without its price", { ...MARKET, type: "STOP_MARKET" }, [missing("stopPrice")]],
    ["stop with a limit", { ...MARKET, type: "STOP_MARKET", stopPrice: "1", price: "1" }, [outOfPlace("price")]],
    [
      "stop buy of base",
      { side: "BUY", type: "STOP_MARKET", baseAmount: "1", stopPrice: "1" },
      [outOfPlace("baseAmount"), missing("quoteAmount")],
    ],
    ["stop limit", { ...LIMIT, type: "STOP_LIMIT", stopPrice: "1" }, []],
    [
      "stop limit without a limit",
      { ...LIMIT, type: "STOP_LIMIT", stopPrice: "1", price: undefined },
      [missing("price")],
    ],
    ["post only", { ...LIMIT, type: "POST_ONLY_LIMIT" }, []],
    ["post only with a stop price", { ...LIMIT, type: "POST_ONLY_LIMIT", stopPrice: "1" }, [outOfPlace("stopPrice")]],
    ["GTT", { ...LIMIT, timeInForce: "GTT", expirationDate: 1 }, []],
    ["GTT without an expiry", { ...LIMIT, timeInForce: "GTT" }, [missing("expirationDate")]],
    ["limit for a sum", { ...LIMIT, quoteAmount: "1" }, [outOfPlace("quoteAmount")]],
    ["limit with a stop price", { ...LIMIT, stopPrice: "1" }, [outOfPlace("stopPrice")]],
    ["an expiry without GTT", { ...LIMIT, timeInForce: "IOC", expirationDate: 1 }, [outOfPlace("expirationDate")]],
  ];
  test.each(cases)("%s", (_name, draft, misfits) => {
    expect(misfitsOf(draft)).toEqual(misfits);
  });
});
