/**
 * Migrations: numbered SQL files, applied in order, each in one transaction with its row in `migration`, so that a killed
 * one leaves no trace. Files are never edited: a changed checksum is rejected, as is a schema newer than the program.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type Database, isTimeout, type Queryable, serverError } from "./database.ts";

/** The same relative path works from `src/` and `dist/`. */
const FOLDER = new URL("../../migrations/", import.meta.url);
/** Every database of 0.1 has it. */
const FIRST_OF_0_1 = "0001-core.sql";
const UNDEFINED_TABLE = "42P01";
const NAME = /^([0-9]{4})-.*\.sql$/;

/** Schema and program do not match. The message is one line for the operator. */
export class SchemaError extends Error {
  override readonly name = "SchemaError";
}

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly text: string;
  readonly checksum: string;
}

interface Applied {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  /** How long to wait for a lock. */
  readonly patience?: string;
  readonly folder?: URL;
  /** Called before each that is applied, with how many there are. */
  readonly onApply?: ((name: string, pending: number) => void) | undefined;
}

/**
 * Applies pending migrations as the owner, and grants the service's role its privileges.
 *
 * @returns The names of the applied migrations.
 * @throws SchemaError
 */
export async function migrate(
  owner: Database,
  serviceRole: string,
  { patience = "10s", folder = FOLDER, onApply }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  await serialized(owner, patience, (transaction) =>
    transaction.rows(
      `create table if not exists migration (
         number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null)`,
    ),
  );
  const done: string[] = [];
  for (const migration of migrations) {
    const applied = await serialized(owner, patience, async (transaction) => {
      const pending = check(migrations, await readApplied(transaction));
      if (pending.every(({ number }) => number !== migration.number)) return false;
      onApply?.(migration.name, pending.length);
      await transaction.rows(migration.text);
      await transaction.rows(
        "insert into migration (number, name, checksum, applied_at) values ($1, $2, $3, clock_timestamp())",
        [migration.number, migration.name, migration.checksum],
      );
      return true;
    }).catch((error: unknown) => {
      throw isTimeout(error) ? lockTimeoutError(migration, patience) : error;
    });
    if (applied) done.push(migration.name);
  }
  await grant(owner, serviceRole, patience);
  return done;
}

/** The service would queue behind a migration that waits for a lock, so the migration gives up. */
function lockTimeoutError({ name }: Migration, patience: string): SchemaError {
  return new SchemaError(
    `migration ${name} gave up after ${patience}, because a table that it changes is in use. It had no effect: try again at a quieter time, or stop the nodes first (docs/upgrade.md).`,
  );
}

/**
 * Serializes migrating processes by an advisory lock: concurrent `create table if not exists` and `grant` fail, and there
 * is no table yet to lock. The lock timeout applies to the work only, not to the advisory lock.
 */
function serialized<Value>(
  owner: Database,
  patience: string,
  work: (transaction: Queryable) => Promise<Value>,
): Promise<Value> {
  return owner.transaction(async (transaction) => {
    await transaction.rows("set local lock_timeout = 0");
    await transaction.rows("select pg_advisory_xact_lock(hashtext('parbook migrations'))");
    await transaction.rows("select set_config('lock_timeout', $1, true)", [patience]);
    // Without it, a long statement of a program that has ended would go on and hold its locks.
    await transaction.rows("set local client_connection_check_interval = '1s'");
    return work(transaction);
  }, "any time");
}

/** The names of the migrations still to be applied. @throws SchemaError when schema and program do not match. */
export async function pendingMigrations(database: Queryable, folder = FOLDER): Promise<string[]> {
  const migrations = await readMigrations(folder);
  try {
    return check(migrations, await readApplied(database)).map(({ name }) => name);
  } catch (error) {
    if (serverError(error)?.code === UNDEFINED_TABLE) return migrations.map(({ name }) => name);
    throw error;
  }
}

/** The name of the last applied migration. */
export async function lastMigration(database: Queryable): Promise<string | undefined> {
  try {
    return (await readApplied(database)).at(-1)?.name;
  } catch (error) {
    if (serverError(error)?.code === UNDEFINED_TABLE) return undefined;
    throw error;
  }
}

async function grant(owner: Database, serviceRole: string, patience: string): Promise<void> {
  const privileges = await readFile(new URL("privileges.sql", FOLDER), "utf8");
  await serialized(owner, patience, async (transaction) => {
    const [own] = await transaction.rows("select 1 where current_user = $1", [serviceRole]);
    // A service that connects as the owner needs no grants; it logs a warning at start.
    if (own !== undefined) return;
    await transaction.rows("select set_config('parbook.service_role', $1, true)", [serviceRole]);
    await transaction.rows(privileges);
  });
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      return { number: Number(name.slice(0, 4)), name, text, checksum };
    }),
  );
}

/** Whether this is a database of Parbook 0.1, whose migrations 1.0 does not have. */
export async function isDatabaseOf01(database: Queryable): Promise<boolean> {
  return isOf01(await readApplied(database));
}

const isOf01 = (applied: readonly Applied[]): boolean => applied.some(({ name }) => name === FIRST_OF_0_1);

const DATABASE_OF_0_1 = `this is a database of Parbook 0.1 (it has migration ${FIRST_OF_0_1}), whose tables this version cannot use. It was left unchanged. "parbook carry-over <file>" writes its customers and balances as a bootstrap file, with which this version starts on a new, empty database (docs/upgrade.md).`;

function readApplied(database: Queryable): Promise<Applied[]> {
  return database.rows<Applied>("select number, name, checksum from migration order by number");
}

/** The pending migrations. @throws SchemaError when the applied ones differ from the known ones. */
function check(known: readonly Migration[], applied: readonly Applied[]): Migration[] {
  if (isOf01(applied)) throw new SchemaError(DATABASE_OF_0_1);
  for (const { number, name, checksum } of applied) {
    const mine = known.find((migration) => migration.number === number);
    if (mine === undefined) {
      throw new SchemaError(
        `the database has migration ${name}, which this program does not know: it is older than the database. Start the newer version.`,
      );
    }
    if (mine.checksum !== checksum) {
      throw new SchemaError(
        `migration ${name} differs from what was applied to this database: the file was edited afterwards.`,
      );
    }
  }
  const last = applied.at(-1)?.number ?? 0;
  const pending = known.filter(({ number }) => applied.every((one) => one.number !== number));
  const late = pending.find(({ number }) => number < last);
  if (late !== undefined)
    throw new SchemaError(`migration ${late.name} comes before ${applied.at(-1)?.name}, which is already applied.`);
  return pending;
}
