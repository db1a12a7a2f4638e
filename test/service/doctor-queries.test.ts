/** What the doctor and the metrics read of a server, of servers in states that no test could bring one into. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Queryable } from "../../src/postgres/database.ts";
import { readArchiveFailing, readLogArchive } from "../../src/postgres/wal-archiving-status.ts";
import { EXAMINATIONS_OF_SERVER, type ExaminedDatabase } from "../../src/service/doctor/examine-database.ts";
import { readIdleSlots } from "../../src/service/doctor/log-archive.ts";
import { readStandbys } from "../../src/service/doctor/standbys.ts";
import { readUpkeep } from "../../src/service/doctor/upkeep.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

/** Reads with views and functions of these definitions in place of the server's own. */
function withServer<Value>(
  definitions: readonly string[],
  read: (server: Queryable) => Promise<Value>,
): Promise<Value> {
  return db.owner.transaction(async (transaction) => {
    await transaction.rows("create schema pretended");
    await transaction.rows("set local search_path = pretended, pg_catalog");
    for (const definition of definitions) await transaction.rows(`create ${definition}`);
    const value = await read(transaction);
    await transaction.rows("drop schema pretended cascade");
    return value;
  });
}

const view = (name: string, columns: string, rows: string): string =>
  `view pretended.${name} as select * from (values ${rows}) as v (${columns})`;

const replication = (rows: string): string =>
  view("pg_stat_replication", "pid, application_name, state, sync_state, replay_lag", rows);

test("of several standbys the one that is furthest behind counts, and receivers of backups, archives and changes are none", async () => {
  const standbys = `(1, 'near', 'streaming', 'sync', interval '0.5 s'), (2, 'far', 'streaming', 'async', interval '40 s'),
                    (3, 'caught up', 'streaming', 'quorum', null)`;
  const others = `(4, 'pg_basebackup', 'streaming', 'async', interval '99 s'), (5, 'another program', 'backup', 'async', interval '99 s'),
                  (6, 'pg_receivewal', 'streaming', 'sync', interval '99 s'), (7, 'barman_receive_wal', 'streaming', 'sync', interval '99 s'),
                  (8, 'a warehouse', 'streaming', 'sync', interval '99 s')`;
  const slots = view(
    "pg_replication_slots",
    "active_pid, slot_type",
    "(8, 'logical'), (1, 'physical'), (null, 'logical')",
  );
  expect(await withServer([replication(`${standbys}, ${others}`), slots], readStandbys)).toEqual({
    ...{ names: "", connected: 3, confirming: 2, behindSeconds: 40 },
  });
  // Of some the role may see no more than that they are there.
  const hidden = "(9, 'hidden', null, null, null::interval)";
  expect(await withServer([replication(`${standbys}, ${hidden}`), slots], readStandbys)).toMatchObject({
    ...{ connected: 4, confirming: undefined },
  });
  expect(await withServer([replication(others), slots], readStandbys)).toEqual({
    ...{ names: "", connected: 0, confirming: 0, behindSeconds: undefined },
  });
});

test("of replication slots those without a reader are read, with the log that each keeps", async () => {
  const rows = `('lost', false, null::pg_lsn), ('kept', false, pg_current_wal_lsn() - 5000), ('read', true, '0/1')`;
  const slots = await withServer([view("pg_replication_slots", "slot_name, active, restart_lsn", rows)], readIdleSlots);
  expect(slots).toEqual([
    { name: "kept", bytes: expect.any(Number) },
    { name: "lost", bytes: undefined },
  ]);
  expect(slots[0]?.bytes).toBeGreaterThanOrEqual(5_000);
  expect(slots[0]?.bytes).toBeLessThan(2 ** 30);
});

/**
 * A number that so many transactions, or sets of lockers, were begun after. More of them than the server has had: the numbers
 * below 3, where a young server's would begin, are of no age.
 */
const xidOf = (next: string, age: number): string => `((${next} + 4294967296 - ${age}) % 4294967296)::text::xid`;
const frozen = (age: number): string => xidOf("pg_current_xact_id()::text::bigint", age);
const lockers = (age: number): string => xidOf("(mxid_age('1'::xid)::bigint + 1)", age);

