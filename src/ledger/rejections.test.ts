import { expect, test } from "vitest";
import { accountRow, profileOf, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { amountOf } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import { done, PASSED, reject } from "../std/result.ts";
import { checkFunds, checkPrecision, checkRoom } from "./rejections.ts";

const USD = "USD" as AssetCode;
const profile = profileOf("acme" as CustomerId);
const ALMOST_FULL = "99999999999999999999999999990";

test("funds are the available part, to the last unit, and no held part", () => {
  const state = stateOf(accountRow(profile, "USD", { available: "10", trading: "5", pending: "5" }));
  const needed = amountOf("10.000000000000000001");
  expect(checkFunds(state, profile.id, USD, amountOf("10"))).toBe(PASSED);
  expect(checkFunds(state, profile.id, USD, needed)).toEqual(
    reject({
      code: "insufficient_funds",
      profileId: profile.id,
      asset: "USD",
      available: amountOf("10"),
      needed,
    }),
  );
});

test("without an account nothing is available, and there is room below the limit", () => {
  const [state, one] = [stateOf(), amountOf("1")];
  expect(checkFunds(state, profile.id, USD, one)).toMatchObject({ rejection: { available: 0n, needed: one } });
  expect(checkRoom(state, profile.id, USD, amountOf("99999999999999999999999999999"))).toBe(PASSED);
  expect(checkRoom(state, profile.id, USD, amountOf("100000000000000000000000000000"))).toEqual(
    reject({
      code: "balance_too_large",
      profileId: profile.id,
      asset: "USD",
    }),
  );
});

test.each(["available", "trading", "pending"] as const)(
  "%s counts towards the balance limit, so that its release never overflows",
  (part) => {
    const state = stateOf(accountRow(profile, "USD", { [part]: ALMOST_FULL }));
    expect(checkRoom(state, profile.id, USD, amountOf("9.999999999999999999"))).toBe(PASSED);
    expect(checkRoom(state, profile.id, USD, amountOf("10"))).toMatchObject({
      rejection: { code: "balance_too_large" },
    });
  },
);

test("an amount with more decimals than the asset has is rejected with the asset and its precision", () => {
  const usd: Asset = { code: USD, kind: "fiat", precision: 2 };
  expect(checkPrecision(amountOf("1.01"), usd)).toEqual(done(amountOf("1.01")));
  const rejection = { code: "exceed_precision", asset: "USD", precision: 2 };
  expect(checkPrecision(amountOf("1.001"), usd)).toEqual(reject(rejection));
  expect(checkPrecision(amountOf("1.001"), usd, amountOf("1.001"))).toEqual(done(amountOf("1.001")));
  for (const all of ["1.002", "1.0009", "1"]) {
    expect(checkPrecision(amountOf("1.001"), usd, amountOf(all))).toEqual(reject(rejection));
  }
  expect(checkPrecision("too_precise", { ...usd, precision: 18 })).toEqual(reject({ ...rejection, precision: 18 }));
});
