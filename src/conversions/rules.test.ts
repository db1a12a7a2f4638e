import { expect, test } from "vitest";
import { accountRow, profileOf, profileRow, type Row, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { type Profile, profileTable } from "../customers/profiles/profiles.ts";
import { accountKey, entry, type Owner } from "../ledger/accounts.ts";
import type { Accepted, Decision, Rejection } from "../ledger/decision.ts";
import { change, keyOf } from "../ledger/tables.ts";
import { amountOf, formatAmount } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import { instantOf, siblingId, type Uuid } from "../std/id.ts";
import { type Conversion, type ConversionId, conversionTable } from "./conversion.ts";
import {
  type ConversionRequest,
  closingKeys,
  decideCancel,
  decideConversion,
  decideSettlement,
  pairOf,
} from "./rules.ts";

const acme = "acme" as CustomerId;
const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00" as Uuid as ConversionId;
const NOW = (instantOf(ID) + 5_000) as Instant;
const asset = (code: string, kind: Asset["kind"], precision: number): Asset => ({
  code: code as AssetCode,
  kind,
  precision,
});
const USD = asset("USD", "fiat", 2);
const EUR = asset("EUR", "fiat", 2);
const PYUSD = asset("PYUSD", "stablecoin", 6);
const USDG = asset("USDG", "stablecoin", 8);
const BTC = asset("BTC", "crypto", 8);
const COINS = [PYUSD.code, USDG.code];

const payer = profileOf(acme);
const receiver = profileOf(acme, { incomingCount: 4 });
const idle = profileOf(acme, { status: "INACTIVE" });
const theirs = profileOf("globex" as CustomerId);
const ROWS = [
  ...[payer, receiver, idle, theirs].map(profileRow),
  accountRow(payer, "USD", { available: "10" }),
  accountRow(payer, "USDG", { available: "10" }),
];
const MINT: ConversionRequest = {
  customerId: acme,
  profileId: payer.id,
  amount: amountOf("10"),
  sourceAsset: "USD",
  targetAsset: "USDG",
  recipientProfileId: receiver.id,
  refId: "once",
  annotations: { identityId: "i-1", accountId: "a-1", metadata: { invoice: "1" } },
};
const created: Conversion = {
  id: ID,
  profileId: payer.id,
  customerId: acme,
  sourceAsset: USD.code,
  targetAsset: USDG.code,
  amount: amountOf("10"),
  recipientProfileId: receiver.id,
  refId: "once",
  annotations: { identityId: "i-1", accountId: "a-1", metadata: { invoice: "1" } },
  status: "CREATED",
  createdAt: instantOf(ID),
  updatedAt: instantOf(ID),
  settledAt: undefined,
  cancelledAt: undefined,
  version: 0n,
};

const create = (request: Partial<ConversionRequest> = {}, pair = pairOf(USD, USDG), rows: readonly Row[] = ROWS) =>
  decideConversion({ ...MINT, ...request }, ID, pair, COINS, stateOf(...rows));

/** "owner part +-amount asset" of each entry. */
function entriesOf(decision: Decision<unknown, Rejection>): string[] {
  if (decision.kind === "rejected") throw new Error(decision.rejection.code);
  const name = (owner: Owner): string => (owner === payer.id ? "payer" : owner === receiver.id ? "receiver" : owner);
  const entries = decision.changes.journals?.flatMap((journal) => journal.entries) ?? [];
  return entries.map((each) => `${name(each.owner)} ${each.part} ${formatAmount(each.amount)} ${each.asset}`);
}

test("every stablecoin converts to dollars, back, and to every other one, and nothing else converts", () => {
  const all = [USD, EUR, PYUSD, USDG, BTC];
  const pairs = all.flatMap((source) => all.map((target) => pairOf(source, target)));
  const named = pairs.flatMap((pair) => (pair === undefined ? [] : [`${pair.source.code}-${pair.target.code}`]));
  expect(named).toEqual(["USD-PYUSD", "USD-USDG", "PYUSD-USD", "PYUSD-USDG", "USDG-USD", "USDG-PYUSD"]);
  expect([pairOf(undefined, USD), pairOf(USD, undefined)]).toEqual([undefined, undefined]);
});

test("a conversion keeps its source aside, and its recipient counts that it is awaited", () => {
  expect(create()).toEqual({
    kind: "done",
    value: created,
    changes: {
      states: [change(conversionTable, created), change(profileTable, { ...receiver, incomingCount: 5 })],
      journals: [
        {
          id: ID,
          cause: "conversion_created",
          entries: [entry(payer.id, USD.code, amountOf("-10")), entry(payer.id, USD.code, amountOf("10"), "pending")],
        },
      ],
    },
  });
});

test.each([
  ["no recipient", undefined],
  ["itself as the recipient", payer.id],
])("a conversion with %s counts at no recipient", (_what, recipientProfileId) => {
  const decision = create({ recipientProfileId });
  const value = { ...created, recipientProfileId };
  expect(decision).toMatchObject({ kind: "done", value, changes: { states: [change(conversionTable, value)] } });
  expect(decision.kind === "done" && decision.changes.states).toHaveLength(1);
});

test("the coarser asset decides on decimals, whichever side it is on", () => {
  const fine = { amount: amountOf("0.0000001") };
  const rejection = { code: "exceed_precision", asset: "PYUSD", precision: 6 };
  expect(create(fine, pairOf(USDG, PYUSD))).toEqual({ kind: "rejected", rejection });
  expect(create(fine, pairOf(PYUSD, USDG))).toEqual({ kind: "rejected", rejection });
  const finer = { amount: amountOf("0.000000001") };
  const [usdp, named] = [asset("USDP", "stablecoin", 8), { code: "exceed_precision", precision: 8 }];
  expect(create(finer, pairOf(usdp, USDG))).toEqual({ kind: "rejected", rejection: { ...named, asset: "USDP" } });
  expect(create(finer, pairOf(USDG, usdp))).toEqual({ kind: "rejected", rejection: { ...named, asset: "USDG" } });
  expect(create({ amount: amountOf("0.01") })).toMatchObject({ kind: "done" });
});

const full = [...ROWS, accountRow(receiver, "USDG", { trading: "99999999999999999999999999990" })];

/** In the order of the checks: each request also breaks all rules behind the one that rejects it. */
test.each<[string, Partial<ConversionRequest>, ReturnType<typeof pairOf>, object]>([
  [
    "another customer's payer",
    { profileId: theirs.id, recipientProfileId: idle.id },
    undefined,
    { code: "profile_not_found", profileId: theirs.id },
  ],
  [
    "an inactive payer",
    { profileId: idle.id, recipientProfileId: theirs.id },
    undefined,
    { code: "profile_not_found", profileId: idle.id },
  ],
  [
    "another customer's recipient",
    { recipientProfileId: theirs.id },
    undefined,
    { code: "profile_not_found", profileId: theirs.id },
  ],
  [
    "an inactive recipient",
    { recipientProfileId: idle.id },
    undefined,
    { code: "profile_not_found", profileId: idle.id },
  ],
  [
    "a pair that there is not",
    { amount: "too_precise" },
    undefined,
    { code: "unknown_pair", sourceAsset: "USD", targetAsset: "USDG", stablecoins: COINS },
  ],
  ["too many decimals", { amount: amountOf("10.001") }, pairOf(USD, USDG), { code: "exceed_precision" }],
  ["one unit more than there is", { amount: amountOf("10.01") }, pairOf(USD, USDG), { code: "insufficient_funds" }],
  ["a recipient without room", {}, pairOf(USD, USDG), { code: "balance_too_large", profileId: receiver.id }],
])("%s is rejected before the checks that follow", (_what, request, pair, rejection) => {
  const decision = decideConversion({ ...MINT, ...request }, ID, pair, COINS, stateOf(...full));
  expect(decision).toMatchObject({ kind: "rejected", rejection });
});

test.each([
  ["without a recipient", undefined],
  ["with another profile as recipient", receiver.id],
])("room is asked for where the target goes: %s", (_what, recipientProfileId) => {
  const [crowded, other] = recipientProfileId === undefined ? [payer, receiver] : [receiver, payer];
  const limit = { available: "99999999999999999999999999999.99" };
  const at = (profile: Profile) =>
    create({ recipientProfileId }, pairOf(USD, USDG), [...ROWS, accountRow(profile, "USDG", limit)]);
  expect(at(crowded)).toMatchObject({ kind: "rejected", rejection: { profileId: crowded.id, asset: "USDG" } });
  expect(at(other)).toMatchObject({ kind: "done" });
});

const key = keyOf(conversionTable, `${payer.id}/${ID}`);
const stateWith = (conversion: Conversion) => stateOf(...ROWS, [conversionTable, key.key, conversion]);
const settle = (conversion: Partial<Conversion> = {}, now = NOW) =>
  decideSettlement(key, ID, stateWith({ ...created, ...conversion }), now);
const cancel = (conversion: Partial<Conversion> = {}, now = NOW) =>
  decideCancel(key, ID, stateWith({ ...created, ...conversion }), now);

test.each([
  [
    "a mint",
    USD,
    USDG,
    [
      ...["payer pending -10 USD", "receiver available 10 USDG"],
      ...["reserve:USDG:default available 10 USD", "issuance available -10 USDG"],
    ],
  ],
  [
    "a redemption",
    USDG,
    USD,
    [
      ...["payer pending -10 USDG", "receiver available 10 USD"],
      ...["reserve:USDG:default available -10 USD", "issuance available 10 USDG"],
    ],
  ],
  [
    "a change of coins",
    USDG,
    PYUSD,
    [
      ...["payer pending -10 USDG", "receiver available 10 PYUSD"],
      ...["reserve:USDG:default available -10 USD", "issuance available 10 USDG"],
      ...["reserve:PYUSD:default available 10 USD", "issuance available -10 PYUSD"],
    ],
  ],
])("the settlement of %s moves what its sides and the reserves need", (_what, source, target, entries) => {
  const assets = { sourceAsset: source.code, targetAsset: target.code };
  expect(entriesOf(settle(assets))).toEqual(entries);
  const { changes } = settle(assets) as Accepted<unknown>;
  const moved = changes.journals?.[0]?.entries.map((each) => accountKey(each.owner, each.asset).key);
  expect(closingKeys({ ...created, ...assets }).map((each) => each.key)).toEqual(moved);
});

test("without a recipient the target goes to the payer", () => {
  expect(entriesOf(settle({ recipientProfileId: undefined }))[1]).toBe("payer available 10 USDG");
});

test("a settlement and a cancel close the conversion, and its recipient is awaited by one less", () => {
  const settled = { ...created, status: "SETTLED", updatedAt: NOW, settledAt: NOW } as const;
  const noLonger = change(profileTable, { ...receiver, incomingCount: 3 });
  expect(settle()).toMatchObject({
    kind: "done",
    value: settled,
    changes: {
      states: [change(conversionTable, settled), noLonger],
      journals: [{ id: siblingId(ID), cause: "conversion_settled" }],
    },
  });
  const cancelled = { ...created, status: "CANCELLED", updatedAt: NOW, cancelledAt: NOW } as const;
  expect(cancel()).toMatchObject({
    kind: "done",
    value: cancelled,
    changes: {
      states: [change(conversionTable, cancelled), noLonger],
      journals: [{ id: siblingId(ID), cause: "conversion_cancelled" }],
    },
  });
  expect(entriesOf(cancel())).toEqual(["payer pending -10 USD", "payer available 10 USD"]);
});

test.each([undefined, payer.id])(
  "closing a conversion with the recipient %s changes no profile",
  (recipientProfileId) => {
    for (const decision of [settle({ recipientProfileId }), cancel({ recipientProfileId })]) {
      expect(decision.kind === "done" && decision.changes.states).toHaveLength(1);
    }
  },
);

test.each(["SETTLED", "CANCELLED"] as const)("one that is %s is not closed again", (status) => {
  expect([settle({ status }), cancel({ status })]).toEqual([
    { kind: "rejected", rejection: { code: "conversion_not_settleable", status } },
    { kind: "rejected", rejection: { code: "conversion_not_cancellable", status } },
  ]);
});

test("one that is not there is not found", () => {
  const rejected = { kind: "rejected", rejection: { code: "conversion_not_found", conversionId: ID } };
  expect([decideSettlement(key, ID, stateOf(), NOW), decideCancel(key, ID, stateOf(), NOW)]).toEqual([
    rejected,
    rejected,
  ]);
});

test("by a clock that is behind nothing is closed before it was created", () => {
  const early = (instantOf(ID) - 5_000) as Instant;
  const at = created.createdAt;
  expect(settle({}, early)).toMatchObject({ value: { settledAt: at, updatedAt: at } });
  expect(cancel({}, early)).toMatchObject({ value: { cancelledAt: at, updatedAt: at } });
});
