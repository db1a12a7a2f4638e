/** A command that lacks a setting with which its database is used (PARBOOK_MODE, PARBOOK_CATALOGUE) changes nothing in it. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { readOwnCatalogue } from "../../src/catalogue/fill-catalogue.ts";
import type { Database } from "../../src/postgres/database.ts";
import { startTestService } from "../support/service.ts";
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
