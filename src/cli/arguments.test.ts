import { expect, test } from "vitest";
import { amountOf } from "../money/amount.ts";
import {
  readAddress,
  readAmount,
  readCustomer,
  readCustomerName,
  readDuration,
  readEventNumber,
  readHash,
  readHours,
  readList,
  readNetworks,
  readOutputIndex,
  readPath,
  readPosition,
  readRate,
  readReference,
  readScopes,
  readText,
  readTier,
  readTime,
} from "./arguments.ts";

test("a duration is a number with a unit, or 0", () => {
  expect(["0", "90s", "15m", "24h", "7d"].map(readDuration)).toEqual([0, 90_000, 900_000, 86_400_000, 604_800_000]);
  for (const wrong of ["", "5", "-1h", "1.5h", "1w", "h", " 1h", "123456s"]) {
    expect(() => readDuration(wrong), wrong).toThrow("Must be a duration such as 90s, 15m, 24h or 7d.");
  }
});

test("scopes are comma-separated and known, duplicates are dropped, and * means all", () => {
  expect(readScopes("*")).toEqual(["*"]);
  expect(readScopes("exchange:read_order, transfer:read_transfer,exchange:read_order")).toEqual([
    "exchange:read_order",
    "transfer:read_transfer",
  ]);
  expect(() => readScopes("exchange:read_order,all")).toThrow('"all" is not a scope. Use * for all, or one or more of');
  expect(() => readScopes("")).toThrow('"" is not a scope.');
  expect(() => readScopes("*,exchange:read_order")).toThrow('"*" is not a scope.');
});

test("an amount is decimal text above 0 and below 10^18; the precision is left to the asset", () => {
  expect(readAmount("100.50")).toEqual({ text: "100.50", value: amountOf("100.5") });
  const tiny = `0.${"0".repeat(18)}1`;
  expect(readAmount(tiny)).toEqual({ text: tiny, value: "too_precise" });
  for (const wrong of ["0", "-1", "1e3", "1,5", "", "1000000000000000000"]) {
    expect(() => readAmount(wrong), wrong).toThrow("Must be a decimal number");
  }
});

test("a rate is a share from 0 to 0.1, with at most 4 decimals, so that 0.35 % cannot be given as 0.35", () => {
  expect(["0", "0.0035", "0.09990", ".1"].map(readRate)).toEqual(["0", "0.0035", "0.0999", "0.1"].map(amountOf));
  for (const wrong of ["1", "0.35", "0.1001", "0.00351", "-0.0001", "0.35%", "1e-4", "", " 0.1"]) {
    expect(() => readRate(wrong), wrong).toThrow(
      "Must be a share from 0 to 0.1 with at most 4 decimals, such as 0.0035 for 0.35 %",
    );
  }
});

test("a tier is its minimum volume, taker rate and maker rebate", () => {
  const tier = { minimumGross: amountOf("1000000.5"), takerRate: amountOf("0.0018"), makerRebate: amountOf("0") };
  expect(readTier("1000000.50:0.0018:0")).toEqual(tier);
  expect(readTier("0:0.0018:0").minimumGross).toBe(0n);
  for (const wrong of [
    "",
    "x:0.1:0",
    "-1:0.1:0",
    "0:0.1:0:0",
    `0.${"0".repeat(18)}1:0.1:0`,
    "1000000000000000000:0.1:0",
  ]) {
    expect(() => readTier(wrong), wrong).toThrow("Must be 30-day volume:taker rate:maker rebate");
  }
  for (const wrong of ["0", "0:0.1", "0:0.00351:0", "0:0.1:-0.1"]) {
    expect(() => readTier(wrong), wrong).toThrow("Must be a share");
  }
});

test("a text has 1 to 100 characters, counted as the API does, of whatever script", () => {
  expect(readText("\u{1f7e1}".repeat(100))).toHaveLength(200);
  expect(readText("x".repeat(100))).toHaveLength(100);
  expect(() => readText("")).toThrow("Must have 1 to 100 characters.");
  expect(() => readText("x".repeat(101))).toThrow("Must have 1 to 100 characters.");
  expect(() => readText("a\0b")).toThrow("Must have 1 to 100 characters.");
});

/** What a line end of a file, or a blank that was pasted along, makes of a text: it looks the same. */
const lookAlikes = (text: string): string[] =>
  ["\r", "\n", "\t", " ", "\u00a0", "\u200b", "\ufeff"].flatMap((unseen) => [`${text}${unseen}`, `${unseen}${text}`]);

