import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import { until } from "../../test/support/until.ts";
import { Database } from "./database.ts";
import { migrate, pendingMigrations, SchemaError } from "./migrations.ts";

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

test("an empty database gets every migration once, in order", async () => {
  expect(await pendingMigrations(empty)).toEqual(all);
  expect(await migrate(empty, inject("serviceRole"))).toEqual(all);
  expect(await migrate(empty, inject("serviceRole"))).toEqual([]);
  expect(await pendingMigrations(empty)).toEqual([]);
});

test("concurrent migrations are serialized", async () => {
  const others = [1, 2, 3].map(() => open(nameOfEmpty()));
  const applied = await Promise.all([empty, ...others].map((owner) => migrate(owner, inject("serviceRole"))));
  // Together they have applied every migration once.
  expect(applied.flat().sort()).toEqual(all);
  for (const other of others) await other.close();
});

test("a killed migration leaves no trace, and the next run applies it", async () => {
  // The first migration creates this table last, and blocks there.
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
  const refusal = "the database has migration 9999-from-the-future.sql, which this program does not know";
  await expect(migrate(db.owner, inject("serviceRole"))).rejects.toThrow(refusal);
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
