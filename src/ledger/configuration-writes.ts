/**
 * The audit trail of configuration: customers, clients, fees, signing keys and webhooks, which no batch writes.
 *
 * The transaction that makes such a write records it at version 1, so that neither commits without the other, even while
 * no lane can work. A batch then *seals* the record: version 2, with a digest in the hash chain. From then on verify finds
 * a record that was changed or removed (docs/decisions/0044-configuration-writes.md).
 */
import { randomUUID } from "node:crypto";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { Caller } from "./caller.ts";
import { jsonColumn, key, textColumn, timeColumn, uuidColumn, versionColumn } from "./columns.ts";
import { accept, type Command } from "./decision.ts";
import { change, columnsOf, keyOf, type SqlRecord, type StateRow, stateTable } from "./tables.ts";

type Texts = Readonly<Record<string, string>>;

export interface NewConfigurationWrite {
  readonly kind: "client" | "customer" | "fees" | "signing_key" | "webhook";
  /** What was written: a client_id, the id of a customer or a webhook, the code of a market, a kid. */
  readonly subject: string;
  /** Undefined: the platform's. */
  readonly customerId: Uuid | undefined;
  /** What it has become. No secrets. */
  readonly details: Texts;
}

export interface ConfigurationWrite extends StateRow, NewConfigurationWrite {
  readonly id: Uuid;
  /** By the database's clock. */
  readonly at: Instant;
  readonly caller: Texts;
}

export const configurationWriteTable = stateTable<ConfigurationWrite>({
  name: "configuration_write",
  columns: {
    id: key(uuidColumn("id")),
    at: timeColumn("at"),
    caller: jsonColumn("caller"),
    kind: textColumn("kind"),
    subject: textColumn("subject"),
    customerId: uuidColumn("customer_id"),
    details: jsonColumn("details"),
    version: versionColumn,
  },
  digested: true,
  openedOutsideBatches: true,
  keyOf: (row) => row.id,
  keyValues: (id) => [id],
});

/** Records a write in its own transaction, which must have made it: what changed nothing is not recorded. */
export async function recordConfigurationWrite(
  transaction: Queryable,
  caller: Caller,
  { kind, subject, customerId, details }: NewConfigurationWrite,
): Promise<void> {
  await transaction.rows(
    `insert into configuration_write (id, at, caller, kind, subject, customer_id, details, version)
     values ($1, date_trunc('milliseconds', clock_timestamp()), $2, $3, $4, $5, $6, 1)`,
    [randomUUID(), JSON.stringify(caller), kind, subject, customerId ?? null, JSON.stringify(details)],
  );
}

/** How many are sealed at once, and how often before others have their turn. */
const SEALED_AT_ONCE = 100;
const MOST_TURNS = 100;

/** Records that no batch has sealed yet, the oldest first. */
export async function listUnsealed(database: Queryable, limit = SEALED_AT_ONCE): Promise<ConfigurationWrite[]> {
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(configurationWriteTable)} from configuration_write
      where version = 1 order by at limit $1`,
    [limit],
  );
  return rows.map(configurationWriteTable.read);
}

/** What seals need of a lane. */
export interface Sealer {
  execute(command: Command<undefined, never>): Promise<unknown>;
}

/**
 * Seals what is recorded and not sealed yet: all of it, since a customer may change its webhooks faster than it could be
 * sealed bit by bit. Of several processes that do, one seals each record.
 */
export async function sealConfigurationWrites(database: Queryable, lane: Sealer): Promise<void> {
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const unsealed = await listUnsealed(database);
    const ended = await Promise.allSettled(unsealed.map((write) => lane.execute(sealing(write))));
    for (const one of ended) if (one.status === "rejected") throw one.reason;
    if (unsealed.length < SEALED_AT_ONCE) return;
  }
}

/** The batch names the caller of the write, not the one that seals it. */
function sealing({ id, caller }: ConfigurationWrite): Command<undefined, never> {
  return {
    queueKey: "house",
    caller: caller as unknown as Caller,
    dependsOn: [keyOf(configurationWriteTable, id)],
    decide: (state) => {
      const write = state.get(configurationWriteTable, id);
      const isSealed = write === undefined || write.version > 1n;
      return accept(undefined, isSealed ? {} : { states: [change(configurationWriteTable, write)] });
    },
  };
}
