/** How facts become rows, what a cut says of them, and which id each has (docs/decisions/0036-events.md). */
import { expect, test } from "vitest";
import type { CustomerId } from "../customers/customer-id.ts";
import { countRows, digestOfFacts, eventIdOf, numberIn, readEntries, rowsOf } from "./event-rows.ts";
import type { Fact } from "./facts.ts";

const [acme, shop] = ["acme", "shop"] as [CustomerId, CustomerId];
const FACT: Fact = {
  customerId: acme,
  type: "execution.created",
  objectId: "17",
  version: undefined,
  state: undefined,
};
const OTHERS: readonly Partial<Fact>[] = [
  { customerId: shop },
  { type: "order.open" },
  { objectId: "18" },
  { version: 1n },
];
const many = (count: number): Fact[] =>
  Array.from({ length: count }, (_, i) => ({ ...FACT, objectId: `${1_000 + i}` }));

test("a cut's digest is another one if anything of any of its events is, or their order, or what is one of them", () => {
  const facts = many(1_200);
  const digests = [digestOfFacts(facts)];
  for (const place of [0, 499, 500, 1_199])
    for (const other of OTHERS) digests.push(digestOfFacts(facts.with(place, { ...(facts[place] as Fact), ...other })));
  digests.push(digestOfFacts(facts.toReversed()), digestOfFacts(facts.slice(0, -1)), digestOfFacts([]));
  digests.push(digestOfFacts([FACT, FACT]), digestOfFacts([FACT]));
  expect(new Set(digests.map((digest) => digest.toString("hex"))).size).toBe(digests.length);
  expect(digestOfFacts(many(1_200))).toEqual(digests[0]);
});

test("an event's id has its number, and is another one if its customer, type, object or version is", () => {
  const entry = { ...FACT, number: 0xabcdef012345n };
  const idOf = ({ customerId, ...event }: typeof entry) => eventIdOf(customerId, event);
  const found = [entry, ...OTHERS.map((other) => ({ ...entry, ...other })), { ...entry, number: 7n }].map(idOf);
  expect(new Set(found).size).toBe(6);
  expect(found.map(numberIn)).toEqual([...Array.from({ length: 5 }, () => entry.number), 7n]);
  // RFC 9562, section 5.8.
  for (const id of found) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("rows have 500 events at most, of what never changes or of one version, numbered on for each customer", () => {
  const version = (n: bigint): Fact => ({
    ...FACT,
    type: "order.open",
    objectId: "bid",
    version: n,
    state: { n: `${n}` },
  });
  const facts = [...many(501), version(1n), version(1n), version(2n), FACT, { ...FACT, customerId: shop }];
  const rows = rowsOf(facts, new Map([[acme, 10n]]));
  expect(
    rows.map(({ customerId, firstNumber, count, objectId }) => [customerId, firstNumber, count, objectId]),
  ).toEqual([
    [acme, 11n, 500, undefined],
    [acme, 511n, 1, undefined],
    [acme, 512n, 2, "bid"],
    [acme, 514n, 1, "bid"],
    [acme, 515n, 1, undefined],
    [shop, 1n, 1, undefined],
  ]);
  const entries = rows.flatMap((row) => readEntries(row).map((entry) => ({ ...entry, customerId: row.customerId })));
  expect(entries.map(({ number: _, ...fact }) => fact)).toEqual(facts);
  expect(entries.map(({ number }) => number)).toEqual([...facts.slice(0, -1).map((_, i) => BigInt(11 + i)), 1n]);
  const numbers = new Map<CustomerId, bigint>();
  countRows(numbers, rows);
  expect(numbers).toEqual(
    new Map([
      [acme, 515n],
      [shop, 1n],
    ]),
  );
});
