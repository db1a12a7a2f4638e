/** Settings that an operator gave to a database or a role, for reasons of their own: the service works under each. */
import { Client, type ClientConfig } from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { failureOf } from "../../src/cli/failure.ts";
import { Database } from "../../src/postgres/database.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { startTestService } from "../support/service.ts";
import { until } from "../support/until.ts";

/** What each is set to, and what a session of ours has all the same. */
const SETTINGS = [
  ["DateStyle", "SQL, DMY", "ISO, MDY"],
  ["IntervalStyle", "iso_8601", "postgres"],
  ["TimeZone", "Asia/Kathmandu", "UTC"],
  ["bytea_output", "escape", "hex"],
  ["extra_float_digits", "-15", "1"],
  ["standard_conforming_strings", "off", "on"],
  ["array_nulls", "off", "on"],
  ["transform_null_equals", "on", "off"],
  ["search_path", "pg_catalog", "public"],
  ["client_encoding", "LATIN1", "UTF8"],
  ["default_transaction_isolation", "serializable", "read committed"],
  ["default_transaction_deferrable", "on", "off"],
  ["synchronous_commit", "remote_apply", "remote_apply"],
  ["synchronous_commit", "off", "on"],
  ["client_min_messages", "error", "warning"],
  ["idle_session_timeout", "900ms", "0"],
  ["transaction_timeout", "900ms", "0"],
  ["idle_in_transaction_session_timeout", "900ms", "10s"],
  ["statement_timeout", "900ms", "15s"],
  ["lock_timeout", "900ms", "10s"],
] as const;

/** New in PostgreSQL 17. */
let unknown: string | undefined;
let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
  const [row] = await db.owner.rows<{ is: string | null }>("select current_setting('transaction_timeout', true) as is");
  unknown = row?.is === null ? "transaction_timeout" : undefined;
});
afterAll(() => db.close());

