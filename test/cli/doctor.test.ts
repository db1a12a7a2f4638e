/** `parbook doctor` on databases in states of all kinds, as a service in production would be started on them. */
import { execFileSync } from "node:child_process";
import files, { chmod, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { readLogArchive } from "../../src/postgres/wal-archiving-status.ts";
import { systemClock } from "../../src/std/clock.ts";
import { recordVerify } from "../../src/verify/last-verify.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { missingPgbouncer, startPgbouncer } from "../support/postgres/pgbouncer.ts";
import { required } from "../support/required.ts";
import { urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";
import { examine, productionOfEachTest, verified } from "./doctor-report.ts";
import { run } from "./in-process.ts";

const place = productionOfEachTest();

let db: TestDatabase;
let name: string;
beforeAll(async () => {
  db = await testDatabase();
  name = String(db.connection.database);
});
afterAll(() => db.close());

/** The tests' server runs without fsync, a standby and an archive. */
const OF_THE_SERVER = [
  "fatal fsync: the database runs with fsync=off",
  "warning no-standby: the database has no standby",
  "warning archive-off: archive_mode is off",
];

const onTestServer = (): unknown => vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));

test("a migrated database that only a test would use: what is wrong, as a terminal shows it", async () => {
  onTestServer();
  const { said, exitCode, sound } = await examine();
  expect({ said, exitCode }).toEqual({ said: OF_THE_SERVER, exitCode: 2 });
  expect(sound).toEqual(
    expect.arrayContaining(["settings", "schema", "role", "clock", "full-page-writes", "signing-keys", "events-late"]),
  );
  const { stdout, stderr } = await run(["doctor"]);
  expect(stderr).toBe("");
  expect(stdout.split("\n").slice(0, 5)).toEqual([
    "fatal    fsync: the database runs with fsync=off",
    "         A crash of its machine loses changes that were answered, and can damage all.",
    "         -> alter system set fsync = on; select pg_reload_conf()",
    "",
    "warning  no-standby: the database has no standby",
  ]);
  const all = (await run(["doctor", "--all"])).stdout;
  expect(all).toContain("ok       the clocks agree\n");
  // Without a standby it is not said that there is none that is asynchronous.
  expect(all).not.toContain("commits wait for a standby");
});

test("an archive counts from the start of the server, or from when its figures began again", async () => {
  const uptime = async (): Promise<number> => {
    const [row] = await db.owner.rows<{ seconds: number }>(
      "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8 as seconds",
    );
    return row?.seconds ?? 0;
  };
  await until("the server has run for a second", async () => (await uptime()) > 1);
  await db.owner.rows("select pg_stat_reset_shared('archiver')");
  const { secondsRunning } = await readLogArchive(db.owner);
  expect(secondsRunning).toBeLessThan((await uptime()) - 0.5);
});

test("the report says of which mode, database and Node it is", async () => {
  onTestServer();
  const [version] = await db.owner.rows<{ postgres: string }>("select current_setting('server_version') as postgres");
  const asked = async () => {
    const { mode, postgres, node } = JSON.parse((await run(["doctor", "--json"])).stdout);
    return { mode, postgres, node };
  };
  const place = { ...version, node: process.versions.node };
  expect(await asked()).toEqual({ mode: "production", ...place });
  vi.stubEnv("PARBOOK_MODE", "sandbox");
  expect(await asked()).toEqual({ mode: "sandbox", ...place });
});

test.each([
  [1_500, "ahead of"],
  [-1_500, "behind"],
])("a clock that differs by %d ms is said to be %s the database's", async (aheadMs, side) => {
  onTestServer();
  setClock(aheadMs);
  expect((await examine()).said).toContainEqual(
    expect.stringMatching(`^warning clock-drift: this clock is 1[45][0-9]{2} ms ${side} the database's$`),
  );
});

test("what is accepted by name is no warning any more", async () => {
  onTestServer();
  vi.stubEnv("PARBOOK_ACCEPT", "fsync, no-standby,archive-off,checksums");
  const { said } = await examine();
  expect(said).toEqual(OF_THE_SERVER.map((line) => line.replace(/^[a-z]+/, "accepted")));
});

