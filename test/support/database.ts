/** A migrated database of a test's own, and the ways into it. */
import type { ClientConfig } from "pg";
import { inject } from "vitest";
import { Database } from "../../src/postgres/database.ts";

export interface TestDatabase {
  /** As the service's role, with the privileges that it has in earnest. */
  readonly database: Database;
  /** As the owner, for tests that tamper. */
  readonly owner: Database;
  /** How the service connects. */
  readonly connection: ClientConfig;
  readonly ownerConnection: ClientConfig;
  /** Another pool as the service's role, as another process would have it. */
  another(): Database;
  close(): Promise<void>;
}

let made = 0;

export async function testDatabase(): Promise<TestDatabase> {
  const owner = inject("owner");
  const serviceRole = inject("serviceRole");
  const name = `parbook_test_${process.pid}_${Date.now().toString(36)}_${++made}`;
  const admin = pool({ ...owner, database: "postgres" }, 1);
  await admin.rows(`create database ${name} template ${inject("template")}`);
  const ownerConnection = { ...owner, database: name };
  const connection = { ...ownerConnection, user: serviceRole, password: serviceRole };
  const pools: Database[] = [];
  const open = (as: ClientConfig): Database => {
    const database = pool(as, 10);
    pools.push(database);
    return database;
  };
  return {
    database: open(connection),
    owner: open(ownerConnection),
    connection,
    ownerConnection,
    another: () => open(connection),
    close: async () => {
      for (const database of pools) await database.close();
      await admin.rows(`drop database ${name} with (force)`);
      await admin.close();
    },
  };
}

function pool(connection: ClientConfig, maxConnections: number): Database {
  return new Database({ connection, maxConnections, onIdleError: () => undefined });
}
