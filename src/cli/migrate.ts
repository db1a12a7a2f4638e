/** `parbook migrate`: migrates as the owner of the tables, because the service's role must not be able to. */
import type { Command } from "commander";
import { Database } from "../postgres/database.ts";
import { pendingMigrations, SchemaError } from "../postgres/migrations.ts";
import type { Config } from "../service/config/config.ts";
import { migrateAs } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { type ProvidedDatabase, provideDatabase } from "../service/provide-database.ts";
import { addCommand, CommandRejected, type CommandResult, commandConfig, setAction, WrongUsage } from "./command.ts";

interface MigrateOptions {
  readonly serviceRole?: string;
}

export function addMigrate(program: Command): void {
  const migrate = addCommand(program, "migrate", {
    summary: "migrate the database schema as the owner of its tables (PARBOOK_MIGRATE_URL)",
    examples: ["migrate", "migrate --service-role parbook_service"],
  }).option(
    "--service-role <name>",
    "the existing role to grant the service's privileges to (default: the role of PARBOOK_DATABASE_URL)",
  );
  setAction(migrate, migrateDatabase);
}

async function migrateDatabase({ serviceRole }: MigrateOptions): Promise<CommandResult> {
  const config = commandConfig();
  if (config.databaseUrl !== undefined && config.migrateUrl === undefined && config.mode === "production") {
    throw new WrongUsage("set PARBOOK_MIGRATE_URL to the address of the database as the owner of its tables");
  }
  const log = createLogger(config, 2);
  const provided = await provideDatabase(config, "command", (line) => log.info(line));
  try {
    const role = serviceRole ?? provided.service.user ?? "";
    const applied = await (provided.owner === undefined
      ? checkRunningService(provided)
      : migrateFor(role, provided.owner, log, config));
    return {
      json: { applied, service_role: role },
      prose: applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `applied ${name}`),
    };
  } finally {
    await provided.close();
  }
}

/** A running service has migrated the embedded database; only a restart with a newer version can add migrations. */
async function checkRunningService({ service }: ProvidedDatabase): Promise<string[]> {
  const database = open(service);
  try {
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return [];
    throw new SchemaError(`the running service lacks ${pending.join(", ")}: stop it and start this version`);
  } finally {
    await database.close();
  }
}

async function migrateFor(
  role: string,
  owner: ProvidedDatabase["service"],
  log: ReturnType<typeof createLogger>,
  config: Config,
): Promise<string[]> {
  const database = open(owner);
  try {
    const [found] = await database.rows("select 1 from pg_roles where rolname = $1", [role]);
    if (found === undefined) {
      throw new CommandRejected(
        `the role ${JSON.stringify(role)} does not exist: create it first (create role ... login password ...)`,
      );
    }
    return await migrateAs(database, role, log, config);
  } finally {
    await database.close();
  }
}

function open(connection: ProvidedDatabase["service"]): Database {
  return new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
}