test("in production no other command works on what is fatal, unless it is accepted", async () => {
  onTestServer();
  const { exitCode, stdout, stderr } = await run(["customer", "list"]);
  expect([exitCode === 0, stdout]).toEqual([false, ""]);
  expect(stderr).toContain("fsync: the database runs with fsync=off");
  vi.stubEnv("PARBOOK_ACCEPT", "fsync");
  expect((await run(["customer", "list"])).exitCode).toBe(0);
});

function setClock(aheadMs: number): void {
  const { now } = Date;
  vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
}

/** A certificate for so many days, and its key. */
function useCertificate(days: number): string {
  const [cert, key] = [join(place.directory, "crt"), join(place.directory, "key")];
  const made = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", String(days)];
  execFileSync("openssl", ["req", ...made, "-subj", "/CN=api", "-keyout", key, "-out", cert], { stdio: "ignore" });
  vi.stubEnv("PARBOOK_TLS_CERT", cert);
  vi.stubEnv("PARBOOK_TLS_KEY", key);
  return key;
}

/** Somebody whose lease of a slot lasts for so long. */
const runNode = (slot: number, holder: string, lasts = "9 s"): Promise<unknown> =>
  db.owner.rows(
    "insert into lease (name, holder, fence, expires_at) values ($1, $2, 1, clock_timestamp() + $3::interval)",
    [`slot/${slot}`, holder, lasts],
  );

