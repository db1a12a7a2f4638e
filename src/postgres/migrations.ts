/**
 * Migrations: numbered SQL files, applied in order, each in a transaction of its own with its row in `migration`. One
 * that was killed half-way has left nothing, and the next run goes on with it. A file that has landed is never edited:
 * its checksum is kept, and another one is refused, as is a schema that is newer than the program.
 */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { type Database, type Queryable, serverError, tookTooLong } from "./database.ts";

/** The files lie beside `src/` and `dist/` alike. */
const FOLDER = new URL("../../migrations/", import.meta.url);
const UNDEFINED_TABLE = "42P01";
const NAME = /^([0-9]{4})-.*\.sql$/;

/** One line for the operator: why the schema and the program do not fit. */
export class SchemaError extends Error {
  override readonly name = "SchemaRefusal";
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

/**
 * Brings the schema up to date as its owner, and grants the service's role what it needs. Returns the names of the
 * migrations that were applied. Whoever holds a lock that one needs is waited for as long as `patience` says.
 */
export async function migrate(owner: Database, serviceRole: string, patience = "10s"): Promise<string[]> {
  const migrations = await readMigrations();
  await inTurn(owner, patience, (transaction) =>
    transaction.rows(
      `create table if not exists migration (
         number integer primary key, name text not null, checksum text not null, applied_at timestamptz not null)`,
    ),
  );
  const done: string[] = [];
  for (const migration of migrations) {
    const applied = await inTurn(owner, patience, async (transaction) => {
      if (check(migrations, await readApplied(transaction)).every(({ number }) => number !== migration.number))
        return false;
      await transaction.rows(migration.text);
      await transaction.rows(
        "insert into migration (number, name, checksum, applied_at) values ($1, $2, $3, clock_timestamp())",
        [migration.number, migration.name, migration.checksum],
      );
      return true;
    }).catch((error: unknown) => {
      throw tookTooLong(error) ? inTheWay(migration, patience) : error;
    });
    if (applied) done.push(migration.name);
  }
  await grant(owner, serviceRole, patience);
  return done;
}

/** A queue behind a migration that waits would be the service's: it gives way instead. */
function inTheWay({ name }: Migration, patience: string): SchemaError {
  return new SchemaError(
    `migration ${name} gave up after ${patience}, because somebody uses a table that it changes. Nothing of it was done: try again when less is going on, or stop the nodes first (docs/upgrade.md).`,
  );
}

/**
 * A transaction of one program at a time: two that migrate at once take turns, and the second finds everything done.
 * `create table if not exists` and `grant` fail when they meet themselves, and there is no table yet to lock. A
 * migration may take as long as it needs, but waits for the service's locks no longer than for a while.
 */
function inTurn<Value>(
  owner: Database,
  patience: string,
  work: (transaction: Queryable) => Promise<Value>,
): Promise<Value> {
  return owner.transaction(async (transaction) => {
    await transaction.rows("set local lock_timeout = 0");
    await transaction.rows("select pg_advisory_xact_lock(hashtext('parbook migrations'))");
    await transaction.rows("select set_config('lock_timeout', $1, true)", [patience]);
    return work(transaction);
  }, "any time");
}

/** The migrations that are still to be applied; throws `SchemaRefusal` when schema and program do not fit. */
export async function pendingMigrations(database: Queryable): Promise<string[]> {
  try {
    return check(await readMigrations(), await readApplied(database)).map(({ name }) => name);
  } catch (error) {
    // No table `migration`: nothing was ever applied.
    if (serverError(error)?.code === UNDEFINED_TABLE) return (await readMigrations()).map(({ name }) => name);
    throw error;
  }
}

/** The name of the last one that was applied; undefined when none was. */
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
  await inTurn(owner, patience, async (transaction) => {
    const [own] = await transaction.rows("select 1 where current_user = $1", [serviceRole]);
    // A service that connects as the owner can grant itself whatever it likes. It is told so when it starts.
    if (own !== undefined) return;
    await transaction.rows("select set_config('parbook.service_role', $1, true)", [serviceRole]);
    await transaction.rows(privileges);
  });
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => NAME.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, FOLDER), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      return { number: Number(name.slice(0, 4)), name, text, checksum };
    }),
  );
}

function readApplied(database: Queryable): Promise<Applied[]> {
  return database.rows<Applied>("select number, name, checksum from migration order by number");
}

/** What is not applied yet, when the rest is as this program knows it. */
function check(known: readonly Migration[], applied: readonly Applied[]): Migration[] {
  for (const { number, name, checksum } of applied) {
    const mine = known.find((migration) => migration.number === number);
    if (mine === undefined) {
      throw new SchemaError(
        `the database has migration ${name}, which this program does not know: it is older than the database. Start the newer version.`,
      );
    }
    if (mine.checksum !== checksum) {
      throw new SchemaError(
        `migration ${name} is not what was applied to this database: the file was edited after it had landed.`,
      );
    }
  }
  const last = applied.at(-1)?.number ?? 0;
  const pending = known.filter(({ number }) => applied.every((one) => one.number !== number));
  const late = pending.find(({ number }) => number < last);
  if (late !== undefined)
    throw new SchemaError(`migration ${late.name} comes before ${applied.at(-1)?.name}, which is applied already.`);
  return pending;
}
