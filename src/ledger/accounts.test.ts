import { expect, test } from "vitest";
import { type Amount, amountOf, negative } from "../money/amount.ts";
import { type AssetCode, USD } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import { IdSource, type Uuid } from "../std/id.ts";
import {
  accountKey,
  accountTable,
  applyEntry,
  emptyAccount,
  entry,
  journal,
  PARTS,
  type ProfileId,
  postedAt,
  shortfall,
  totalOf,
} from "./accounts.ts";
import { reserveOf } from "./house-accounts.ts";

const ids = new IdSource();
const profile = ids.next() as Uuid as ProfileId;
const BTC = "BTC" as AssetCode;
const ONE = amountOf("1");
const HOUSES = ["world", reserveOf("USDG" as AssetCode), "issuance", "fees"] as const;

test("a journal that does not sum to zero in each of its assets is a bug", () => {
  const id = ids.next();
  expect(() => journal(id, "transfer", [entry(profile, USD, ONE)])).toThrow("sums to zero in USD");
  const crossed = [entry(profile, USD, ONE), entry("world", BTC, negative(ONE))];
  expect(() => journal(id, "transfer", crossed)).toThrow("sums to zero in USD");
  const nearly = [entry(profile, USD, ONE), entry("world", USD, (1n - ONE) as Amount)];
  expect(() => journal(id, "transfer", nearly)).toThrow("not to 1");
});

test("entries of zero are left out of a journal", () => {
  const entries = [entry(profile, USD, ONE), entry("world", USD, negative(ONE)), entry("fees", USD, amountOf("0"))];
  expect(journal(ids.next(), "deposit", entries).entries).toEqual(entries.slice(0, 2));
});

test("an entry changes its own part and increments the account's version", () => {
  const funded = applyEntry(emptyAccount(profile, USD, 1), entry(profile, USD, ONE));
  const held = applyEntry(applyEntry(funded, entry(profile, USD, negative(ONE))), entry(profile, USD, ONE, "trading"));
  expect(held).toMatchObject({ available: 0n, trading: ONE, pending: 0n, version: 3n });
  expect(totalOf(held)).toBe(ONE);
  expect(shortfall(held, ONE)).toBe(ONE);
});

test("an entry leaves the other parts and all else of an account as they were, and so does the time of its posting", () => {
  const parts = { available: amountOf("1"), trading: amountOf("2"), pending: amountOf("4") };
  const account = { ...emptyAccount(profile, USD, 1, 5n), ...parts, version: 7n };
  for (const part of PARTS) {
    const after = { ...account, [part]: amountOf("0.5"), version: 8n };
    const amount = (after[part] - account[part]) as Amount;
    expect(applyEntry(account, entry(profile, USD, amount, part))).toEqual(after);
  }
  expect(postedAt(account, 9_000 as Instant)).toEqual({ ...account, at: 9_000 });
});

test("no part of a profile goes one unit below zero", () => {
  const account = emptyAccount(profile, USD, 1);
  const unit = -1n as Amount;
  for (const part of ["available", "trading", "pending"] as const) {
    expect(() => applyEntry(account, entry(profile, USD, unit, part))).toThrow("stays at or above zero");
  }
});

test("house accounts other than fees may go below zero, but only in available", () => {
  const unit = -1n as Amount;
  for (const house of HOUSES) {
    const take = (): unknown => applyEntry(emptyAccount(house, USD, 1), entry(house, USD, unit));
    if (house === "fees") expect(take).toThrow("stays at or above zero");
    else expect(take()).toMatchObject({ available: -1n });
    expect(() => applyEntry(emptyAccount(house, USD, 1), entry(house, USD, unit, "trading"))).toThrow();
  }
});

test("an entry of another asset is never applied to an account", () => {
  expect(() => applyEntry(emptyAccount(profile, USD, 1), entry(profile, BTC, ONE))).toThrow("an account of its asset");
});

test("the key of an account maps to its row's columns and back", () => {
  for (const owner of [profile, ...HOUSES]) {
    const { key } = accountKey(owner, USD);
    const account = emptyAccount(owner, USD, 7);
    expect(accountTable.keyOf(account)).toBe(key);
    expect(accountTable.keyValues(key, 7)).toEqual([account.ownerId, USD]);
  }
});
