/**
 * Every column of every table that verify covers is changed once, in one row, as the owner; then every table has a row
 * removed, and one added. Each time some finding names the row that was touched, or the batch that it is of.
 */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type MarketHead, marketHeadKey, marketHeadTable } from "../../src/exchange/market-state.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { change } from "../../src/ledger/tables.ts";
import { amountOf } from "../../src/money/amount.ts";
import { LANE_TABLES } from "../../src/verify/lane-tables.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { startLane, TESTER } from "../support/movements.ts";
import { COLUMNS_NOT_COVERED, COVERED, NOT_COVERED } from "./covered-tables.ts";
import { makeSmallBooks } from "./small-ledger.ts";
import { keepUntouched } from "./untouched.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
  const books = await makeSmallBooks(db.database);
  for (let cut = 0; cut < 4; cut += 1) {
    await books.publish();
    await books.transfer("1");
  }
  await books.close();
  const { lane } = await startLane(db.database);
  await lane.execute(openHead());
  await lane.stop();
  await keepUntouched(db.owner);
  // Who owns the tables can take their constraints away first.
  await db.owner.rows(
    `do $$ declare c record; begin
       for c in select conrelid::regclass as of_table, conname from pg_constraint
                 where conrelid::regclass::text = any('{${COVERED}}') and contype in ('c', 'f') loop
         execute format('alter table %s drop constraint %I', c.of_table, c.conname);
       end loop; end $$`,
  );
});
afterAll(() => db.close());

/** What an engine notes of its market. */
function openHead(): Command<undefined, never> {
  const market = "BTCUSD" as MarketHead["market"];
  const lastExecutionId = 7n as MarketHead["lastExecutionId"];
  const head = { market, fence: 1n, lastPrice: amountOf("20000"), lastExecutionId, lastSequence: 2n, version: 0n };
  return {
    queueKey: "house",
    caller: TESTER,
    dependsOn: [marketHeadKey(market)],
    decide: () => accept(undefined, { states: [change(marketHeadTable, head)] }),
  };
}

test("every table of the schema is covered, or listed with a reason", async () => {
  const tables = await db.owner.rows<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
  );
  expect(tables.map(({ name }) => name)).toEqual([...COVERED, ...Object.keys(NOT_COVERED)].sort());
});

test("verify has the description of every table whose rows say which batch wrote them", async () => {
  const tables = await db.owner.rows<{ name: string }>(
    `select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid and attname = 'batch'
      where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`,
  );
  const digested = LANE_TABLES.states.filter((table) => table.digested);
  const described = [...LANE_TABLES.records, ...digested].map(({ name }) => name);
  expect(described.sort()).toEqual(tables.map(({ name }) => name));
});

test("a row that only batches write names its batch, or the database rejects it", async () => {
  const nullable = await db.owner.rows<{ name: string }>(
    `select distinct relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
      where relnamespace = 'public'::regnamespace and relkind = 'r' and attname in ('slot', 'batch') and not attnotnull`,
  );
  const openedOutsideBatches = LANE_TABLES.states.filter((table) => table.openedOutsideBatches);
  expect(nullable).toEqual(openedOutsideBatches.map(({ name }) => ({ name })));
});

test("docs/checkpoints.md states for every table whether it is covered", async () => {
  const page = await readFile(new URL("../../docs/checkpoints.md", import.meta.url), "utf8");
  const [, covered = "", notCovered = ""] = /\n\| tables \| \|\n(.*?) \| covered,(.*?)\n\n/s.exec(page) ?? [];
  const missing = (tables: readonly string[], text: string) =>
    tables.filter((name) => !RegExp(`\\b${name}\\b`).test(text));
  expect(missing(COVERED, covered)).toEqual([]);
  expect(missing(Object.keys(NOT_COVERED), notCovered)).toEqual([]);
});

test.each(COVERED)("every column of %s", async (table) => {
  const unseen: string[] = [];
  for (const column of await columnsOf(table)) {
    const row = await pickRow(table, column.name);
    const sql = `update ${table} set ${column.name} = ${otherValue(column)} where ${row.where}`;
    if (!(await isSeen(table, row, sql))) unseen.push(`${table}.${column.name}`);
  }
  expect(unseen).toEqual(Object.keys(COLUMNS_NOT_COVERED).filter((name) => name.startsWith(`${table}.`)));
});

