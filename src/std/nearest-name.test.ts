import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const KNOWN = [
  ...["profile_ids", "ids", "ref_ids", "crypto_tx_hashes", "type", "order", "order_by", "page_cursor"],
  ...["range.begin", "range.end", "created_at.lt", "created_at.gte", "recipient_profile_id"],
];

test.each([
  ["profile_id", "profile_ids"],
  ["profileIds", "profile_ids"],
  ["PROFILE-IDS", "profile_ids"],
  ["id", "ids"],
  ["ids[0]", "ids"],
  ["range[begin]", "range.begin"],
  ["created_at[gte]", "created_at.gte"],
  ["created_at", "created_at.lt"],
  ["range", "range.begin"],
  ["cryptoTxHash", "crypto_tx_hashes"],
  ["orderBy", "order_by"],
  ["oder", "order"],
  ["cursor_page", undefined],
  ["recipent_profile_id", "recipient_profile_id"],
  ["colour", undefined],
  ["[]", undefined],
  ["", undefined],
  // The character has two code units, and takes one edit.
  ["ids💶", "ids"],
  ["profile_ids".padEnd(48, "[]"), "profile_ids"],
  ["profile_ids".padEnd(49, "]"), undefined],
  // Three edits are a third of nine letters, and more than a third of eight.
  ["pagecorso", "page_cursor"],
  ["pagecurs", undefined],
])("%j is near to %j", (wrong, near) => {
  expect(nearestName(wrong, KNOWN)).toBe(near);
});

test("the caller says how many edits there may be", () => {
  expect([0, 1].map((most) => nearestName("oder", KNOWN, most))).toEqual([undefined, "order"]);
});

test("without any known name none is near", () => {
  expect(nearestName("ids", [])).toBe(undefined);
});

test.each([
  ["long", "created_at.gtex".repeat(3)],
  ["as long as known ones", "creatdd_at.gtzzzzz"],
])("thousands of wrong names, %s, are compared in a moment", (_, wrong) => {
  const names = Array.from({ length: 20_000 }, (_, at) => wrong + (at % 10));
  // Of CPU: others may keep the machine busy.
  const before = process.cpuUsage();
  expect(new Set(names.map((name) => nearestName(name, KNOWN)))).toEqual(new Set([undefined]));
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
});
