/** What a database needs over the years, and how much of it a node may use. */
import type { Queryable } from "../../postgres/database.ts";
import { type Finding, finding, present } from "./finding.ts";
import type { ServerSettings } from "./server-settings.ts";

export interface Upkeep {
  readonly database: string;
  /** Transactions since the oldest one that is not frozen, in any database of the server. */
  readonly transactionAge: number;
  /** The database in which it is. */
  readonly oldest: string;
  /** Of the C library or ICU, when the database was made, and now; undefined if it has none. */
  readonly collation: { readonly stored: string; readonly actual: string } | undefined;
  /** Limits of role and database; undefined: none. */
  readonly connectionLimit: number | undefined;
}

interface Row {
  readonly database: string;
  readonly age: number;
  readonly oldest: string;
  readonly stored: string | null;
  readonly actual: string | null;
  readonly limit: number | null;
}

export async function readUpkeep(database: Queryable): Promise<Upkeep> {
  const [row] = await database.rows<Row>(
    `select d.datname as database, o.age, o.datname as oldest, d.datcollversion as stored,
            pg_database_collation_actual_version(d.oid) as actual,
            least(nullif(d.datconnlimit, -1), nullif(r.rolconnlimit, -1)) as limit
       from pg_database d
       join pg_roles r on r.rolname = current_user
       cross join (select greatest(age(datfrozenxid), mxid_age(datminmxid)) as age, datname
                     from pg_database order by 1 desc limit 1) o
      where d.datname = current_database()`,
  );
  const { database: name = "", age = 0, oldest = "", stored, actual, limit } = row ?? {};
  return {
    database: name,
    transactionAge: age,
    oldest,
    collation: stored && actual ? { stored, actual } : undefined,
    connectionLimit: limit ?? undefined,
  };
}

/** Autovacuum freezes at 200 million by default. */
const OLDEST_TRANSACTION = 1_000_000_000;

/** docs/settings.md, "Poolers". */
const CONNECTIONS_OF_A_NODE = 27;

/** Of two nodes, and some for commands and the operator. */
const NEEDED_CONNECTIONS = 2 * CONNECTIONS_OF_A_NODE + 6;

export function judgeUpkeep(settings: ServerSettings, upkeep: Upkeep): Finding[] {
  const { database, transactionAge, oldest, collation, connectionLimit = Number.POSITIVE_INFINITY } = upkeep;
  const name = JSON.stringify(database);
  const connections = Math.min(availableConnections(settings), connectionLimit);
  return present(
    transactionAge > OLDEST_TRANSACTION &&
      finding(
        "transaction-age",
        `a row of ${JSON.stringify(oldest)} is ${Math.round(transactionAge / 1e6)} million transactions old`,
        "end old transactions and prepared ones, drop idle slots, then as a superuser: vacuum freeze",
      ),
    collation !== undefined &&
      collation.stored !== collation.actual &&
      finding(
        "collation",
        `the collation was ${collation.stored} when ${name} was made, and is ${collation.actual}`,
        `reindex database ${name}; alter database ${name} refresh collation version`,
      ),
    connections < NEEDED_CONNECTIONS &&
      finding(
        "connections",
        `${connections} connections are allowed, two nodes and an operator need ${NEEDED_CONNECTIONS}`,
        "raise max_connections, or the connection limit of role and database",
      ),
  );
}

function availableConnections(settings: ServerSettings): number {
  const { max_connections: most, superuser_reserved_connections: superuser, reserved_connections: reserved } = settings;
  return Number(most ?? Number.POSITIVE_INFINITY) - Number(superuser ?? 0) - Number(reserved ?? 0);
}
