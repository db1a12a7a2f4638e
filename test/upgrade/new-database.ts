/** A new, empty database on the server of the tests, and migrations of a test's own. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { inject, onTestFinished } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import { urlOf } from "../support/service.ts";

const MIGRATIONS = new URL("../../migrations/", import.meta.url);
let made = 0;

/** As its owner; `settings` are those with which a program connects to it. Dropped when the test is finished. */
export async function newDatabase() {
  const owner = inject("owner");
  const serviceRole = inject("serviceRole");
  const name = `parbook_new_${process.pid}_${Date.now().toString(36)}_${++made}`;
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
  const ownerConnection = { ...owner, database: name };
  const connection = { ...ownerConnection, user: serviceRole, password: serviceRole };
  const settings = {
    PARBOOK_DATABASE_URL: urlOf({ connection, ownerConnection }),
    PARBOOK_MIGRATE_URL: urlOf({ connection, ownerConnection }, "owner"),
  };
  return { database, settings, another: () => open(name) };
}

/** A folder with the real migrations and these beside them, by file name. */
export async function migrationsWith(texts: Readonly<Record<string, string>>): Promise<URL> {
  const folder = await mkdtemp(join(tmpdir(), "parbook-migrations-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await cp(MIGRATIONS, folder, { recursive: true });
  for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
  return pathToFileURL(`${folder}/`);
}