test("what is recorded once cannot be named by two texts that look the same", () => {
  expect(readReference("wire 4711/\u00e9")).toBe("wire 4711/\u00e9");
  for (const wrong of [...lookAlikes("wire-4711"), "wire\u200b4711"])
    expect(() => readReference(wrong), JSON.stringify(wrong)).toThrow("Must not have invisible characters");
  expect(() => readReference("wire 4711/e\u0301")).toThrow("Must have letters with their accents in one character");
  expect(() => readReference("x".repeat(101))).toThrow("Must have 1 to 100 characters.");

  expect(["0xAB12", "5xWq", "x".repeat(100)].map(readHash)).toEqual(["0xAB12", "5xWq", "x".repeat(100)]);
  for (const wrong of [
    ...lookAlikes("0xab12"),
    "",
    "0xab/12",
    "0x0xab12",
    "https://chain.example/0xab12",
    "x".repeat(101),
  ])
    expect(() => readHash(wrong), JSON.stringify(wrong)).toThrow("Must have 1 to 100 letters and digits");

  expect(["0", "07", "4294967295"].map(readOutputIndex)).toEqual(["0", "07", "4294967295"]);
  for (const wrong of [...lookAlikes("1"), "", "0x1", "-1", "1.0", "\u0661", "12345678901"])
    expect(() => readOutputIndex(wrong), JSON.stringify(wrong)).toThrow("Must be a whole number.");

  expect(readAddress("bitcoincash:qpm2")).toBe("bitcoincash:qpm2");
  for (const wrong of [...lookAlikes("0xA"), "", "0xA 0xB", "0x\u0410", "x".repeat(101)])
    expect(() => readAddress(wrong), JSON.stringify(wrong)).toThrow("Must have 1 to 100 ASCII characters");
});

test("a customer's name is no id, and differs from another in what can be seen", () => {
  expect(["Acme", "Acme Ltd", "M\u00fcller & S\u00f6hne", "\u{1f7e1}"].map(readCustomerName)).toEqual([
    "Acme",
    "Acme Ltd",
    "M\u00fcller & S\u00f6hne",
    "\u{1f7e1}",
  ]);
  // A sign that some take for another one is not that one.
  expect(readCustomerName("Acme \u2460 \uff21")).toBe("Acme \u2460 \uff21");
  // Two letters with their accents, each as two characters.
  const decomposed = "Mu\u0308ller & So\u0308hne";
  expect([readCustomerName(decomposed), readCustomer(decomposed)]).toEqual(Array(2).fill("M\u00fcller & S\u00f6hne"));
  for (const id of ["0190d5a4-0000-7000-8000-000000000002", "0190D5A4-0000-7000-8000-000000000002"])
    expect(() => readCustomerName(id), id).toThrow("Must not be a UUID, which commands take for an id.");
  for (const name of [
    " Acme",
    "Acme ",
    "Acme  Ltd",
    "Ac\u200bme",
    "Acme\u202e",
    "Ac\tme",
    "Acme\u00a0",
    "\u2066Acme",
    "Ac\u3164me",
  ])
    expect(() => readCustomerName(name), JSON.stringify(name)).toThrow(
      "Must not have invisible characters, or blanks at an end or beside each other.",
    );
  expect(() => readCustomerName("x".repeat(101))).toThrow("Must have 1 to 100 characters.");
});

test("hours are those that denials are kept for", () => {
  expect(["1", "24", "720"].map(readHours)).toEqual([1, 24, 720]);
  for (const wrong of ["0", "721", "1.5", "-1", "", "1h", "0x10"])
    expect(() => readHours(wrong), wrong).toThrow("Must be a whole number from 1 to 720.");
});

test("a time is RFC 3339, and digits behind its milliseconds are cut off", () => {
  expect(readTime("2026-11-21T14:05:00.123999Z")).toEqual(new Date("2026-11-21T14:05:00.123Z"));
  expect(readTime("2026-11-21T14:05:00+02:00")).toEqual(new Date("2026-11-21T12:05:00Z"));
  for (const wrong of ["2026-11-21", "2026-11-21T14:05:00", "yesterday", ""])
    expect(() => readTime(wrong), wrong).toThrow("Must be an RFC 3339 time, such as 2026-11-21T14:05:00Z.");
});

test("a path is one from the working directory", () => {
  expect([readPath("/mnt/../wal"), readPath("backups")]).toEqual(["/wal", `${process.cwd()}/backups`]);
  for (const wrong of ["", "a\0b"]) expect(() => readPath(wrong)).toThrow("Not a path.");
});

test("a batch has the position slot/number, of the last slot and the last number too", () => {
  expect(readPosition("1/4711")).toEqual({ slot: 1, batch: 4711n });
  expect(readPosition("64/999999999999999999")).toEqual({ slot: 64, batch: 999_999_999_999_999_999n });
  for (const wrong of ["1", "1/", "/1", "100/1", "1/-1", "1/1/1", "1/1234567890123456789"])
    expect(() => readPosition(wrong), wrong).toThrow("Must be a batch position, such as 1/4711.");
});

test("an event has a number from 1 on", () => {
  expect(["1", "4711", "140737488355328"].map(readEventNumber)).toEqual([1n, 4711n, 140_737_488_355_328n]);
  for (const wrong of ["0", "01", "-1", "1.0", "", "1234567890123456"])
    expect(() => readEventNumber(wrong), wrong).toThrow("Must be the number of an event.");
});

test("of a list in one text each is without the blanks around it", () => {
  expect(readList("transfer.*, order.filled ,*")).toEqual(["transfer.*", "order.filled", "*"]);
  expect(readNetworks("192.0.2.0/24, 2001:db8::/32").map(({ text }) => text)).toEqual([
    "192.0.2.0/24",
    "2001:db8::/32",
  ]);
});
