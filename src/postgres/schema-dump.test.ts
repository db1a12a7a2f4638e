import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { describeIndexes, dumpSchema } from "./schema-dump.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await testDatabase();
});

afterAll(() => db.close());

test("the dump is the same on every PostgreSQL version", async () => {
  const committed = await readFile(new URL("../../migrations/schema.sql", import.meta.url), "utf8");
  const withoutHead = committed.replace(/^(--.*\n)+\n/, "");
  expect(await dumpSchema(db.database, inject("serviceRole"))).toBe(withoutHead);
});

test("docs/schema.md says which queries each index serves", async () => {
  const document = await readFile(new URL("../../docs/schema.md", import.meta.url), "utf8");
  const [before, ...written] = document.split("| index | of | serves |\n");
  expect(before).toContain("## Indexes");
  expect(`| index | of | serves |\n${written.join()}`).toBe(`${await describeIndexes(db.database)}\n`);
});

test("every table and index has a comment, and no constraint a name that PostgreSQL made up", async () => {
  const silent = await db.database.rows<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'i') and obj_description(oid, 'pg_class') is null
     union all
     select conname from pg_constraint
      where connamespace = 'public'::regnamespace and contype <> 'n' and conname ~ '_(check|key|fkey|excl)[0-9]*$'`,
  );
  expect(silent).toEqual([]);
});

/** Columns of which the name says it all, or which the comment of another column names. */
const NEED_NO_COMMENT = new Set(
  [
    "account_id algorithm amount applied_at asset at base_amount batch cancelled_at cause client_id code count created_at",
    "crypto_tx_index customer_id day description destination_address executed_at expiration_date expires_at filled",
    "first_at first_cut from_account_id holder id identity_account_id kid kind last_at lifted_by maker_rebate market",
    "max_base_amount metadata min_quote_amount name number only_one order_id pending price priority profile_id public_jwk",
    "rebate_ceiling recipient_profile_id requested_at salt settled_at side slot source_asset status taker_rate",
    "target_asset time_in_force to_account_id to_metadata token_id trading type updated_at",
  ].flatMap((names) => names.split(" ")),
);

test("every column has a comment, unless its name is one of those that say it all", async () => {
  const silent = await db.database.rows<{ table: string; name: string }>(
    `select c.relname as table, a.attname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
        and col_description(c.oid, a.attnum) is null order by 1, 2`,
  );
  const missing = silent.filter(({ name }) => !NEED_NO_COMMENT.has(name));
  expect(missing.map(({ table, name }) => `comment on column ${table}.${name}`)).toEqual([]);
});

test("every kind of schema change changes the dump", async () => {
  const dump = (): Promise<string> => dumpSchema(db.owner, inject("serviceRole"));
  const changes = [
    "create type mood as enum ('good', 'bad')",
    "create domain percentage as numeric check (value between 0 and 100)",
    'create table thing (id uuid primary key, name text collate "C" default \'none\', "order" percentage)',
    "alter table thing alter name set not null",
    "alter table thing add check (name <> 'nothing')",
    "create unique index thing_name on thing (name) where name <> 'none'",
    `grant select, update (name) on thing to ${inject("serviceRole")}`,
    "alter table thing set (fillfactor = 70)",
    "comment on type mood is 'How it is.'",
    "comment on table thing is 'Something.'",
    `comment on column thing.name is '${"What it is called. ".repeat(8)}'`,
    "comment on index thing_name is 'A thing by its name.'",
    "comment on index thing_pkey is 'A thing by its id.'",
  ];
  for (const change of changes) {
    const before = await dump();
    await db.owner.rows(change);
    expect(await dump(), change).not.toBe(before);
  }
  expect(await dump()).toContain(`-- Something.
create table thing (
  id uuid not null,
  -- What it is called. What it is called. What it is called. What it is called. What it is called. What it is called.
  -- What it is called. What it is called.
  name text collate "C" default 'none'::text not null,
  "order" percentage,
  -- A thing by its id.
  constraint thing_pkey PRIMARY KEY (id),
  constraint thing_name_check CHECK ((name <> 'nothing'::text))
) with (fillfactor=70);
-- A thing by its name.
CREATE UNIQUE INDEX thing_name ON public.thing USING btree (name) WHERE (name <> 'none'::text);
grant select, update (name) on thing to service;`);
});
