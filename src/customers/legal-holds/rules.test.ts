import { expect, test } from "vitest";
import { accountRow, profileOf, profileRow, stateOf } from "../../../test/support/states.ts";
import { holdEntries, journal } from "../../ledger/accounts.ts";
import { amountOf } from "../../money/amount.ts";
import type { Asset, AssetCode } from "../../money/asset.ts";
import { instantOf, type Uuid } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";
import { decideLegalHold } from "./rules.ts";
import { legalHoldTable } from "./store.ts";

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
