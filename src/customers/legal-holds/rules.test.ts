import { expect, test } from "vitest";
import { accountRow, profileOf, profileRow, stateOf } from "../../../test/support/states.ts";
import { holdEntries, journal, releaseEntries } from "../../ledger/accounts.ts";
import { amountOf } from "../../money/amount.ts";
import type { Asset, AssetCode } from "../../money/asset.ts";
import type { Instant } from "../../std/clock.ts";
import { instantOf, siblingId, type Uuid } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import type { CustomerId } from "../customer-id.ts";
import { profileNotFound } from "../profiles/profiles.ts";
import { decideLegalHold, decideLift } from "./rules.ts";
import { type LegalHold, legalHoldKey, legalHoldTable } from "./store.ts";

const USD: Asset = { code: "USD" as AssetCode, kind: "fiat", precision: 2 };
const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" as Uuid;

test("all of a balance may be held, also what is finer than the decimals of its asset", () => {
  const profile = profileOf("acme" as CustomerId);
  const state = stateOf(profileRow(profile), accountRow(profile, "USD", { available: "10.001" }));
  const { id: profileId, customerId } = profile;
  const about = { customerId, profileId, amount: amountOf("10.001"), refId: "order-17", reason: "court order" };
  const hold = {
    ...{ ...about, id: ID, asset: USD.code, placedBy: "ada", createdAt: instantOf(ID) },
    ...{ liftedBy: undefined, liftedAt: undefined, version: 0n },
  };
  expect(decideLegalHold({ ...about, asset: "USD" }, "ada", ID, USD, state)).toEqual({
    kind: "done",
    value: hold,
    changes: {
      states: [{ table: legalHoldTable, row: hold }],
      journals: [journal(ID, "legal_hold_placed", holdEntries(profileId, USD.code, about.amount))],
    },
  });
});

const ASKED = { amount: amountOf("10"), refId: undefined, reason: "court order", asset: "USD" };

test("money of another customer's profile, or of one that is not active, is not held", () => {
  const acme = "acme" as CustomerId;
  for (const [profile, customerId] of [
    [profileOf(acme), "other" as CustomerId],
    [profileOf(acme, { status: "INACTIVE" }), acme],
  ] as const) {
    const state = stateOf(profileRow(profile), accountRow(profile, "USD", { available: "10" }));
    const request = { ...ASKED, customerId, profileId: profile.id };
    expect(decideLegalHold(request, "ada", ID, USD, state)).toEqual(reject(profileNotFound(profile.id)));
  }
});

const profile = profileOf("acme" as CustomerId);
const HOLD: LegalHold = {
  ...{ id: ID, profileId: profile.id, customerId: profile.customerId, asset: USD.code, amount: amountOf("10") },
  ...{ refId: undefined, reason: "court order", placedBy: "ada", createdAt: instantOf(ID) },
  ...{ liftedBy: undefined, liftedAt: undefined, version: 1n },
};
const lift = (hold: LegalHold, now: number) => {
  const state = stateOf([legalHoldTable, legalHoldKey(hold).key, hold]);
  return decideLift(legalHoldKey(hold), ID, "olga", state, now as Instant);
};

test.each([
  [60_000, 60_000],
  // Its clock was ahead of this one.
  [-60_000, 0],
])("a hold that is lifted %d ms after it was placed gives its money back, and says so by %d ms", (after, at) => {
  const lifted = { ...HOLD, liftedBy: "olga", liftedAt: (HOLD.createdAt + at) as Instant };
  expect(lift(HOLD, HOLD.createdAt + after)).toEqual({
    kind: "done",
    value: lifted,
    changes: {
      states: [{ table: legalHoldTable, row: lifted }],
      journals: [journal(siblingId(ID), "legal_hold_lifted", releaseEntries(profile.id, USD.code, HOLD.amount))],
    },
  });
});

test("a hold gives its money back once", () => {
  const lifted: LegalHold = { ...HOLD, liftedBy: "bo", liftedAt: (HOLD.createdAt + 1) as Instant };
  expect(lift(lifted, HOLD.createdAt + 60_000)).toEqual({ kind: "done", value: lifted, changes: {} });
});
