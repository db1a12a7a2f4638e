/** What a version that was released has left behind, as a database on the server of the tests. */
import { readdir, readFile } from "node:fs/promises";
import { inject, onTestFinished } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import { urlOf } from "../support/service.ts";

const MIGRATIONS = new URL("../../migrations/", import.meta.url);
let made = 0;

/** A database as that version left it, and the addresses of it. */
export async function leftBehind(version: string) {
  const owner = inject("owner");
  const serviceRole = inject("serviceRole");
  const name = `parbook_upgrade_${version}_${process.pid}_${++made}`;
  const open = (database: string): Database =>
    new Database({ connection: { ...owner, database }, maxConnections: 3, onIdleError: () => undefined });
  const admin = open("postgres");
  await admin.rows(`create database ${name} template template0`);
  const database = open(name);
  onTestFinished(async () => {
    await database.close();
    await admin.rows(`drop database ${name} with (force)`);
    await admin.close();
  });
  const migrations = (await readdir(MIGRATIONS)).filter(
    (file) => /^[0-9]{4}-/.test(file) && file.slice(0, 4) <= version,
  );
  const texts = await Promise.all(migrations.sort().map((file) => readFile(new URL(file, MIGRATIONS), "utf8")));
  const data = await readFile(new URL(`${version}/data.sql`, import.meta.url), "utf8");
  await database.rows(
    "create table migration (number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null)",
  );
  // Each in a transaction of its own, as they were applied.
  for (const text of [...texts, data]) await database.transaction((transaction) => transaction.rows(text));
  const ownerConnection = { ...owner, database: name };
  const connection = { ...ownerConnection, user: serviceRole, password: serviceRole };
  const urls = {
    databaseUrl: urlOf({ connection, ownerConnection }),
    migrateUrl: urlOf({ connection, ownerConnection }, "owner"),
  };
  const heads = async () => (await readHeads(database)).map(({ slot, n, hash }) => ({ slot, n: BigInt(n), hash }));
  return { database, urls, heads };
}

/** In SQL that every version understands. */
function readHeads(database: Database): Promise<{ slot: number; n: string; hash: Buffer }[]> {
  return database.rows("select distinct on (slot) slot, n, hash from batch order by slot, n desc");
}
