import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import { migrationsWith } from "../../test/upgrade/new-database.ts";
import { Database } from "./database.ts";
import { lastMigration, migrate, pendingMigrations, SchemaError } from "./migrations.ts";

let all: string[];
let db: TestDatabase;
/** An empty database. */
let empty: Database;
let admin: Database;
let made = 0;
const open = (database: string): Database =>
  new Database({ connection: { ...inject("owner"), database }, maxConnections: 3, onIdleError: () => undefined });

beforeAll(async () => {
  db = await testDatabase();
  admin = open("postgres");
  all = (await db.owner.rows<{ name: string }>("select name from migration order by number")).map(({ name }) => name);
});
afterAll(async () => {
  await dropEmpty();
  await admin.close();
  await db.close();
});
beforeEach(async () => {
  await dropEmpty();
  made += 1;
  await admin.rows(`create database ${nameOfEmpty()} template template0`);
  empty = open(nameOfEmpty());
});

const nameOfEmpty = (): string => `parbook_migrations_${process.pid}_${made}`;

async function dropEmpty(): Promise<void> {
  if (made === 0) return;
  await empty.close();
  await admin.rows(`drop database ${nameOfEmpty()} with (force)`);
}

/** Each needs the one before it. */
const LATER = {
  "0002-notes.sql": "create table note (id uuid primary key)",
  "0003-texts.sql": "alter table note add column text text",
};

test("an empty database gets every migration once, in order", async () => {
  expect([await pendingMigrations(empty), await lastMigration(empty)]).toEqual([all, undefined]);
  expect(await migrate(empty, inject("serviceRole"))).toEqual(all);
  expect(await migrate(empty, inject("serviceRole"))).toEqual([]);
  expect(await pendingMigrations(empty)).toEqual([]);

  const folder = await migrationsWith(LATER);
  expect(await pendingMigrations(empty, folder)).toEqual(Object.keys(LATER));
  expect(await lastMigration(empty)).toBe(all.at(-1));
  expect(await migrate(empty, inject("serviceRole"), { folder })).toEqual(Object.keys(LATER));
  expect(await lastMigration(empty)).toBe("0003-texts.sql");
  expect(await migrate(empty, inject("serviceRole"), { folder })).toEqual([]);
  await expect(pendingMigrations(empty)).rejects.toThrow("0002-notes.sql, which this program does not know");
});

test("concurrent migrations are serialized", async () => {
  const folder = await migrationsWith(LATER);
  const others = [1, 2, 3].map(() => open(nameOfEmpty()));
  const applied = await Promise.all(
    [empty, ...others].map((owner) => migrate(owner, inject("serviceRole"), { folder })),
  );
  // Together they have applied every migration once.
  expect(applied.flat().sort()).toEqual([...all, ...Object.keys(LATER)]);
  for (const other of others) await other.close();
});

test("who migrates waits for another that migrates for as long as that takes", async () => {
  const other = await empty.connect({ application_name: "in the way" });
  await other.query("begin");
  await other.query("select pg_advisory_xact_lock(hashtext('parbook migrations'))");
  // As a session whose time to wait for a lock, ten seconds by default, is soon over.
  const impatient: Pick<Database, "transaction"> = {
    transaction: (work, takes) =>
      empty.transaction(async (transaction) => {
        await transaction.rows("set local lock_timeout = '50ms'");
        return work(transaction);
      }, takes),
  };
  const migration = migrate(impatient as Database, inject("serviceRole")).catch((error: unknown) => error);
  await until("it has waited longer than that", async () => {
    const waiting =
      "from pg_stat_activity where datname = $1 and wait_event = 'advisory' and now() - query_start > interval '200 ms'";
    return (await admin.rows(`select ${waiting}`, [nameOfEmpty()])).length === 1;
  });
  await other.query("rollback");
  await other.end();
  expect(await migration).toEqual(all);
});

test("each migration is one transaction: a failed one leaves those before it", async () => {
  const folder = await migrationsWith({ ...LATER, "0003-texts.sql": "drop table note; select 1 / 0" });
  await expect(migrate(empty, inject("serviceRole"), { folder })).rejects.toThrow("division by zero");
  expect(await pendingMigrations(empty, folder)).toEqual(["0003-texts.sql"]);
  expect(await empty.rows("select id from note")).toEqual([]);
  expect(await migrate(empty, inject("serviceRole"), { folder: await migrationsWith(LATER) })).toEqual([
    "0003-texts.sql",
  ]);
});

test("a migration with a number below the applied ones is rejected", async () => {
  await migrate(empty, inject("serviceRole"), { folder: await migrationsWith({ "0003-later.sql": "select 1" }) });
  const folder = await migrationsWith({ "0002-late.sql": "select 1", "0003-later.sql": "select 1" });
  await expect(migrate(empty, inject("serviceRole"), { folder })).rejects.toThrow(
    "migration 0002-late.sql comes before 0003-later.sql, which is already applied.",
  );
});

test("a database of 0.1 is rejected, and left as it is", async () => {
  await empty.rows(
    "create table migration (number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null)",
  );
  await empty.rows("insert into migration values (1, '0001-core.sql', 'x', now())");
  const rejection = "this is a database of Parbook 0.1 (it has migration 0001-core.sql)";
  await expect(migrate(empty, inject("serviceRole"))).rejects.toThrow(rejection);
  await expect(pendingMigrations(empty)).rejects.toThrow(SchemaError);
  expect(await empty.rows("select tablename as name from pg_tables where schemaname = 'public'")).toEqual([
    { name: "migration" },
  ]);
});

test("a killed migration leaves no trace, and the next run applies it", async () => {
  // The first migration creates this table after many others, and blocks there.
  const inTheWay = await empty.connect({ application_name: "in the way" });
  await inTheWay.query("begin");
  await inTheWay.query("create table execution (id integer)");
  const killed = open(nameOfEmpty());
  const migration = migrate(killed, inject("serviceRole")).catch((error: unknown) => error);
  const waiting = "from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'";
  await until("the migration waits", async () => {
    const rows = await admin.rows(`select 1 ${waiting}`, [nameOfEmpty()]);
    return rows.length === 1;
  });
  await admin.rows(`select pg_terminate_backend(pid) ${waiting}`, [nameOfEmpty()]);
  expect(await migration).toBeInstanceOf(Error);
  await inTheWay.query("rollback");
  await inTheWay.end();
  await killed.close();
  const tables = await empty.rows<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = 'public'",
  );
  expect(tables).toEqual([{ name: "migration" }]);
  expect(await migrate(empty, inject("serviceRole"))).toEqual(all);
});

test("a schema newer than the program is rejected", async () => {
  await db.owner.rows("insert into migration values (9999, '9999-from-the-future.sql', 'x', now())");
  const rejection = "the database has migration 9999-from-the-future.sql, which this program does not know";
  await expect(migrate(db.owner, inject("serviceRole"))).rejects.toThrow(rejection);
  await expect(pendingMigrations(db.database)).rejects.toThrow(SchemaError);
  await db.owner.rows("delete from migration where number = 9999");
});

test("a migration file edited after it was applied is rejected", async () => {
  const [row] = await db.owner.rows<{ checksum: string }>("select checksum from migration where number = 1");
  await db.owner.rows("update migration set checksum = 'another' where number = 1");
  await expect(migrate(db.owner, inject("serviceRole"))).rejects.toThrow("the file was edited afterwards");
  await expect(pendingMigrations(db.database)).rejects.toThrow(SchemaError);
  await db.owner.rows("update migration set checksum = $1 where number = 1", [row?.checksum]);
  expect(await pendingMigrations(db.database)).toEqual([]);
});