const CASES: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>, string[]])[] = [
  [
    "a role that owns the ledger",
    async () => vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db, "owner")),
    async () => undefined,
    ["fatal role: the service's role can change the ledger: it is a superuser"],
  ],
  [
    "a migration that is missing",
    () => db.owner.rows("update migration set number = number + 1000"),
    () => db.owner.rows("update migration set number = number - 1000"),
    ["fatal schema: the database has migration"],
  ],
  [
    "a database that was never migrated",
    () => db.owner.rows("alter table migration rename to no_migration"),
    () => db.owner.rows("alter table no_migration rename to migration"),
    ["fatal schema: the database lacks 0001-schema.sql"],
  ],
  [
    "a client of a sandbox's demo in the database",
    () =>
      db.owner.rows(
        `with demo as (insert into customer (id, name, created_at) values (gen_random_uuid(), 'Demo', now()) returning id)
         insert into client (client_id, customer_id, scopes, created_at) select 'acme-1a2b3c', id, '{*}', now() from demo`,
      ),
    async () => {
      await db.owner.rows("delete from client");
      await db.owner.rows("delete from customer");
    },
    ["fatal sandbox-data: the database contains the demo of a sandbox (acme-1a2b3c)"],
  ],
  [
    "a database on which a sandbox was started, with a catalogue of its own",
    () =>
      db.owner.rows("with m as (insert into service_mode values ('sandbox')) update ledger set own_catalogue = true"),
    () => db.owner.rows("with m as (delete from service_mode) update ledger set own_catalogue = false"),
    [
      "fatal settings: this database has a catalogue of its own: set PARBOOK_CATALOGUE to its file",
      "fatal sandbox-data: the database was a sandbox's, with money that nobody paid in",
    ],
  ],
  [
    "a certificate and a dialect that are not there",
    async () => {
      vi.stubEnv("PARBOOK_DIALECT", join(place.directory, "dialect.json"));
      for (const each of ["CERT", "KEY"]) vi.stubEnv(`PARBOOK_TLS_${each}`, join(place.directory, "none.pem"));
    },
    async () => undefined,
    ["fatal settings: PARBOOK_TLS_CERT ", "fatal settings: PARBOOK_DIALECT "],
  ],
  [
    "a read-only database",
    () => db.owner.rows(`alter database ${name} set default_transaction_read_only = on`),
    () =>
      db.owner.transaction(async (transaction) => {
        await transaction.rows("set transaction read write");
        await transaction.rows(`alter database ${name} reset default_transaction_read_only`);
      }),
    ["fatal read-only: default_transaction_read_only is on for the database or the role"],
  ],
  [
    "a bound of connections",
    async () => {
      await db.owner.rows(`alter database ${name} connection limit 50`);
      await db.owner.rows(`alter role ${db.connection.user} connection limit 200`);
    },
    async () => {
      await db.owner.rows(`alter database ${name} connection limit -1`);
      await db.owner.rows(`alter role ${db.connection.user} connection limit -1`);
    },
    ["warning connections: 50 connections are allowed, two nodes and an operator need 60"],
  ],
  [
    "another version of the collation",
    () => db.owner.rows(`update pg_database set datcollversion = '1.2' where datname = '${name}'`),
    () => db.owner.rows(`update pg_database set datcollversion = null where datname = '${name}'`),
    ["warning collation: the collation was 1.2 when"],
  ],
  [
    "a table that the role may not read",
    () => db.owner.rows(`revoke select on lease from ${db.connection.user}`),
    () => db.owner.rows(`grant select on lease to ${db.connection.user}`),
    ["note unreadable: nodes: permission denied for table lease"],
  ],
  [
    "signing keys from before they were encrypted",
    () =>
      db.owner.rows(
        `insert into signing_key (kid, algorithm, private_jwk, public_jwk, created_at) values ('k', 'ES256', '{"d":"x"}', '{}', now())`,
      ),
    () => db.owner.rows("delete from signing_key"),
    ["warning signing-keys: a signing key is from before PARBOOK_KEY_ENCRYPTION_KEY was set"],
  ],
  [
    "a node that serves no market",
    () => runNode(0, "a"),
    () => db.owner.rows("delete from lease"),
    ["warning markets-unserved: no node serves"],
  ],
  [
    "a change that has waited for its event",
    async () => {
      await runNode(0, "a");
      await db.owner.rows(
        `insert into batch (slot, n, hash, at, void, rows_found, rows_expected, claims_made, claims_expected, predecessor, in_time)
         values (1, 0, sha256('x'), now() - interval '40 s', true, 0, 0, 0, 0, 1, true)`,
      );
    },
    async () => {
      await db.owner.rows("delete from lease");
      await db.owner.rows("delete from batch");
    },
    ["warning markets-unserved: no node serves", "warning events-late: changes have waited 4"],
  ],
  [
    "a node whose lease has ended, or that had it from a clock far ahead, does not run: nothing",
    async () => {
      await runNode(0, "a", "-1 s");
      await runNode(1, "b", "1 hour");
    },
    () => db.owner.rows("delete from lease"),
    [],
  ],
  [
    "the demo of a sandbox in the data directory",
    () => writeFile(join(place.directory, "demo.json"), "{}"),
    async () => undefined,
    ["fatal sandbox-data:"],
  ],
  [
    "a bootstrap file that others can read",
    async () => {
      const path = join(place.directory, "customers.json");
      await writeFile(path, '{"customers":[]}', { mode: 0o644 });
      vi.stubEnv("PARBOOK_BOOTSTRAP", path);
    },
    async () => undefined,
    ["warning secret-files:"],
  ],
  [
    "a bootstrap file with a scope that there is not and a name that is taken, and a catalogue without lists",
    async () => {
      await db.owner.rows("insert into customer (id, name, created_at) values (gen_random_uuid(), 'Acme', now())");
      const [customers, catalogue] = [join(place.directory, "customers.json"), join(place.directory, "catalogue.json")];
      const clients = [{ client_id: "acme", client_secret: "x".repeat(43), scopes: ["money:make"] }];
      const file = JSON.stringify({ customers: [{ name: "Acme", clients }] });
      await writeFile(customers, file, { mode: 0o600 });
      await writeFile(catalogue, "{}");
      vi.stubEnv("PARBOOK_BOOTSTRAP", customers);
      vi.stubEnv("PARBOOK_CATALOGUE", catalogue);
    },
    () => db.owner.rows("delete from customer"),
    [
      "fatal settings: catalogue.json is not an object with the lists assets, markets and fee_tiers",
      "fatal settings: the bootstrap file cannot be applied:",
      'fatal settings:   customer "Acme": another customer in the database has this name',
      'fatal settings:   client "acme": "money:make" is not a scope',
    ],
  ],
  [
    "a bootstrap file that the group may read, as the operator wants it: nothing",
    async () => {
      const path = join(place.directory, "customers.json");
      await writeFile(path, '{"customers":[]}', { mode: 0o640 });
      vi.stubEnv("PARBOOK_BOOTSTRAP", path);
    },
    async () => undefined,
    [],
  ],
  [
    "a certificate that ends in six days, with a key that the group can replace",
    () => chmod(useCertificate(6), 0o620),
    async () => undefined,
    ["warning certificate-ends: PARBOOK_TLS_CERT ends on", "warning secret-files:"],
  ],
  ["a certificate that ends in eight days: nothing", async () => useCertificate(8), async () => undefined, []],
  [
    "a verify that has found something",
    () => recordVerify(verified(), { finishedAt: systemClock.now(), sound: false }),
    async () => undefined,
    ["fatal verify-failed: parbook verify of"],
  ],
  [
    "a clock that is wrong",
    async () => setClock(5_000),
    async () => undefined,
    ["fatal clock: the clock of this node is 5.0 s ahead of the database's, and 2 s are allowed"],
  ],
  [
    "a clock that is soon wrong",
    async () => setClock(-1_500),
    async () => undefined,
    ["warning clock-drift: this clock is "],
  ],
  [
    "public addresses without TLS",
    async () => vi.stubEnv("PARBOOK_WITHOUT_TLS", ""),
    async () => undefined,
    ["fatal settings: PARBOOK_BASE_URL must begin with", "fatal settings: PARBOOK_AUTH_URL must begin with"],
  ],
];

