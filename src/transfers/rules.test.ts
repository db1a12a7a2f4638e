import { expect, test } from "vitest";
import { accountRow, profileOf, profileRow, type Row, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { profileTable } from "../customers/profiles/profiles.ts";
import { entry, type ProfileId } from "../ledger/accounts.ts";
import { reserveOf } from "../ledger/house-accounts.ts";
import { change } from "../ledger/tables.ts";
import { amountOf, negative } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import { instantOf, siblingId, type Uuid } from "../std/id.ts";
import { decideExternalTransfer, decideTransfer, type ExternalTransferRequest, type TransferRequest } from "./rules.ts";
import { creditOf, type Transfer, transferTable, typesOf } from "./transfer.ts";

const [acme, globex] = ["acme", "globex"] as [CustomerId & string, CustomerId & string];
const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" as Uuid;
const NOW = 5_000 as Instant;
const USD: Asset = { code: "USD" as AssetCode, kind: "fiat", precision: 2 };
const USDG: Asset = { code: "USDG" as AssetCode, kind: "stablecoin", precision: 8 };
const from = profileOf(acme);
const to = profileOf(acme);
const theirs = profileOf(globex);
const funded = accountRow(from, "USD", { available: "10" });
const ROWS = [profileRow(from), profileRow(to), profileRow(theirs), funded];
const OF_SENDER = { metadata: { of: "sender" }, identityId: "i-1", accountId: "a-1" };
const OF_RECEIVER = { metadata: { of: "receiver" }, identityId: "i-2", accountId: "a-2" };
const INTERNAL: TransferRequest = {
  customerId: acme,
  kind: "internal",
  from: { profileId: from.id, annotations: OF_SENDER },
  to: { profileId: to.id, annotations: OF_RECEIVER },
  amount: amountOf("10"),
  asset: "USD",
  refId: "once",
};

const decide = (request: Partial<TransferRequest> = {}, rows: readonly Row[] = ROWS, asset: Asset | undefined = USD) =>
  decideTransfer({ ...INTERNAL, ...request }, ID, asset, stateOf(...rows));

test("a transfer debits and credits the same amount in one row, of which its requester gets the debit", () => {
  const transfer: Transfer = {
    ...{ id: ID, customerId: acme, type: "PLATFORM_TRANSFER", asset: USD.code, amount: amountOf("10"), refId: "once" },
    hasSteps: undefined,
    ...{ fromProfileId: from.id, fromAnnotations: OF_SENDER },
    ...{ toProfileId: theirs.id, toCustomerId: globex, toAnnotations: OF_RECEIVER },
    createdAt: instantOf(ID),
  };
  const shared = { asset: "USD", amount: amountOf("10"), createdAt: instantOf(ID) };
  const debit = {
    ...shared,
    ...{ id: ID, profileId: from.id, customerId: acme, type: "PLATFORM_TRANSFER_DEBIT", direction: "DEBIT" },
    ...{ refId: "once", annotations: OF_SENDER },
  };
  const credit = {
    ...shared,
    ...{ id: siblingId(ID), profileId: theirs.id, customerId: globex, type: "PLATFORM_TRANSFER_CREDIT" },
    ...{ direction: "CREDIT", refId: undefined, annotations: OF_RECEIVER },
  };
  expect(decide({ kind: "platform", to: { ...INTERNAL.to, profileId: theirs.id } })).toEqual({
    kind: "done",
    value: debit,
    changes: {
      journals: [
        {
          id: ID,
          cause: "transfer",
          entries: [entry(from.id, USD.code, negative(amountOf("10"))), entry(theirs.id, USD.code, amountOf("10"))],
        },
      ],
      records: [{ table: transferTable, row: transfer }],
    },
  });
  expect(creditOf(transfer)).toEqual(credit);
});

test("an internal transfer is named so on both of its sides", () => {
  expect(decide()).toMatchObject({
    value: { type: "INTERNAL_TRANSFER_DEBIT" },
    changes: { records: [{ row: { type: "INTERNAL_TRANSFER" } }] },
  });
});

test("a filter by types of records finds the transfers that have them, on the side that they name", () => {
  const types = ["INTERNAL_TRANSFER_DEBIT", "PLATFORM_TRANSFER_CREDIT", "WIRE_DEPOSIT", "SEN_WITHDRAWAL"] as const;
  expect(typesOf("DEBIT", types)).toEqual(["INTERNAL_TRANSFER", "SEN_WITHDRAWAL"]);
  expect(typesOf("CREDIT", types)).toEqual(["PLATFORM_TRANSFER", "WIRE_DEPOSIT"]);
});

const unknown = { ...profileOf(acme), id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f04" as Uuid as ProfileId };
const idle = profileOf(acme, { status: "INACTIVE" });
const fullTo = accountRow(to, "USD", { available: "99999999999999999999999999990" });

const notFound = ({ id }: { readonly id: string }) => ({ code: "profile_not_found", profileId: id });

/** In the order of the checks: each request also breaks all rules that come behind the one that it hears of. */
test.each<[string, Partial<TransferRequest>, Asset | undefined, object]>([
  ["an unknown sender", { from: { profileId: unknown.id }, to: { profileId: idle.id } }, undefined, notFound(unknown)],
  ["another customer's sender", { from: { profileId: theirs.id } }, undefined, notFound(theirs)],
  ["an inactive sender", { from: { profileId: idle.id } }, undefined, notFound(idle)],
  ["an unknown receiver", { to: { profileId: unknown.id } }, undefined, notFound(unknown)],
  ["an inactive receiver", { kind: "platform", to: { profileId: idle.id } }, undefined, notFound(idle)],
  ["another's receiver of an internal transfer", { to: { profileId: theirs.id } }, undefined, notFound(theirs)],
  [
    "an unknown asset",
    { asset: "XXX", amount: amountOf("11.001") },
    undefined,
    { code: "unknown_asset", field: "asset", asset: "XXX" },
  ],
  ["too many decimals", { amount: amountOf("11.001") }, USD, { code: "exceed_precision", asset: "USD", precision: 2 }],
  ["one unit more than there is", { amount: amountOf("10.01") }, USD, { code: "insufficient_funds" }],
  ["a receiver without room", {}, USD, { code: "balance_too_large", profileId: to.id }],
])("%s is rejected before the checks that follow", (_what, request, asset, rejection) => {
  const rows = [...ROWS, profileRow(idle), fullTo];
  const decision = decideTransfer({ ...INTERNAL, ...request }, ID, asset, stateOf(...rows));
  expect(decision).toMatchObject({ kind: "rejected", rejection });
});

const DEPOSIT: ExternalTransferRequest = {
  customerId: acme,
  profileId: to.id,
  amount: amountOf("10"),
  asset: "USD",
  direction: "CREDIT",
  type: "WIRE_DEPOSIT",
  details: { memo: "first" },
  refId: "deposit",
};

test("a deposit is debited to world, and reactivates an inactive profile", () => {
  const decision = decideExternalTransfer({ ...DEPOSIT, profileId: idle.id }, ID, USD, stateOf(profileRow(idle)), NOW);
  const record = {
    ...{ id: ID, customerId: acme, type: "WIRE_DEPOSIT", asset: "USD", amount: amountOf("10"), refId: "deposit" },
    ...{ createdAt: instantOf(ID), memo: "first" },
  };
  const transfer = { ...record, fromAnnotations: {}, toProfileId: idle.id, toCustomerId: acme, toAnnotations: {} };
  expect(decision).toEqual({
    kind: "done",
    value: { ...record, profileId: idle.id, direction: "CREDIT", annotations: {} },
    changes: {
      journals: [
        {
          id: ID,
          cause: "deposit",
          entries: [entry("world", USD.code, negative(amountOf("10"))), entry(idle.id, USD.code, amountOf("10"))],
        },
      ],
      records: [{ table: transferTable, row: transfer }],
      states: [change(profileTable, { ...idle, status: "ACTIVE" as const, updatedAt: NOW })],
    },
  });
});

test("reactivating a profile never sets its updated_at back, even when the clock was set back", () => {
  const later = profileOf(acme, { status: "INACTIVE", updatedAt: (NOW + 1) as Instant });
  const decision = decideExternalTransfer(
    { ...DEPOSIT, profileId: later.id },
    ID,
    USD,
    stateOf(profileRow(later)),
    NOW,
  );
  expect(decision).toMatchObject({
    changes: { states: [change(profileTable, { ...later, status: "ACTIVE" as const })] },
  });
});

test("a withdrawal of a coin burns it and releases its dollars, and leaves the profile's row alone", () => {
  const request = { ...DEPOSIT, direction: "DEBIT", type: "WIRE_WITHDRAWAL", asset: "USDG" } as const;
  const state = stateOf(profileRow(to), accountRow(to, "USDG", { available: "10" }));
  const decision = decideExternalTransfer(request, ID, USDG, state, NOW);
  const ten = amountOf("10");
  expect(decision).toMatchObject({
    kind: "done",
    changes: {
      journals: [
        {
          cause: "withdrawal",
          entries: [
            entry("world", USD.code, ten),
            entry(reserveOf(USDG.code), USD.code, negative(ten)),
            entry("issuance", USDG.code, ten),
            entry(to.id, USDG.code, negative(ten)),
          ],
        },
      ],
    },
  });
  expect(decision).not.toHaveProperty("changes.states");
});

/** docs/contract/requests.md#precision, rule 3: fees leave balances with more decimals than a request may use. */
test("a withdrawal may take exactly all that there is, whatever its decimals; no other amount may have more than its asset", () => {
  const state = stateOf(profileRow(to), accountRow(to, "USD", { available: "10.0035" }));
  const withdraw = (amount: string) =>
    decideExternalTransfer(
      { ...DEPOSIT, direction: "DEBIT", type: "WIRE_WITHDRAWAL", amount: amountOf(amount) },
      ...([ID, USD, state, NOW] as const),
    );
  expect(withdraw("10.0035")).toMatchObject({ kind: "done", value: { amount: amountOf("10.0035") } });
  const tooPrecise = { kind: "rejected", rejection: { code: "exceed_precision" } };
  for (const amount of ["10.0034", "10.0036"]) expect(withdraw(amount)).toMatchObject(tooPrecise);
  const deposit = { ...DEPOSIT, amount: amountOf("10.0035") };
  expect(decideExternalTransfer(deposit, ID, USD, state, NOW)).toMatchObject(tooPrecise);
});

test.each<[string, Partial<ExternalTransferRequest>, Asset | undefined, object]>([
  ["a deposit to an unknown profile", { profileId: unknown.id }, undefined, notFound(unknown)],
  ["a deposit to another customer's profile", { profileId: theirs.id }, undefined, notFound(theirs)],
  ["a withdrawal from an inactive one", { direction: "DEBIT", profileId: idle.id }, USD, notFound(idle)],
  ["an unknown asset", { amount: "too_precise" }, undefined, { code: "unknown_asset", field: "asset", asset: "USD" }],
  ["too many decimals", { amount: amountOf("11.001") }, USD, { code: "exceed_precision" }],
  ["a deposit without room", {}, USD, { code: "balance_too_large" }],
  [
    "a withdrawal of more than there is",
    { direction: "DEBIT", profileId: from.id, amount: amountOf("10.01") },
    USD,
    { code: "insufficient_funds" },
  ],
])("%s is rejected before the checks that follow", (_what, request, asset, rejection) => {
  const rows = [...ROWS, profileRow(idle), fullTo];
  const decision = decideExternalTransfer({ ...DEPOSIT, ...request }, ID, asset, stateOf(...rows), NOW);
  expect(decision).toMatchObject({ kind: "rejected", rejection });
});

test.each(["CREDIT", "DEBIT"] as const)(
  "a %s with steps is requested at the time of its id, which is that of its record",
  (direction) => {
    const what = { customerId: acme, profileId: from.id, amount: amountOf("10"), asset: "USD", direction } as const;
    const request: ExternalTransferRequest = { ...what, type: "WIRE_DEPOSIT", details: {}, hasSteps: true };
    const at = instantOf(ID);
    const decision = decideExternalTransfer(request, ID, USD, stateOf(...ROWS), (at + 7) as Instant);
    const steps = { status: "requested", updatedAt: at };
    expect(decision).toMatchObject({
      value: { createdAt: at, steps },
      changes: { states: [{ row: steps }], records: [{ row: { createdAt: at } }] },
    });
  },
);