test("the oldest row is that of any database, by transactions or by lockers; of two bounds of connections the lower counts", async () => {
  const [row] = await db.owner.rows<{ name: string; role: string }>(
    "select current_database() as name, current_user as role",
  );
  const { name, role } = row ?? expect.fail("one row");
  const upkeepOf = (databases: string, bound: number, ofRole: number) => {
    const columns = "oid, datname, datcollversion, datconnlimit, datfrozenxid, datminmxid";
    const own = `(1::oid, '${name}'::name, null::text, ${bound}, ${frozen(100)}, ${lockers(50_000)})`;
    const definitions = [
      view("pg_database", columns, `${own}, ${databases}`),
      view("pg_roles", "rolname, rolconnlimit", `('${role}'::name, ${ofRole}), ('another', 1)`),
    ];
    return withServer(definitions, readUpkeep);
  };
  const byTransactions = `(2, 'older', null, -1, ${frozen(700_000)}, ${lockers(10_000)})`;
  const byLockers = `(3, 'locked', null, -1, ${frozen(20)}, ${lockers(900_000)})`;
  const shared = { database: name, collation: undefined };
  expect(await upkeepOf(`${byTransactions}, ${byLockers}`, 50, 20)).toEqual({
    ...{ ...shared, transactionAge: 900_000, oldest: "locked", connectionLimit: 20 },
  });
  expect(await upkeepOf(byTransactions, 50, -1)).toEqual({
    ...{ ...shared, transactionAge: 700_000, oldest: "older", connectionLimit: 50 },
  });
  expect(await upkeepOf(byTransactions, -1, -1)).toMatchObject({ connectionLimit: undefined });
});

test("archiving fails if the last attempt has failed, and of an archive that is off it is not said", async () => {
  const failing = (failed: string, archived: string, mode = "on") => {
    const columns = "last_failed_time, last_archived_time, last_archived_wal, stats_reset";
    const times = [failed, archived].map((time) => `${time}::timestamptz`);
    const definitions = [
      view("pg_stat_archiver", columns, `(${times.join(", ")}, 'x', now())`),
      `function pretended.current_setting(text, boolean) returns text language sql as $$ select '${mode}' $$`,
    ];
    return withServer(definitions, async (server) => [
      (await readLogArchive(server)).isFailing,
      await readArchiveFailing(server),
    ]);
  };
  const [earlier, later] = ["'2026-11-21 05:00Z'", "'2026-11-21 05:01Z'"];
  expect(await failing(later, earlier)).toEqual([true, true]);
  expect(await failing(earlier, later)).toEqual([false, false]);
  expect(await failing(earlier, "null")).toEqual([true, true]);
  expect(await failing("null", earlier)).toEqual([false, false]);
  expect(await failing("null", "null")).toEqual([false, false]);
  expect((await failing(later, earlier, "always"))[1]).toBe(true);
  expect((await failing(later, earlier, "off"))[1]).toBe(undefined);
});

test("archiving fails if segments wait for a quarter of an hour, as behind a command that hangs, or that is empty", async () => {
  const failing = (archived: string, minutes: { running: number; archived: string }, current: string) => {
    const ago = (of: number | string) => `clock_timestamp() - ${of} * interval '1 minute'`;
    const columns = "last_failed_time, last_archived_time, last_archived_wal, stats_reset";
    const times = `null::timestamptz, ${ago(minutes.archived)}`;
    const definitions = [
      view("pg_stat_archiver", columns, `(${times}, ${archived}, ${ago(minutes.running)})`),
      "function pretended.current_setting(text, boolean) returns text language sql as $$ select 'on' $$",
      `function pretended.pg_postmaster_start_time() returns timestamptz language sql as $$ select ${ago(minutes.running)} $$`,
      `function pretended.pg_walfile_name(pg_lsn) returns text language sql as $$ select '0000000100000000000000${current}' $$`,
    ];
    return withServer(definitions, readArchiveFailing);
  };
  const last = "'00000001000000000000000A'";
  expect(await failing(last, { running: 600, archived: "16" }, "0D")).toBe(true);
  // None is complete but one, which may be on its way.
  expect(await failing(last, { running: 600, archived: "16" }, "0C")).toBe(false);
  expect(await failing(last, { running: 600, archived: "14" }, "0D")).toBe(false);
  expect(await failing(last, { running: 14, archived: "600" }, "0D")).toBe(false);
  expect(await failing("null", { running: 16, archived: "null" }, "03")).toBe(true);
});

test("a connection in clear is found, unless it stays on this machine", async () => {
  const { find } = EXAMINATIONS_OF_SERVER.find(({ covers }) => covers.includes("database-cleartext")) ?? expect.fail();
  const found = (encrypted: boolean, address: string, isEmbedded = false) => {
    const definitions = [
      view("pg_stat_ssl", "pid, ssl", `(-1, ${!encrypted}), (pg_backend_pid(), ${encrypted})`),
      `function pretended.inet_server_addr() returns inet language sql as $$ select ${address}::inet $$`,
    ];
    return withServer(definitions, async (database) => {
      const about = {
        database,
        config: { databaseUrl: isEmbedded ? undefined : "postgres://db/parbook" },
      } as unknown as ExaminedDatabase;
      return (await find(about)).map(({ name }) => name);
    });
  };
  for (const address of ["'192.0.2.7'", "'2001:db8::1'", "'126.0.0.1'"]) {
    expect([address, await found(false, address)]).toEqual([address, ["database-cleartext"]]);
    expect([address, await found(true, address)]).toEqual([address, []]);
  }
  for (const address of ["null", "'127.0.0.1'", "'127.8.8.8'", "'::1'"])
    expect([address, await found(false, address)]).toEqual([address, []]);
  expect(await found(false, "'192.0.2.7'", true)).toEqual([]);
});
