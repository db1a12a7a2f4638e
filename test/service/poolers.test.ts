/** PgBouncer in front of PostgreSQL: what Parbook works through, and what it rejects in words. */
import { Client, type ClientConfig } from "pg";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../../src/cli/failure.ts";
import { Database } from "../../src/postgres/database.ts";
import { migrateAs } from "../../src/service/core.ts";
import { expectBooksBalance } from "../support/books.ts";
import { testDatabase } from "../support/database.ts";
import { missingPgbouncer, startPgbouncer } from "../support/postgres/pgbouncer.ts";
import { required } from "../support/required.ts";
import { startTestService, type TestService } from "../support/service.ts";

/** The service behind a PgBouncer with these settings, in which others have left so many idle backends. */
function startBehind(settings: Readonly<Record<string, string>>, idle = 0): Promise<TestService> {
  return startTestService({}, async (connection) => {
    const pgbouncer = await startPgbouncer(connection, settings);
    onTestFinished(() => pgbouncer.close());
    await leaveIdle(pgbouncer.connection, idle);
    return pgbouncer.connection;
  });
}

/** Leaves backends in the pooler that are idle, so that a transaction may be given any of them. */
async function leaveIdle(connection: ClientConfig, backends: number): Promise<void> {
  const clients = Array.from({ length: backends }, () => new Client(connection));
  for (const client of clients) await client.connect();
  await Promise.all(clients.map((client) => client.query("select pg_sleep(0.1)")));
  for (const client of clients) await client.end();
}

const SHARED = [
  { pool_mode: "transaction", idle: 0 },
  { pool_mode: "transaction", default_pool_size: "1", idle: 0 },
  { pool_mode: "transaction", server_round_robin: "1", idle: 5 },
  { pool_mode: "transaction", server_reset_query_always: "1", idle: 5 },
  { pool_mode: "statement", idle: 0 },
  { pool_mode: "statement", server_round_robin: "1", idle: 5 },
  { pool_mode: "session", server_reset_query: "", idle: 0 },
];
const SHARED_TEXT = /^database connections do not have dedicated backends: .* pool_mode = session/;

test.for(SHARED)("behind PgBouncer with %o a start is rejected", async ({ idle, ...settings }, context) => {
  required(context, missingPgbouncer());
  const failure = await startBehind(settings, idle).then(
    (service) => service.close(),
    (error: unknown) => failureOf(error),
  );
  expect(failure).toEqual({ lines: [expect.stringMatching(SHARED_TEXT)], exitCode: 1 });
});

test("behind a pooler that shares backends nothing is migrated", async (context) => {
  required(context, missingPgbouncer());
  const db = await testDatabase();
  onTestFinished(() => db.close());
  const pgbouncer = await startPgbouncer(db.ownerConnection, { pool_mode: "transaction" });
  const owner = new Database({
    connection: pgbouncer.connection,
    maxConnections: 1,
    onIdleError: () => undefined,
  });
  onTestFinished(() => pgbouncer.close());
  onTestFinished(() => owner.close());
  await db.owner.rows("drop table migration");
  const config = { mode: "sandbox", catalogue: undefined, coin: undefined } as const;
  const failure = await migrateAs(owner, "nobody", pino({ level: "silent" }), { config, fills: true }).catch(failureOf);
  expect(failure).toEqual({ lines: [expect.stringMatching(SHARED_TEXT)], exitCode: 1 });
  expect(await db.owner.rows("select to_regclass('migration') as found")).toEqual([{ found: null }]);
});

test("two nodes serve behind PgBouncer in session mode", async (context) => {
  required(context, missingPgbouncer());
  const service = await startBehind({ pool_mode: "session", default_pool_size: "60" });
  const other = await service.another();
  const customer = await service.customer();
  const profile = await service.profile(customer, { USD: "100" });
  const recipient = await service.profile(customer);
  const sent = await Promise.all(
    [service, other].flatMap(({ baseUrl }) =>
      Array.from({ length: 10 }, async () => {
        const answer = await fetch(`${baseUrl}/v2/transfer/internal`, {
          method: "POST",
          headers: { authorization: `Bearer ${customer.token}`, "content-type": "application/json" },
          body: JSON.stringify({ from_profile_id: profile, to_profile_id: recipient, amount: "1", asset: "USD" }),
        });
        return answer.status;
      }),
    ),
  );
  expect(sent).toEqual(Array.from({ length: 20 }, () => 200));
  await expectBooksBalance(service.db.owner);
  await service.close();
});
