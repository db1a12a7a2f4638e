/** A command that lacks a setting with which its database is used (PARBOOK_MODE, PARBOOK_CATALOGUE) changes nothing in it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { readOwnCatalogue } from "../../src/catalogue/fill-catalogue.ts";
import type { Database } from "../../src/postgres/database.ts";
import { expectBooksBalance } from "../support/books.ts";
import { testDatabase } from "../support/database.ts";
import { startTestService, urlOf } from "../support/service.ts";
import { newDatabase } from "../upgrade/new-database.ts";
import { run } from "./in-process.ts";

afterEach(() => void vi.unstubAllEnvs());

const OWN_CATALOGUE = "this database has a catalogue of its own: set PARBOOK_CATALOGUE to its file";

async function ownCatalogue(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parbook-catalogue-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const { assets, markets, fee_tiers } = await readOwnCatalogue();
  const own = {
    assets: assets.filter(({ code }) => code === "USD" || code === "BTC"),
    markets: markets.filter(({ code }) => code === "BTCUSD"),
    fee_tiers,
  };
  const path = join(folder, "catalogue.json");
  await writeFile(path, JSON.stringify(own));
  return path;
}

const codesIn = async (owner: Database) => ({
  assets: (await owner.rows<{ code: string }>("select code from asset order by code")).map(({ code }) => code),
  markets: (await owner.rows<{ code: string }>("select code from market order by code")).map(({ code }) => code),
});
const OWN = { assets: ["BTC", "USD"], markets: ["BTCUSD"] };

test("migrate says what it creates in the catalogue, and without the operator's file it creates nothing beside it", async () => {
  const { database, settings } = await newDatabase();
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  vi.stubEnv("PARBOOK_CATALOGUE", await ownCatalogue());
  expect(await run(["migrate"])).toEqual({
    exitCode: 0,
    stdout: "applied 0001-schema.sql\ncreated 2 assets: USD, BTC\ncreated 1 market: BTCUSD\n",
    stderr: "",
  });
  vi.stubEnv("PARBOOK_CATALOGUE", "");
  const rejected = { exitCode: 2, stdout: "", stderr: `${OWN_CATALOGUE}\n` };
  expect(await run(["migrate"])).toEqual(rejected);
  expect(await run(["migrate", "--json"])).toEqual(rejected);
  expect(await run(["start", "--coin", "ACMEUSD"])).toEqual(rejected);
  expect(await codesIn(database)).toEqual(OWN);
});

test("migrate on a new database without a file of the operator's takes the program's, and again what is new in it", async () => {
  const { database, settings } = await newDatabase();
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const { assets, markets } = await readOwnCatalogue();
  const created = { assets: assets.map(({ code }) => code), markets: markets.map(({ code }) => code) };
  const record = async () => JSON.parse((await run(["migrate", "--json"])).stdout);
  const service_role = new URL(settings.PARBOOK_DATABASE_URL).username;
  expect(await record()).toEqual({ applied: ["0001-schema.sql"], ...created, service_role });
  await database.rows(
    `with schedule as (delete from fee_schedule where market = 'BTCUSD'),
          tier as (delete from fee_tier where market = 'BTCUSD')
     delete from market where code = 'BTCUSD'`,
  );
  // As a command finds it after an upgrade whose catalogue has a new market.
  expect((await run(["market", "list", "--json"])).exitCode).toBe(0);
  expect((await codesIn(database)).markets).not.toContain("BTCUSD");
  expect(await record()).toEqual({ applied: [], assets: [], markets: ["BTCUSD"], service_role });
});

test("a start says what it creates in the catalogue; one of a hundred and one names a hundred", async () => {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line).msg);
  const path = await ownCatalogue();
  const own = await readOwnCatalogue();
  const codes = Array.from({ length: 101 }, (_, n) => `C${n}`);
  const coins = codes.map((code) => ({ code, kind: "crypto", precision: 8 }));
  const market = { ...own.markets[0], code: "C0USD", base: "C0" };
  await writeFile(
    path,
    JSON.stringify({ ...own, assets: [...own.assets, ...coins], markets: [...own.markets, market] }),
  );
  const service = await startTestService({ catalogue: path }, undefined, undefined, undefined, write);
  onTestFinished(() => service.close());
  expect(lines.filter((line) => line.startsWith("created "))).toEqual([
    `created 101 assets: ${codes.slice(0, 100).join(", ")} and 1 more`,
    "created 1 market: C0USD",
  ]);
  await expect(service.another({ catalogue: undefined })).rejects.toThrow(OWN_CATALOGUE);
  // Also a node that creates nothing itself: the next migrate would lack the setting as well.
  await expect(service.another({ catalogue: undefined, migrateUrl: undefined })).rejects.toThrow(OWN_CATALOGUE);
  await service.another();
});

test.each([
  [
    "production",
    "sandbox",
    "the database is production's: set PARBOOK_MODE=production, or give the sandbox a database of its own",
  ],
  [
    "sandbox",
    "production",
    "the database was a sandbox's, with money that nobody paid in: production needs its own database",
  ],
] as const)(
  "on a database of %s each command of a %s is rejected before anything is written",
  async (kept, mode, why) => {
    const db = await testDatabase();
    onTestFinished(() => db.close());
    vi.stubEnv("PARBOOK_DATABASE_URL", urlOf(db));
    const made = JSON.parse((await run(["customer", "create", "--name", "Acme", "--json"])).stdout);
    await db.owner.rows("insert into service_mode (mode) values ($1)", [kept]);
    const stubs = {
      PARBOOK_MODE: mode,
      PARBOOK_ACCEPT: "fsync",
      PARBOOK_WITHOUT_TLS: "http",
      PARBOOK_BASE_URL: "https://api.acme.test",
      PARBOOK_AUTH_URL: "https://api.acme.test",
    };
    for (const [name, value] of Object.entries(stubs)) vi.stubEnv(name, value);
    const deposit = ["deposit", "--profile", made.default_profile_id, "--asset", "USD", "--amount", "5"];
    const webhook = ["webhook", "create", "--customer", "Acme", "--name", "plain", "--types", "*"];
    const commands = [
      deposit,
      [...webhook, "--url", "http://127.0.0.1:9/e"],
      ["client", "create", "--customer", "Acme", "--scopes", "*"],
      ["verify"],
      ["migrate"],
    ];
    const rejected = { exitCode: 1, stdout: "", stderr: `${why}\n` };
    for (const command of commands.slice(0, -1)) expect(await run(command), command[0]).toEqual(rejected);
    // A migration would grant it again.
    vi.stubEnv("PARBOOK_MIGRATE_URL", urlOf(db, "owner"));
    const role = db.connection.user ?? "";
    await db.owner.rows(`revoke select on webhook_attempt from ${role}`);
    for (const command of commands) expect(await run(command), command[0]).toEqual(rejected);
    const [left] = await db.owner.rows(
      `select has_table_privilege($1, 'webhook_attempt', 'select') as granted, (select count(*)::int from webhook) as webhooks,
            (select count(*)::int from client) as clients, (select count(*)::int from external_transfer) as deposits`,
      [role],
    );
    expect(left).toEqual({ granted: false, webhooks: 0, clients: 0, deposits: 0 });
    await expectBooksBalance(db.owner);
  },
);