test.for(CASES)("%s is found, and nothing else", async ([, change, undo, expected]) => {
  onTestServer();
  onTestFinished(async () => void (await undo()));
  await change();
  const { said } = await examine();
  const found = said.filter((line) => !OF_THE_SERVER.includes(line));
  expect(found.map((line, at) => line.slice(0, expected[at]?.length))).toEqual(expected);
});

const sayingOf = async (kind: string): Promise<string[]> =>
  (await examine([])).said.filter((line) => line.includes(` ${kind}: `));

test("one node is found, however many slots it has, and two are not", async () => {
  onTestServer();
  onTestFinished(async () => void (await db.owner.rows("delete from lease")));
  await runNode(0, "a");
  await runNode(1, "a");
  expect(await sayingOf("one-node")).toEqual(["note one-node: one node runs"]);
  await runNode(2, "b");
  expect(await sayingOf("one-node")).toEqual([]);
});

test("a disk of which less than a tenth is free is found", async () => {
  onTestServer();
  onTestFinished(() => void vi.restoreAllMocks());
  const withFree = (bavail: number): Promise<string[]> => {
    vi.spyOn(files, "statfs").mockResolvedValue({ bavail, blocks: 1_000 } as never);
    syncBuiltinESMExports();
    return sayingOf("disk");
  };
  onTestFinished(syncBuiltinESMExports);
  expect(await withFree(100)).toEqual([]);
  expect(await withFree(99)).toEqual([`warning disk: 9 % of the disk of ${place.directory} is free`]);
});

test("a setting that is not valid, or a database that is away, is a finding and not a failure of the doctor", async () => {
  const nowhere = new URL(urlOf(db));
  nowhere.pathname = "/nowhere";
  vi.stubEnv("PARBOOK_DATABASE_URL", nowhere.href);
  expect((await examine()).said).toEqual([
    'fatal database-away: the database reports an error: database "nowhere" does not exist',
  ]);
  vi.stubEnv("PARBOOK_DATABASE_URL", "postgres://192.0.2.1/parbook");
  const { said, exitCode } = await examine();
  expect([said.length, said[0]?.slice(0, 61), exitCode]).toEqual([
    1,
    "fatal settings: PARBOOK_DATABASE_URL does not make the driver",
    2,
  ]);
  vi.stubEnv("PARBOOK_DATABASE_URL", nowhere.href);
  await writeFile(join(place.directory, "ready.json"), "{");
  expect(await run(["doctor"])).toMatchObject({ exitCode: 2, stdout: "" });
  expect(await run(["doctor", "--nothing"])).toMatchObject({ exitCode: 2, stdout: "" });
});

test.for([
  ["session", []],
  ["transaction", ["fatal database-away: database connections do not have dedicated backends: a pooler shares them"]],
] as const)("behind PgBouncer with pool_mode = %s", async ([mode, expected], context) => {
  required(context, missingPgbouncer());
  const pgbouncer = await startPgbouncer(db.connection, { pool_mode: mode });
  onTestFinished(() => pgbouncer.close());
  vi.stubEnv("PARBOOK_DATABASE_URL", urlOf({ ...db, connection: pgbouncer.connection }));
  const found = (await examine()).said.filter((line) => !OF_THE_SERVER.includes(line));
  expect(found.map((line, at) => line.slice(0, expected[at]?.length))).toEqual(expected);
});
