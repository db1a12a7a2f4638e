/** Migrations of a ledger with data in it that do not get to their end, and those that go on afterwards. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Client } from "pg";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { readHeads } from "../../src/ledger/stored-batches.ts";
import type { Database } from "../../src/postgres/database.ts";
import { migrate, pendingMigrations, SchemaError } from "../../src/postgres/migrations.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { answerOf } from "../cli/parbook.ts";
import { expectBooksBalance } from "../support/books.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { makeSmallBooks } from "../verify/small-ledger.ts";
import { migrationsWith, newDatabase } from "./new-database.ts";

vi.setConfig({ testTimeout: 240_000 });

const PROGRAM = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));

/** A transaction that does not end. */
async function standInTheWay(database: Database, statement: string): Promise<Client> {
  const client = await database.connect({ application_name: "in the way" });
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query(statement);
  return client;
}

const waiting = (database: Database): Promise<{ pid: number }[]> =>
  database.rows("select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");

test("a migration that meets a busy table gives up with the reason, or is cancelled, and has no effect", async () => {
  const db = await testDatabase();
  onTestFinished(() => db.close());
  const books = await makeSmallBooks(db.database);
  onTestFinished(() => books.close());
  const checkpoint = await readHeads(db.database);
  // It comes to the busy table last, with everything done.
  const folder = await migrationsWith({
    "0002-notes.sql": "create table note (id uuid primary key); alter table execution add column note_id uuid;",
  });
  const busy = await standInTheWay(db.owner, "lock table execution in row exclusive mode");
  const run = (patience: string): Promise<unknown> =>
    migrate(db.owner, inject("serviceRole"), { patience, folder }).catch((error: unknown) => error);

  const rejection = await run("100ms");
  expect(rejection).toBeInstanceOf(SchemaError);
  expect((rejection as Error).message).toBe(
    "migration 0002-notes.sql gave up after 100ms, because a table that it changes is in use. It had no effect: try again at a quieter time, or stop the nodes first (docs/upgrade.md).",
  );
  expect(await pendingMigrations(db.database, folder)).toEqual(["0002-notes.sql"]);

  // Nor has one whose connection is broken off while it waits.
  const brokenOff = run("100s");
  await until("the migration waits", async () => (await waiting(db.owner)).length > 0, 60);
  for (const { pid } of await waiting(db.owner)) await db.owner.rows("select pg_terminate_backend($1)", [pid]);
  expect(await brokenOff).toBeInstanceOf(Error);
  expect(await db.owner.rows("select to_regclass('note') as note")).toEqual([{ note: null }]);

  await busy.query("rollback");
  expect(await run("10s")).toEqual(["0002-notes.sql"]);
  // The data of before is unchanged, and the ledger continues.
  await books.transfer("0.01");
  await expectBooksBalance(db.database);
  expect(await verifyAll(db.database, { checkpoint })).toMatchObject({ sound: true });
  const [before] = checkpoint;
  const after = (await readHeads(db.database)).find(({ slot }) => slot === before?.slot);
  expect(after?.n).toBeGreaterThan(before?.n ?? 0n);
});

test("a program that is killed in the middle of a migration has done nothing, and the next one does it", async () => {
  const { database, settings } = await newDatabase();
  // The first migration makes this table, after many others.
  const busy = await standInTheWay(database, "create table access_denial (id integer)");
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM, "migrate"], { env: { PATH, ...settings }, stdio: "ignore" });
  await until("the migration waits", async () => (await waiting(database)).length > 0, 150);
  child.kill("SIGKILL");
  await once(child, "close");
  await busy.query("rollback");

  const all = await pendingMigrations(database);
  expect(all[0]).toBe("0001-schema.sql");
  expect(await answerOf(settings, "migrate")).toMatchObject({ applied: all, service_role: inject("serviceRole") });
  expect(await pendingMigrations(database)).toEqual([]);
});

test("of a migration whose program has ended a long statement ends too, and holds no locks any more", async () => {
  const { database, another } = await newDatabase();
  const folder = await migrationsWith({
    "0002-notes.sql": "create table note (id uuid primary key); select pg_sleep(600);",
  });
  const program = another();
  onTestFinished(() => program.close());
  const ended = migrate(program, inject("serviceRole"), { folder }).catch((error: unknown) => error);
  const sleeping = (): Promise<unknown[]> =>
    database.rows(
      "select from pg_stat_activity where datname = current_database() and query like '%pg_sleep(600);' and state = 'active'",
    );
  await until("the migration sleeps", async () => (await sleeping()).length > 0, 150);
  program.cutOff();
  expect(await ended).toBeInstanceOf(Error);
  await until("the server has noticed", async () => (await sleeping()).length === 0, 60);
  expect(await pendingMigrations(database, folder)).toEqual(["0002-notes.sql"]);
});
