/** Migrating the database as the owner of its tables. The service's own role could not, and should not. */
import type { Command } from "commander";
import { Database } from "../postgres/database.ts";
import { pendingMigrations, SchemaError } from "../postgres/migrations.ts";
import { migrateAs } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { type Provided, provideDatabase } from "../service/provide-database.ts";
import { type Answer, addCommand, answering, CommandRejected, commandConfig, WrongUsage } from "./command.ts";

interface MigrateOptions {
  readonly serviceRole?: string;
}

export function addMigrate(program: Command): void {
  const migrate = addCommand(program, "migrate", {
    summary: "bring the database's schema up to date, as the owner of its tables (PARBOOK_MIGRATE_URL)",
    examples: ["migrate", "migrate --service-role parbook_service"],
  }).option(
    "--service-role <name>",
    "the role that is granted what the service needs, and has to exist; that of PARBOOK_DATABASE_URL unless given",
  );
  answering(migrate, migrateDatabase);
}

async function migrateDatabase({ serviceRole }: MigrateOptions): Promise<Answer> {
  const config = commandConfig();
  if (config.databaseUrl !== undefined && config.migrateUrl === undefined && config.mode === "production") {
    throw new WrongUsage("set PARBOOK_MIGRATE_URL to the address of the database as the owner of its tables");
  }
  const log = createLogger(config, 2);
  const provided = await provideDatabase(config, "command", (line) => log.info(line));
  try {
    const role = serviceRole ?? provided.service.user ?? "";
    const applied = await (provided.owner === undefined ? none(provided) : migrateFor(role, provided.owner, log));
    return {
      json: { applied, service_role: role },
      prose: applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `applied ${name}`),
    };
  } finally {
    await provided.close();
  }
}

/** A service runs on the embedded database and has migrated it. A newer program has to be started instead of it. */
async function none({ service }: Provided): Promise<string[]> {
  const database = open(service);
  try {
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return [];
    throw new SchemaError(`the service that is running lacks ${pending.join(", ")}: stop it, and start this version`);
  } finally {
    await database.close();
  }
}

async function migrateFor(
  role: string,
  owner: Provided["service"],
  log: ReturnType<typeof createLogger>,
): Promise<string[]> {
  const database = open(owner);
  try {
    const [found] = await database.rows("select 1 from pg_roles where rolname = $1", [role]);
    if (found === undefined) {
      throw new CommandRejected(
        `the role ${JSON.stringify(role)} does not exist: make it first (create role ... login password ...)`,
      );
    }
    return await migrateAs(database, role, log);
  } finally {
    await database.close();
  }
}

function open(connection: Provided["service"]): Database {
  return new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
}
