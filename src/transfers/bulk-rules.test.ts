import { expect, test } from "vitest";
import { accountRow, profileOf, profileRow, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { amountOf, formatAmount } from "../money/amount.ts";
import type { Asset, AssetCode } from "../money/asset.ts";
import { IdSource } from "../std/id.ts";
import { type BulkItem, decideAll, existing, existingOfAll, type PreparedItem, tryAll } from "./bulk-rules.ts";
import type { FoundTransfer } from "./store.ts";
import type { Transfer, TransferRecord } from "./transfer.ts";

const acme = "acme" as CustomerId & string;
const ids = new IdSource();
const USD: Asset = { code: "USD" as AssetCode, kind: "fiat", precision: 2 };
const names = { a: profileOf(acme), b: profileOf(acme), c: profileOf(acme) };
/** `a` has 10 USD, `b` an empty account, and `c` none. */
const STATE = stateOf(
  ...Object.values(names).map(profileRow),
  accountRow(names.a, "USD", { available: "10" }),
  accountRow(names.b, "USD", {}),
);

/** Of "a b 4": 4 USD from `a` to `b`. Its ref_id is the same text. */
function prepared(text: string): PreparedItem {
  const [from = "a", to = "b", amount = "1"] = text.split(" ") as (keyof typeof names)[];
  const request = {
    ...{ customerId: acme, kind: "internal" as const, amount: amountOf(amount), asset: "USD", refId: text },
    ...{ from: { profileId: names[from].id }, to: { profileId: names[to].id } },
  };
  return { request, id: ids.next(), asset: USD };
}

const all = (...texts: string[]): PreparedItem[] => texts.map(prepared);
const needed = (available: string, more: string) => ({
  code: "insufficient_funds",
  profileId: names.a.id,
  asset: "USD",
  ...{ available: amountOf(available), needed: amountOf(more) },
});

test("each item is decided on what those before it leave, to exactly zero", () => {
  const items = all("a b 4", "b c 4", "c a 1", "a b 7");
  const decision = decideAll(items, STATE);
  expect(decision.kind === "done" && decision.value.map(({ amount, id }) => [formatAmount(amount), id])).toEqual(
    [4, 4, 1, 7].map((amount, i) => [String(amount), items[i]?.id]),
  );
  expect(decision.kind === "done" && [decision.changes.journals?.length, decision.changes.records?.length]).toEqual([
    4, 4,
  ]);
});

test("the first item that is one unit short rejects all, with its index", () => {
  expect(decideAll(all("a b 4", "a c 6", "a b 0.01", "a b 99"), STATE)).toEqual({
    kind: "rejected",
    rejection: { code: "item_rejected", index: 2, because: needed("0", "0.01") },
  });
});

test("a trial says of each item what would become of it, or of the first that is rejected alone", () => {
  const items = all("a b 4", "a c 7", "a b 6");
  const outcomes = (mode: "independent" | "atomic") =>
    tryAll(items, mode, STATE).rejection.outcomes.map((outcome) =>
      outcome.kind === "rejected" ? outcome.rejection : outcome.kind,
    );
  expect(outcomes("independent")).toEqual(["done", needed("6", "7"), "done"]);
  expect(outcomes("atomic")).toEqual(["not_tried", needed("6", "7"), "not_tried"]);
});

/** What has the ref_id of an item, and moved the same, but for `changes`. */
function found({ from, to, refId }: BulkItem, changes: Partial<Transfer> = {}): FoundTransfer {
  const same = { type: "INTERNAL_TRANSFER" as const, fromProfileId: from.profileId, toProfileId: to.profileId };
  const annotations = { fromAnnotations: {}, toAnnotations: {} };
  const transfer = {
    ...same,
    ...annotations,
    amount: amountOf(refId.slice(4)),
    asset: "USD",
    refId,
    ...changes,
  } as Transfer;
  return { transfer, record: { refId } as TransferRecord, history: "h" };
}

const bulkItems = (...texts: string[]): BulkItem[] => all(...texts).map(({ request }) => request as BulkItem);

test("of an atomic bulk all items exist, or the first that does leaves the others untried", () => {
  const [one, two, three] = bulkItems("a b 1", "a b 2", "a b 3") as [BulkItem, BulkItem, BulkItem];
  const outcomes = (...its: FoundTransfer[]): unknown[] =>
    existingOfAll([one, two, three], new Map(its.map((each) => [each.record.refId ?? "", each]))).map((outcome) =>
      outcome.kind === "exists" ? [outcome.record.refId, outcome.isSame] : outcome.kind,
    );
  expect(outcomes(found(three), found(one), found(two))).toEqual([
    ["a b 1", true],
    ["a b 2", true],
    ["a b 3", true],
  ]);
  expect(outcomes(found(three), found(two))).toEqual(["not_tried", ["a b 2", true], "not_tried"]);
  const other = { amount: amountOf("9") };
  expect(outcomes(found(one), found(two), found(three, other))).toEqual(["not_tried", "not_tried", ["a b 3", false]]);
});

test("what has an item's ref_id is the same only if it moved as much of the asset between the same end users' profiles", () => {
  const [item] = bulkItems("a b 1") as [BulkItem];
  const isSame = (changes: Partial<Transfer>): boolean => existing(item, found(item, changes)).isSame;
  expect(isSame({ toAnnotations: { metadata: { note: "another" } } })).toBe(true);
  const others: Partial<Transfer>[] = [
    { type: "PLATFORM_TRANSFER" },
    { type: "WIRE_DEPOSIT", fromProfileId: undefined },
    { fromProfileId: names.c.id },
    { toProfileId: names.c.id },
    { fromAnnotations: { accountId: "another" } },
    { fromAnnotations: { identityId: "another" } },
    { toAnnotations: { accountId: "another" } },
    { toAnnotations: { identityId: "another" } },
    { asset: "EUR" as AssetCode },
    { amount: amountOf("1.01") },
  ];
  expect(others.map(isSame)).toEqual(others.map(() => false));
});
