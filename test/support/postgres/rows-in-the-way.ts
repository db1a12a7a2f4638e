/** What another session does to the lane's rows: holds them, changes them, and sees who waits for it. */
import type { Client } from "pg";
import { vi } from "vitest";
import type { ProfileId } from "../../../src/ledger/accounts.ts";
import type { Database, Queryable } from "../../../src/postgres/database.ts";
import { withResolvers } from "../../../src/std/with-resolvers.ts";
import type { TestDatabase } from "../database.ts";
import { newId } from "../movements.ts";
import { until } from "../until.ts";

/** Puts a profile's row there, as the owner of the database. */
export async function insertProfile(owner: Queryable, id: ProfileId): Promise<void> {
  const customer = newId();
  await owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme ' || gen_random_uuid(), now())", [
    customer,
  ]);
  await owner.rows(
    `insert into profile (id, customer_id, kind, nickname, status, incoming_count, last_deactivation, created_at, updated_at,
                          version, slot, batch)
     values ($1, $2, 'NORMAL', 'treasury', 'ACTIVE', 0, 0, now(), now(), 1, 1, 1)`,
    [id, customer],
  );
}

/** A session of its own in a transaction that stays open until it is ended. */
export async function openTransaction(database: Database): Promise<Client> {
  const session = await database.connect({ application_name: "in the way" });
  await session.query("begin");
  return session;
}

/** How many sessions of the database wait for a lock. */
export async function countBlocked({ owner, ownerConnection }: TestDatabase): Promise<number> {
  const [row] = await owner.rows<{ count: string }>(
    "select count(*) from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'",
    [ownerConnection.database],
  );
  return Number(row?.count);
}

/** Waits until so many sessions of the service wait for a lock. */
export function untilBlocked(db: TestDatabase, sessions = 1): Promise<void> {
  return until(`${sessions} sessions wait for a lock`, async () => (await countBlocked(db)) >= sessions);
}

/** Lets the next transaction of this process stand still once it has locked accounts, as if the process was paused. */
export function standStillOnceLocked(database: Database): {
  readonly stopped: Promise<void>;
  readonly goOn: () => void;
} {
  const [stopped, goingOn] = [withResolvers<void>(), withResolvers<void>()];
  vi.spyOn(database, "transaction").mockImplementationOnce((work) =>
    database.transaction((transaction) =>
      work({
        ...transaction,
        rows: async (text, values) => {
          const rows = await transaction.rows(text, values);
          if (/ from account t .* for update of t/s.test(text)) {
            stopped.resolve();
            await goingOn.promise;
          }
          return rows as never;
        },
      }),
    ),
  );
  return { stopped: stopped.promise, goOn: goingOn.resolve };
}

/** Ends the lane's connections from the server's side. */
export async function terminate({ owner, ownerConnection }: TestDatabase, application = "%"): Promise<void> {
  await owner.transaction(async (transaction) => {
    // It warns of one that has just ended by itself.
    await transaction.rows("set local client_min_messages = 'error'");
    await transaction.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = $1 and application_name like $2 and pid <> pg_backend_pid()`,
      [ownerConnection.database, application],
    );
  });
}
