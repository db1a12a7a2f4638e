import { describe, expect, test } from "vitest";
import type { OrderTimeInForce, OrderType } from "./order.ts";
import { type Misfit, misfitsOf, type OrderDraft, TIMES_IN_FORCE, timeInForceOf } from "./order-kinds.ts";

const LIMIT: OrderDraft = { side: "BUY", type: "LIMIT", baseAmount: "1", price: "2" };
const MARKET: OrderDraft = { side: "BUY", type: "MARKET", quoteAmount: "1" };

/** interface.md, "Time in force validity per order type": the first is the default. */
const TABLE = `
  MARKET           IOC
  LIMIT            GTC IOC GTT FOK
  POST_ONLY_LIMIT  GTC IOC GTT FOK
  STOP_MARKET      GTC GTT
  STOP_LIMIT       GTC GTT
`;

describe("the times in force of each type are those of the interface", () => {
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
    ["limit for a sum", { ...LIMIT, quoteAmount: "1" }, [outOfPlace("quoteAmount")]],
    ["limit with a stop price", { ...LIMIT, stopPrice: "1" }, [outOfPlace("stopPrice")]],
    ["an expiry without GTT", { ...LIMIT, timeInForce: "IOC", expirationDate: 1 }, [outOfPlace("expirationDate")]],
  ];
  test.each(cases)("%s", (_name, draft, misfits) => {
    expect(misfitsOf(draft)).toEqual(misfits);
  });

  const STOPS: [string, OrderDraft][] = [
    ["stop buy for a sum", { side: "BUY", type: "STOP_MARKET", quoteAmount: "1", stopPrice: "1" }],
    ["stop sell of base", { side: "SELL", type: "STOP_MARKET", baseAmount: "1", stopPrice: "1" }],
    ["stop limit", { ...LIMIT, type: "STOP_LIMIT", stopPrice: "1" }],
    ["post only", { ...LIMIT, type: "POST_ONLY_LIMIT" }],
  ];
  test.each(STOPS)("%s is complete, but not supported yet", (_name, draft) => {
    expect(misfitsOf(draft)).toEqual([{ field: "type", why: "not_supported_yet" }]);
  });

  test("GTT is complete with its expiry, but not supported yet", () => {
    const unsupported: Misfit = { field: "timeInForce", why: "not_supported_yet" };
    const draft: OrderDraft = { ...LIMIT, timeInForce: "GTT" };
    expect(misfitsOf({ ...draft, expirationDate: 1 })).toEqual([unsupported]);
    expect(misfitsOf(draft)).toEqual([unsupported, missing("expirationDate")]);
  });
});
