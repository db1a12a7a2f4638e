/** Migrations of a database with data in it that do not get to their end, and those that go on afterwards. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Client } from "pg";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { migrate, pendingMigrations, SchemaError } from "../../src/postgres/migrations.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { answerOf } from "../cli/parbook.ts";
import { expectBooksBalance } from "../support/books.ts";
import { until } from "../support/until.ts";
import { leftBehind } from "./left-behind.ts";

vi.setConfig({ testTimeout: 240_000 });

const PROGRAM = fileURLToPath(new URL("../../bin/parbook.mjs", import.meta.url));
type Left = Awaited<ReturnType<typeof leftBehind>>;

/** A transaction that reads executions and does not end: 0002 comes to that table last, with everything done. */
async function standInTheWay({ database }: Left): Promise<Client> {
  const client = await database.connect({ application_name: "in the way" });
  onTestFinished(() => client.end());
  await client.query("begin");
  await client.query("lock table execution in row exclusive mode");
  return client;
}

const waiting = ({ database }: Left): Promise<{ pid: number }[]> =>
  database.rows("select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'");

test("a migration that comes upon a busy table gives up in words, or is broken off, and has done nothing", async () => {
  const left = await leftBehind("0001");
  const busy = await standInTheWay(left);
  const refusal = await migrate(left.database, inject("serviceRole"), "100ms").catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(SchemaError);
  expect((refusal as Error).message).toBe(
    "migration 0002-fee-tiers.sql gave up after 100ms, because a table that it changes is in use. It had no effect: try again at a quieter time, or stop the nodes first (docs/upgrade.md).",
  );
  expect((await pendingMigrations(left.database))[0]).toBe("0002-fee-tiers.sql");

  // Nor has one whose connection is broken off while it waits.
  const brokenOff = migrate(left.database, inject("serviceRole"), "100s").catch((error: unknown) => error);
  await until("the migration waits", async () => (await waiting(left)).length > 0, 60);
  for (const { pid } of await waiting(left)) await left.database.rows("select pg_terminate_backend($1)", [pid]);
  expect(await brokenOff).toBeInstanceOf(Error);
  await busy.query("rollback");
  expect((await migrate(left.database, inject("serviceRole")))[0]).toBe("0002-fee-tiers.sql");
  await expectBooksBalance(left.database);
});

test("a program that is killed in the middle of a migration has done nothing, and the next one does it", async () => {
  const left = await leftBehind("0001");
  const heads = await left.heads();
  const busy = await standInTheWay(left);
  const settings = { PARBOOK_DATABASE_URL: left.urls.databaseUrl, PARBOOK_MIGRATE_URL: left.urls.migrateUrl };
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [PROGRAM, "migrate"], { env: { PATH, ...settings }, stdio: "ignore" });
  await until("the migration waits", async () => (await waiting(left)).length > 0, 150);
  child.kill("SIGKILL");
  await once(child, "close");
  await busy.query("rollback");

  expect(await answerOf(settings, "migrate")).toEqual({
    applied: expect.arrayContaining(["0002-fee-tiers.sql", "0006-refusals.sql"]),
    service_role: inject("serviceRole"),
  });
  expect(await pendingMigrations(left.database)).toEqual([]);
  await expectBooksBalance(left.database);
  expect(await verifyAll(left.database, { checkpoint: heads })).toMatchObject({ sound: true });
});
