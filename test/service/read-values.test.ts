/** How values of the database are read: exactly, and whatever somebody has written there. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

async function timesOf(...texts: string[]): Promise<number[]> {
  const rows = await db.database.rows<{ at: number }>(
    "select text::timestamptz as at from unnest($1::text[]) with ordinality as t (text, place) order by place",
    [texts],
  );
  return rows.map(({ at }) => at);
}

test("times are milliseconds since 1970, each its own, of the first year and of the last one too", async () => {
  const texts = ["2026-11-21T20:08:02.123Z", "2026-11-21T20:08:02.124Z", "2026-11-21T20:08:02.123Z"];
  expect(await timesOf(...texts, "1969-12-31T23:59:59.999Z")).toEqual([...texts.map(Date.parse), -1]);
  const ends = ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"];
  expect(await timesOf(...ends)).toEqual(ends.map(Date.parse));
});

test("a time that is no date of ours is a time before or after all of them, and can be compared", async () => {
  const before = await timesOf("-infinity", "0044-03-15 00:00:00+00 BC");
  const after = await timesOf("infinity", "12026-11-21 20:08:02.123+00");
  const [first, last] = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"].map(Date.parse) as [number, number];
  expect(before.map((at) => Number.isFinite(at) && at < first)).toEqual([true, true]);
  expect(after.map((at) => Number.isFinite(at) && at > last)).toEqual([true, true]);
});

test("numbers without an exact value in JavaScript, and dates, are texts", async () => {
  const [row] = await db.database.rows(
    "select 9007199254740993::int8 as large, 0.1000000000000000001::numeric as exact, '2026-11-21'::date as day, 7::int4 as small",
  );
  expect(row).toEqual({ large: "9007199254740993", exact: "0.1000000000000000001", day: "2026-11-21", small: 7 });
});
