/** Only `parbook migrate` makes a new ledger in production: not a start without its disk, or in a wrong place. */
import { mkdir, readdir, rename, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import { urlOf } from "../support/service.ts";
import { answerOf, dataDirectory, parbook, type Settings, startService } from "./parbook.ts";

const SECRET = "k3Jd9sKq0aLw8Zx7Cv6Bn5Mm4Qq3Ww2Ee1Rr0Tt9Yyz";
const TREASURY = "0190d5a4-1111-7000-8000-000000000004";
const BOOTSTRAP = {
  customers: [
    {
      ...{ id: "0190d5a4-1111-7000-8000-000000000002", name: "Acme" },
      clients: [{ client_id: "acme", client_secret: SECRET, scopes: ["*"] }],
      profiles: [{ id: TREASURY, nickname: "treasury", balances: { USD: "1000" } }],
    },
  ],
};
const ONLY_MIGRATE = "Only parbook migrate makes a new, empty ledger in production";

const failureOf = async (settings: Settings, command: string) => {
  const { exitCode, stderr } = await parbook({ PARBOOK_PORT: "0", PARBOOK_AUTH_PORT: "0", ...settings }, command);
  return { exitCode, said: stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{")) };
};

test("a start in production without its disk creates nothing, and goes on with the ledger when it is back", async () => {
  const place = await dataDirectory();
  onTestFinished(place.remove);
  const [disk, bootstrap] = [join(place.path, "disk"), join(place.path, "customers.json")];
  await writeFile(bootstrap, JSON.stringify(BOOTSTRAP));
  const settings = {
    ...{ PARBOOK_MODE: "production", PARBOOK_WITHOUT_TLS: "http", PARBOOK_BOOTSTRAP: bootstrap },
    PARBOOK_DATA_DIR: join(disk, "data"),
  };
  const missing = {
    exitCode: 1,
    said: [
      `there is no database in ${disk}/data: is its disk mounted, and PARBOOK_DATA_DIR (or PARBOOK_DATABASE_URL) that of the service? ${ONLY_MIGRATE}`,
    ],
  };
  expect(await failureOf(settings, "start")).toEqual(missing);
  expect(await readdir(place.path)).toEqual(["customers.json"]);
  expect(await answerOf(settings, "migrate")).toMatchObject({ service_role: "parbook" });
  await (await startService(settings)).end("SIGTERM");

  await rename(disk, `${disk}-not-mounted`);
  await mkdir(disk);
  for (const command of ["start", "verify"]) expect(await failureOf(settings, command)).toEqual(missing);
  expect(await readdir(disk)).toEqual([]);
  await rmdir(disk);
  await rename(`${disk}-not-mounted`, disk);
  await (await startService(settings)).end("SIGTERM");
  const verified = await parbook(settings, "verify");
  expect([verified.exitCode, verified.stdout]).toEqual([0, expect.stringContaining("The ledger is sound")]);
});

test("an external database without a ledger gets one by migrate, not by a start that may migrate", async () => {
  const place = await dataDirectory();
  const [owner, role, name] = [inject("owner"), inject("serviceRole"), `parbook_empty_${process.pid}`];
  const open = (database: string) =>
    new Database({ connection: { ...owner, database }, maxConnections: 1, onIdleError: () => undefined });
  const admin = open("postgres");
  await admin.rows(`create database ${name}`);
  const own = open(name);
  onTestFinished(async () => {
    await own.close();
    await admin.rows(`drop database ${name} with (force)`);
    await admin.close();
    await place.remove();
  });
  const ownerConnection = { ...owner, database: name };
  const roles = { ownerConnection, connection: { ...ownerConnection, user: role, password: role } };
  const settings = {
    ...{ PARBOOK_MODE: "production", PARBOOK_WITHOUT_TLS: "http,database", PARBOOK_ACCEPT: "fsync" },
    ...{ PARBOOK_DATA_DIR: place.path, PARBOOK_DATABASE_URL: urlOf(roles) },
  };
  const mayMigrate = { ...settings, PARBOOK_MIGRATE_URL: urlOf(roles, "owner") };
  const empty = {
    exitCode: 1,
    said: [`the database of PARBOOK_DATABASE_URL has no ledger: is it the right one? ${ONLY_MIGRATE}`],
  };
  expect(await failureOf(settings, "start")).toEqual(empty);
  expect(await failureOf(mayMigrate, "start")).toEqual(empty);
  expect(await failureOf(mayMigrate, "verify")).toEqual(empty);
  expect(await own.rows("select from pg_class where relnamespace = 'public'::regnamespace")).toEqual([]);
  expect(await answerOf(mayMigrate, "migrate")).toMatchObject({ service_role: role });
  const service = await startService(settings);
  expect((await fetch(`${service.ready.base_url}/readyz`)).status).toBe(200);
  await service.end("SIGTERM");
});
