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
