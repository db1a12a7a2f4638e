import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LANE_TABLES } from "./lane-tables.ts";

const MIGRATIONS = new URL("../../migrations/", import.meta.url);

/** The columns that a migration adds to tables that are there, as `table.column`. */
function addedColumns(migration: string): string[] {
  const alterations = migration.matchAll(/\balter table (\w+)([^;]*)/gi);
  return [...alterations].flatMap(([, table, changes = ""]) =>
    [...changes.matchAll(/\badd column (?:if not exists )?(\w+)/gi)].map(([, column]) => `${table}.${column}`),
  );
}

/** By `table.column`, the number of the migration that added it; of the others the first did. */
function additions(): Map<string, number> {
  const files = readdirSync(MIGRATIONS).filter((name) => /^[0-9]{4}-.*\.sql$/.test(name));
  return new Map(
    files.flatMap((name) =>
      addedColumns(readFileSync(new URL(name, MIGRATIONS), "utf8")).map((column): [string, number] => [
        column,
        Number(name.slice(0, 4)),
      ]),
    ),
  );
}

test("a column that was added to a table whose rows change is described with addedBy and its migration", () => {
  const added = additions();
  for (const { name, columns } of LANE_TABLES.states) {
    const described = columns.map((column) => [`${name}.${column.name}`, column.since]);
    const migrated = columns.map((column) => [`${name}.${column.name}`, added.get(`${name}.${column.name}`) ?? 1]);
    expect(described).toEqual(migrated);
  }
});

test("columns are found in whatever form a migration adds them", () => {
  const migration = `
    alter table orders add column purpose text;
    ALTER TABLE conversion
      ADD COLUMN IF NOT EXISTS memo text,
      add column label text;
    alter table transfer add constraint memo_is_short check (length(memo) < 100);
    create index orders_purpose on orders (customer_id, purpose, id);`;
  expect(addedColumns(migration)).toEqual(["orders.purpose", "conversion.memo", "conversion.label"]);
});