test.each(COVERED)("a row of %s is removed, another added", async (table) => {
  const [key = ""] = await keysOf(table);
  const row = await pickRow(table, key);
  expect(await isSeen(table, row, `delete from ${table} where ${row.where}`)).toBe(true);
  const again = await pickRow(table, key);
  const added = (await columnsOf(table)).map((column) => {
    if (column.name === key) return otherValue(column);
    // A customer has one DEFAULT profile.
    return column.name === "kind" && table === "profile" ? "'NORMAL'" : column.name;
  });
  const sql = `insert into ${table} select ${added} from ${table} where ${again.where}`;
  expect(await isSeen(table, again, sql)).toBe(true);
});

const NEW_ID = "00000000-0000-7000-8000-00000000abcd";
const NEW_TEXT = "XXX";
/** A changed key or an added row may be named in a finding by its new values. */
const NEW_NAMES = [NEW_ID, NEW_TEXT, "batch 1001/"];

interface Column {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[] | null;
}

interface Row {
  readonly where: string;
  /** What a finding may call it by. */
  readonly names: readonly string[];
}

function columnsOf(table: string): Promise<Column[]> {
  return db.owner.rows<Column>(
    `select a.attname as name, coalesce(nullif(t.typbasetype, 0), t.oid)::regtype::text as type,
            (select array_agg(e.enumlabel::text order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid) as labels
       from pg_attribute a join pg_type t on t.oid = a.atttypid
      where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    [table],
  );
}

async function keysOf(table: string): Promise<string[]> {
  const rows = await db.owner.rows<{ name: string }>(
    `select a.attname as name from pg_index i cross join lateral unnest(i.indkey) with ordinality k(attnum, place)
       join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      where i.indrelid = $1::regclass and i.indisprimary order by k.place`,
    [table],
  );
  return rows.map(({ name }) => name);
}

/** A row in which this column has a value, if there is one. It is known by where it lies: the tampering moves it once. */
async function pickRow(table: string, column: string): Promise<Row> {
  const keys = await keysOf(table);
  const batch =
    table === "batch"
      ? "n"
      : ["account", "booked_order", "claim", "event", "event_cut", "pending_order"].includes(table)
        ? "null"
        : "batch";
  const [row] = await db.owner.rows<{ ctid: string; batch: string | null; keys: string[] }>(
    `select ctid::text, ${batch}::text as batch, array[${keys.map((key) => `${key}::text`)}] as keys from ${table}
      order by ${column} is null, ${keys} offset ${table === "batch" ? 3 : 0} limit 1`,
  );
  if (row === undefined) throw new Error(`the ledger has a row of ${table}`);
  const named = table === "batch" ? [] : row.keys.filter((key) => key.length > 3);
  const batches = row.batch === null ? [] : [`batch 1/${row.batch}`];
  return {
    where: `ctid = '${row.ctid}'`,
    names: [`${table} ${row.keys.join("/")}`, ...named, ...batches, ...NEW_NAMES],
  };
}

test("the events of a customer are all numbered otherwise: they begin at 1", async () => {
  const row = await pickRow("event", "first_number");
  expect(await isSeen("event", row, "update event set first_number = first_number + 1000")).toBe(true);
});

/** Something else of the same type, as SQL. */
function otherValue({ name, type, labels }: Column): string {
  if (labels !== null)
    return `(case when ${name} = '${labels[0]}' then '${labels[1]}' else '${labels[0]}' end)::${type}`;
  switch (type) {
    case "uuid":
      return `'${NEW_ID}'`;
    case "text":
      return `'${NEW_TEXT}'`;
    case "boolean":
      return `not ${name}`;
    case "timestamp with time zone":
      return `coalesce(${name}, '2026-01-01Z') - interval '1 millisecond'`;
    case "date":
      return `${name} - 1`;
    case "json":
    case "jsonb":
      return `'{"a": "b"}'`;
    case "bytea":
      return "sha256('x')";
    case "smallint[]":
    case "bigint[]":
      return `array_fill(1001, array[cardinality(${name})])::${type}`;
    case "numeric":
      // A rate has 4 decimals.
      if (name === "taker_rate" || name === "maker_rebate") return `${name} + 0.0001`;
      return `coalesce(${name}, 0) + 0.000000000000000001`;
    default:
      return `coalesce(${name}, 0) + 1000`;
  }
}

/** Whether verify finds anything; if so, the row has to be among what it names. */
async function isSeen(table: string, { names }: Row, sql: string): Promise<boolean> {
  await db.owner.rows(sql);
  const { checks, sound } = await verifyAll(db.database);
  await db.owner.rows(`delete from ${table}; insert into ${table} table untouched.${table}`);
  const found = checks.flatMap(({ first }) => first ?? []).map(({ record, message }) => `${record} ${message}`);
  const isNamed = sound || found.some((text) => names.some((name) => text.includes(name)));
  expect(isNamed, `${sql}: ${names.join(" or ")} is not in\n${found.join("\n")}`).toBe(true);
  return !sound;
}
