/** What a start does and what it rejects, with the service in this process. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type ClientConfig } from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { rejectDemoClients, rejectSandboxData } from "../../src/service/bootstrap/reject-sandbox-data.ts";
import { type Config, InvalidSettings } from "../../src/service/config/config.ts";
import { testDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { startTestService } from "../support/service.ts";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "parbook-start-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const CUSTOMER = "0190d5a4-1111-7000-8000-000000000001";

async function bootstrapFile(content: unknown): Promise<string> {
  const path = join(directory, "bootstrap.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const PRODUCTION: Partial<Config> = { mode: "production", withoutTls: new Set(["http"]) };

test("a sandbox without the owner's connection starts if there is nothing to migrate", async () => {
  const service = await startTestService({ migrateUrl: undefined });
  expect((await service.call("GET", "/readyz")).status).toBe(200);
  await service.close();
});

/** A sandbox of which the last migration is gone, and that has only the service's connection. */
async function failureToMigrate(settings: Partial<Config> = {}) {
  let last: string | undefined;
  const failure = await startTestService({ migrateUrl: undefined, ...settings }, async (connection) => {
    const { user, password } = inject("owner");
    const database = new Client({ ...connection, user, password });
    await database.connect();
    const newest = "number = (select max(number) from migration)";
    const gone = await database.query<{ name: string }>(`delete from migration where ${newest} returning name`);
    last = gone.rows[0]?.name;
    await database.end();
    return connection;
  }).catch((error: Error) => error.message);
  return { failure, last };
}

test("a sandbox that has to migrate without the owner's connection says what is missing", async () => {
  const { failure, last } = await failureToMigrate();
  expect(failure).toBe(`the database lacks ${last}: run parbook migrate with PARBOOK_MIGRATE_URL first`);
});

test("one that cannot migrate for any other reason says this", async () => {
  const { failure } = await failureToMigrate({ catalogue: "/nowhere/catalogue.json" });
  expect(failure).toBe("PARBOOK_CATALOGUE /nowhere/catalogue.json cannot be read: ENOENT");
});

test("production rejects a database that is not durable, and a role that could change the ledger", async () => {
  const { user, password } = inject("owner");
  const asOwner = async (database: ClientConfig): Promise<ClientConfig> => ({ ...database, user, password });
  const failure = await startTestService({ ...PRODUCTION }, asOwner).then(
    () => undefined,
    (error: Error) => error,
  );
  expect(failure?.message.split("\n")).toEqual([
    "fsync: the database runs with fsync=off; a crash of its machine loses changes that were answered, and can damage all. Do: alter system set fsync = on; select pg_reload_conf(); or accept it: PARBOOK_ACCEPT=fsync",
    'role: the service\'s role can change the ledger: it is a superuser; a bug or a stolen password could rewrite the ledger. Do: use a role of its own for the service (docs/settings.md, "An external PostgreSQL")',
  ]);
});

test("production starts with what is accepted by name, and logs what else is not fit", async () => {
  const service = await startTestService({ ...PRODUCTION, accepted: new Set(["fsync"]) });
  const said: string[] = [];
  const write = (line: string): void => {
    const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string };
    const [, lead, name] = /^(accepted: )?([a-z-]+): .*; .*\. Do: /.exec(msg) ?? [];
    if (name !== undefined) said.push(`${lead === undefined && level === 40 ? "warning" : "accepted"} ${name}`);
  };
  await service.another({}, pino({ level: "info" }, { write }));
  await service.close();
  const expected = ["accepted fsync", "warning no-standby", "warning archive-off", "warning signing-keys"];
  expect(said).toEqual(
    expect.arrayContaining([...expected, "warning metrics", "warning no-proxy", "warning verify-old"]),
  );
  // The second one, for which one runs.
  expect(said.join()).not.toContain("one-node");
});

test("a database stays a sandbox's or production's, as its first start has it", async () => {
  const settings = { ...PRODUCTION, accepted: new Set(["fsync"]) } as const;
  const sandbox = await startTestService({ bootstrap: await bootstrapFile({ customers: [{ name: "Acme" }] }) });
  await expect(sandbox.another({ ...settings, bootstrap: undefined })).rejects.toThrow(
    "the database was a sandbox's, with money that nobody paid in: production needs its own database",
  );
  await sandbox.another();
  await sandbox.close();

  const production = await startTestService(settings);
  await production.customer("Acme");
  const rows = () => production.db.owner.rows("select name from customer");
  const before = await rows();
  await expect(production.another({ mode: "sandbox" })).rejects.toThrow(
    "the database is production's: set PARBOOK_MODE=production, or give the sandbox a database of its own",
  );
  expect(await rows()).toEqual(before);
  await production.another();
  await production.close();
});

