/** `parbook migrate`: migrates as the owner of the tables, because the service's role must not be able to. */
import type { Command } from "commander";
import { createdLines } from "../catalogue/fill-catalogue.ts";
import { Database } from "../postgres/database.ts";
import { pendingMigrations, SchemaError } from "../postgres/migrations.ts";
import type { Config } from "../service/config/config.ts";
import { type Migrated, migrateAs } from "../service/core.ts";
import { createLogger } from "../service/logger.ts";
import { type ProvidedDatabase, provideDatabase } from "../service/provide-database.ts";
import { addCommand, CommandRejected, type CommandResult, commandConfig, setAction, WrongUsage } from "./command.ts";
import { endStatements, interruptible } from "./interruption.ts";
import { type Progress, withProgress } from "./progress.ts";

interface MigrateCommandOptions {
  readonly serviceRole?: string;
  readonly json?: true;
}

export function addMigrate(program: Command): void {
  const migrate = addCommand(program, "migrate", {
    summary: "migrate the schema, or make it in production, as the owner of the tables (PARBOOK_MIGRATE_URL)",
    examples: ["migrate", "migrate --service-role parbook_service"],
  }).option(
    "--service-role <name>",
    "the existing role to grant the service's privileges to (default: the role of PARBOOK_DATABASE_URL)",
  );
  setAction(migrate, (options: MigrateCommandOptions) =>
    interruptible("what was applied stays, and what was being applied had no effect. Run it again", (stopping) =>
      withProgress({ what: "migrating", quiet: options.json, stopping }, (progress) =>
        migrateDatabase(options, progress, stopping),
      ),
    ),
  );
}

async function migrateDatabase(
  { serviceRole }: MigrateCommandOptions,
  progress: Progress,
  stopping: AbortSignal,
): Promise<CommandResult> {
  const config = commandConfig();
  if (config.databaseUrl !== undefined && config.migrateUrl === undefined && config.mode === "production") {
    throw new WrongUsage("set PARBOOK_MIGRATE_URL to the address of the database as the owner of its tables");
  }
  const log = createLogger(config, 2);
  const provided = await provideDatabase(config, "migrate", (line) => log.info(line));
  try {
    const role = serviceRole ?? provided.service.user ?? "";
    const { applied, assets, markets } = await (provided.owner === undefined
      ? checkRunningService(provided)
      : migrateFor(role, provided.owner, { log, config, progress, stopping }));
    const schema = applied.length === 0 ? ["The schema is up to date."] : applied.map((name) => `applied ${name}`);
    return {
      json: { applied, assets, markets, service_role: role },
      prose: [...schema, ...createdLines({ assets, markets })],
    };
  } finally {
    await provided.close();
  }
}

/** A running service has migrated the embedded database; only a restart with a newer version can add migrations. */
async function checkRunningService({ service }: ProvidedDatabase): Promise<Migrated> {
  const database = open(service);
  try {
    const pending = await pendingMigrations(database);
    if (pending.length === 0) return { applied: [], assets: [], markets: [] };
    throw new SchemaError(`the running service lacks ${pending.join(", ")}: stop it and start this version`);
  } finally {
    await database.close();
  }
}

interface MigratingFor {
  readonly log: ReturnType<typeof createLogger>;
  readonly config: Config;
  readonly progress: Progress;
  readonly stopping: AbortSignal;
}

async function migrateFor(
  role: string,
  owner: ProvidedDatabase["service"],
  { log, config, progress, stopping }: MigratingFor,
): Promise<Migrated> {
  const database = open(owner);
  endStatements(database, stopping);
  try {
    const [found] = await database.rows("select 1 from pg_roles where rolname = $1", [role]);
    if (found === undefined) {
      throw new CommandRejected(
        `the role ${JSON.stringify(role)} does not exist: create it first (create role ... login password ...)`,
      );
    }
    let count = 0;
    const onApply = (name: string, pending: number): void => {
      progress.step(`applying ${name} (${count + 1} of ${count + pending})`);
      count += 1;
    };
    return await migrateAs(database, role, log, { config, fills: true, onApply });
  } finally {
    await database.close();
  }
}

function open(connection: ProvidedDatabase["service"]): Database {
  return new Database({ connection, maxConnections: 1, onIdleError: () => undefined });
}