/** As the owner of everything, from a session that is not ours. */
async function asOwner(connection: ClientConfig, ...statements: string[]): Promise<void> {
  const { user, password } = inject("owner");
  const client = new Client({ ...connection, user, password });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

const assign = (place: string, [name, value]: readonly [string, string, ...string[]]): string =>
  `alter ${place} set ${name} = ${name === "search_path" ? value : `'${value}'`}`;

test.for(SETTINGS)("with %s set to %s our sessions have %s", async ([name, value, own]) => {
  if (name === unknown) return;
  const { user, database } = db.connection;
  await asOwner(db.connection, assign(`role ${user} in database ${database}`, [name, value]));
  onTestFinished(() => asOwner(db.connection, `alter role ${user} in database ${database} reset ${name}`));
  const read = `select current_setting('${name}') as setting`;
  const other = new Client(db.connection);
  await other.connect();
  const { rows } = await other.query<{ setting: string }>(read);
  await other.end();
  // The driver asks for the encoding itself.
  expect(rows).toEqual([{ setting: name === "client_encoding" ? own : value }]);
  expect(await db.another().rows(read)).toEqual([{ setting: own }]);
});

test("with all of them at once the service works, and the ledger balances", async () => {
  let tampered: ClientConfig | undefined;
  const service = await startTestService({}, async (connection) => {
    tampered = connection;
    const places = [`database ${connection.database}`, `role ${connection.user} in database ${connection.database}`];
    await asOwner(
      { ...connection, database: "postgres" },
      ...places.flatMap((place) =>
        SETTINGS.filter(([name]) => name !== unknown).map((setting) => assign(place, setting)),
      ),
    );
    return connection;
  });
  expect(tampered).toBeDefined();
  const customer = await service.customer("Ærø \\ 'Ltd' ☃");
  const from = await service.profile(customer, { USD: "100", PYUSD: "5" });
  const to = await service.profile(customer);
  const send = (body: object) => service.call("POST", "/v2/transfer/internal", { as: customer.token, body });
  const sent = await send({ from_profile_id: from, to_profile_id: to, amount: "0.01", asset: "USD", ref_id: "a\\'☃" });
  expect(sent).toMatchObject({ status: 200, body: { ref_id: "a\\'☃", created_at: expect.stringMatching(/^20.*Z$/) } });
  const received = await service.call("GET", `/v2/transfer/transfers/${sent.body.id}`, { as: customer.token });
  expect(received.body).toEqual(sent.body);
  const conversion = await service.call("POST", "/v2/conversion/stablecoins", {
    as: customer.token,
    body: { profile_id: from, source_asset: "PYUSD", target_asset: "USD", amount: "5" },
  });
  expect(conversion.status).toBe(200);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("a session whose triggers do not fire is rejected with the reason", async () => {
  const { user, database } = db.connection;
  await asOwner(db.connection, `alter role ${user} in database ${database} set session_replication_role = replica`);
  onTestFinished(() =>
    asOwner(db.connection, `alter role ${user} in database ${database} reset session_replication_role`),
  );
  expect(await db.another().rows("select 1").catch(failureOf)).toEqual({
    lines: [
      'the database\'s session_replication_role is replica, but Parbook needs origin (docs/settings.md, "An external PostgreSQL")',
    ],
    exitCode: 1,
  });
});

test("on a read-only database a start is rejected with the reason", async () => {
  const readOnly = async (connection: ClientConfig): Promise<ClientConfig> => {
    await asOwner(connection, `alter database ${connection.database} set default_transaction_read_only = on`);
    return connection;
  };
  expect(await startTestService({}, readOnly).catch(failureOf)).toEqual({
    lines: [
      "the database is read-only: it is a standby, or default_transaction_read_only is on for it or for the role. Correct that, or PARBOOK_DATABASE_URL",
    ],
    exitCode: 1,
  });
});

test("a node whose database becomes read-only is not ready, with the reason, until it is writable again", async () => {
  let place: ClientConfig = {};
  const service = await startTestService({}, async (connection) => {
    place = connection;
    return connection;
  });
  const customer = await service.customer();
  const [from, to] = [await service.profile(customer, { USD: "9" }), await service.profile(customer)];
  const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD" };
  const send = () => service.call("POST", "/v2/transfer/internal", { as: customer.token, body });
  const readOnly = (value: string) =>
    asOwner(
      { ...place, database: "postgres" },
      `alter database ${place.database} set default_transaction_read_only = ${value}`,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${place.database}' and usename = '${place.user}'`,
    );
  await readOnly("on");
  const why = "the database is read-only";
  await until("writes are rejected in words", async () => (await send()).body.detail === why);
  const read = await service.call("GET", `/v2/profiles/${from}`, { as: customer.token });
  const ready = await service.call("GET", "/readyz");
  expect([read.status, ready.status, ready.body.detail]).toEqual([200, 503, "not ready: database (it is read-only)"]);
  await readOnly("off");
  await until("writes succeed again", async () => (await send()).status === 200);
  expect((await service.call("GET", "/readyz")).status).toBe(200);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

test("a role without execute on pg_logical_emit_message is rejected with the reason", async () => {
  const revoke = `do $$ declare each regprocedure; begin
    for each in select oid from pg_proc where proname = 'pg_logical_emit_message' and proargtypes[2] = 'text'::regtype
    loop execute format('revoke execute on function %s from public', each); end loop; end $$`;
  const failure = await startTestService({}, async (connection) => {
    await asOwner(connection, revoke);
    return connection;
  }).catch((error: Error) => error);
  expect(failure).toMatchObject({
    name: "StartupError",
    message: "the service's role may not execute pg_logical_emit_message: grant it",
  });
});

test("a database with another encoding is rejected with the reason", async () => {
  const { database: name = "" } = db.connection;
  await asOwner(
    { ...db.connection, database: "postgres" },
    `create database ${name}_latin template template0 encoding 'LATIN1' locale 'C'`,
  );
  const latin = new Database({
    connection: { ...db.connection, database: `${name}_latin` },
    maxConnections: 1,
    onIdleError: () => undefined,
  });
  onTestFinished(() => asOwner({ ...db.connection, database: "postgres" }, `drop database ${name}_latin with (force)`));
  onTestFinished(() => latin.close());
  expect(await latin.rows("select 1").catch(failureOf)).toEqual({
    lines: [
      'the database\'s server_encoding is LATIN1, but Parbook needs UTF8 (docs/settings.md, "An external PostgreSQL")',
    ],
    exitCode: 1,
  });
});