test("production rejects addresses that are not safe for sending a secret", async () => {
  const of = (setting: string) =>
    `${setting} must begin with https:// in production: set it, or set PARBOOK_TLS_CERT and PARBOOK_TLS_KEY if there is no TLS proxy, or set PARBOOK_WITHOUT_TLS=http to allow plain HTTP`;
  await expect(startTestService({ mode: "production" })).rejects.toThrow(
    new InvalidSettings([of("PARBOOK_BASE_URL"), of("PARBOOK_AUTH_URL")]),
  );
  const half = { baseUrl: "https://api.example.com", authUrl: "http://auth.example.com" };
  await expect(startTestService({ mode: "production", ...half })).rejects.toThrow(of("PARBOOK_AUTH_URL"));
  const certified = { tlsCert: "/nowhere/parbook.crt", tlsKey: "/nowhere/parbook.key" };
  await expect(startTestService({ mode: "production", ...certified, baseUrl: "http://api" })).rejects.toThrow(
    of("PARBOOK_BASE_URL"),
  );
});

test("production rejects sandbox data and guessable or published secrets", async () => {
  const clients = [
    { client_id: "acme-00ff00", client_secret: "0123456789012345678901234567890", scopes: ["*"] },
    { client_id: "short", client_secret: "0123456789012345678", scopes: ["*"] },
    { client_id: "copied", client_secret: "correct horse battery staple", scopes: ["*"] },
    { client_id: "fine", client_secret: "01234567890123456789", scopes: ["*"] },
  ];
  const bootstrap = await bootstrapFile({ customers: [{ name: "Acme", clients }] });
  // The tests' server is not durable.
  await expect(startTestService({ ...PRODUCTION, accepted: new Set(["fsync"]), bootstrap })).rejects.toThrow(
    [
      'the client "acme-00ff00" of the bootstrap file belongs to a sandbox demo',
      'the client "short" of the bootstrap file has a secret of fewer than 20 characters, which is guessable',
      'the client "copied" of the bootstrap file has a secret published in the documentation',
    ].join("\n"),
  );
  const dataDir = await mkdtemp(join(directory, "data-"));
  await writeFile(join(dataDir, "demo.json"), "{}");
  await expect(rejectSandboxData(dataDir, undefined)).rejects.toThrow(
    `${dataDir}/demo.json is the demo of a sandbox: production needs its own data directory`,
  );
});

test("production rejects a sandbox database while its demo clients are live", async () => {
  const db = await testDatabase();
  const start = () => rejectDemoClients(db.database);
  await db.owner.rows(`insert into customer (id, name, created_at) values ('${CUSTOMER}', 'Acme', now())`);
  const insert = (clientId: string) =>
    db.owner.rows("insert into client (client_id, customer_id, scopes, created_at) values ($1, $2, '{*}', now())", [
      clientId,
      CUSTOMER,
    ]);
  for (const innocent of ["acme", "acme-00ff001", "my-acme-00ff00"]) await insert(innocent);
  await start();
  await insert("borealis-0123ab");
  await expect(start()).rejects.toThrow(
    "the database contains the demo of a sandbox (borealis-0123ab): production needs its own database",
  );
  await db.owner.rows("update client set disabled_at = now() where client_id = 'borealis-0123ab'");
  await start();
  await db.close();
});

test("readyz and healthz respond, and ready.json exists while the service runs", async () => {
  const service = await startTestService();
  expect((await service.call("GET", "/healthz")).body).toEqual({ status: "alive" });
  expect((await service.call("GET", "/readyz")).body).toEqual({ status: "ready" });
  await service.db.owner.rows("update migration set checksum = 'edited'");
  const { status, body } = await service.call("GET", "/readyz");
  expect([status, body.detail]).toEqual([503, "not ready: migrations"]);
  await service.close();
});

test("/docs is told the client of the demo, and only where nobody but this machine reaches it", async () => {
  const demo = { bootstrap: undefined };
  const statusWith = async (settings: Partial<Config>): Promise<number> => {
    const { call, close } = await startTestService(settings);
    const { status } = await call("GET", "/docs/demo-client");
    await close();
    return status;
  };
  expect(await statusWith(demo)).toBe(200);
  expect(await statusWith({ ...demo, host: "0.0.0.0" })).toBe(404);
  const port = await freePort();
  expect(await statusWith({ ...demo, port, baseUrl: `http://127.0.0.1:${port}` })).toBe(404);
  expect(await statusWith({})).toBe(404);
});

test("a data directory serves one node, also on an external database, and a rejected start changes nothing in it", async () => {
  const dataDir = join(directory, "shared");
  const service = await startTestService({ dataDir });
  const before = [await readdir(dataDir), await readFile(join(dataDir, "ready.json"), "utf8")];
  await expect(service.another({ dataDir })).rejects.toThrow(
    `another service (process ${process.pid}) is running on the data directory ${dataDir}: stop it, or set PARBOOK_DATA_DIR to another one`,
  );
  expect([await readdir(dataDir), await readFile(join(dataDir, "ready.json"), "utf8")]).toEqual(before);
  await service.stop();
  await service.another({ dataDir });
  await service.close();
});
