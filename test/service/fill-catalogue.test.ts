/** What `catalogue.json` does to a database that was filled from an earlier one. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { type CatalogueFile, fillCatalogue, readOwnCatalogue } from "../../src/catalogue/fill-catalogue.ts";
import { readCatalogue } from "../../src/service/catalogue-file.ts";
import { migrateAs } from "../../src/service/core.ts";
import { SettingFileError } from "../../src/service/setting-file.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";

let db: TestDatabase;
let file: CatalogueFile;
beforeAll(async () => {
  db = await testDatabase();
  file = await readOwnCatalogue();
});
afterAll(() => db.close());

/** Nothing was created, and nothing differs. */
const NOTHING = { assets: [], markets: [], differing: [] };

const marketsIn = () =>
  db.owner.rows<{ code: string; number: number }>("select code, number from market order by number");

/** The file with changes to the entry of a code. */
function changed(list: "assets" | "markets", code: string, change: object): CatalogueFile {
  return { ...file, [list]: file[list].map((entry) => (entry.code === code ? { ...entry, ...change } : entry)) };
}

/** docs/contract/requests.md#precision, rule 1 */
test("three assets are fiat and three are stablecoins, and each has the decimals that the contract gives it", () => {
  const [fiat, coins] = [
    ["USD", "EUR", "SGD"],
    ["USDP", "PYUSD", "USDG"],
  ];
  const precisions: Readonly<Record<string, number>> = { USD: 2, EUR: 2, SGD: 2, PYUSD: 6, ETH: 18 };
  const expected = file.assets.map(({ code }) => ({
    code,
    kind: fiat.includes(code as string) ? "fiat" : coins.includes(code as string) ? "stablecoin" : "crypto",
    precision: precisions[code as string] ?? 8,
  }));
  expect(file.assets).toEqual(expected);
  expect(file.assets.map(({ code }) => code)).toEqual(expect.arrayContaining([...fiat, ...coins, "ETH", "BTC"]));
});

test("the file that filled the database changes nothing in it, and nothing is said", async () => {
  const before = await marketsIn();
  expect(await fillCatalogue(db.owner, file, true)).toEqual(NOTHING);
  expect(await marketsIn()).toEqual(before);
});

test("what would change or is no longer there is named, and stays as it is in the database", async () => {
  const before = await db.owner.rows("select * from asset order by code");
  const lower = changed("assets", "ETH", { precision: 6, kind: "fiat" });
  const without = { ...lower, assets: lower.assets.filter(({ code }) => code !== "WLD") };
  const coarser = changed("markets", "ETHEUR", { tick: "0.5", base: "BTC" }).markets;
  const { differing, ...created } = await fillCatalogue(db.owner, { ...without, markets: coarser.slice(0, -1) }, true);
  expect(created).toEqual({ assets: [], markets: [] });
  expect(differing).toEqual([
    'the asset "ETH" of catalogue.json has the kind fiat, but the database crypto, which stays',
    'the asset "ETH" of catalogue.json has the precision 6, but the database 18, which stays',
    'the asset "WLD" is not in catalogue.json, but stays',
    'the market "ETHEUR" of catalogue.json has the base BTC, but the database ETH, which stays',
    'the market "ETHEUR" of catalogue.json has the tick 0.5, but the database 0.01, which stays',
    `the market ${JSON.stringify(coarser.at(-1)?.code)} is not in catalogue.json, but stays`,
  ]);
  expect(await db.owner.rows("select * from asset order by code")).toEqual(before);
});

test("an entry that cannot be used is named with the rule that it breaks, and nothing of the file is applied", async () => {
  const before = await marketsIn();
  const asset = { code: "ACMEUSD", kind: "stablecoin", precision: 6 };
  const market = { ...file.markets[0], code: "ACMEEUR", base: "ACMEUSD" };
  const rejected = async (assets: readonly object[], markets: readonly object[] = []) =>
    fillCatalogue(
      db.owner,
      {
        ...file,
        assets: [asset, ...assets, ...file.assets] as CatalogueFile["assets"],
        markets: [...file.markets, ...markets] as CatalogueFile["markets"],
      },
      true,
    ).catch((error: Error) => `${error.name}: ${error.message}`);
  const of = (kind: string, code: string, rule: string) =>
    `CatalogueError: the ${kind} "${code}" of catalogue.json ${rule}`;
  expect(await rejected([{ ...asset, code: "usd" }])).toBe(
    of("asset", "usd", "cannot be used: two to 16 capitals or digits"),
  );
  expect(await rejected([{ ...asset, code: "AC", precision: 19 }])).toBe(
    of("asset", "AC", "cannot be used: precision up to 18"),
  );
  expect(await rejected([{ ...asset, code: "AC", kind: "coin" }])).toContain(
    of("asset", "AC", "cannot be used: invalid input value for enum"),
  );
  expect(await rejected([asset])).toBe(of("asset", "ACMEUSD", "is there more than once"));
  expect(await rejected([], [market, market])).toBe(of("market", "ACMEEUR", "is there more than once"));
  expect(await rejected([], [{ ...market, base: "NONE" }])).toBe(
    of("market", "ACMEEUR", "cannot be used: base asset exists"),
  );
  expect(await rejected([], [{ ...market, tick: "0" }])).toBe(
    of("market", "ACMEEUR", "cannot be used: tick above zero"),
  );
  expect(await rejected([], [{ ...market, price_decimals: 2, tick: "0.005" }])).toBe(
    of("market", "ACMEEUR", "cannot be used: tick has price decimals at most"),
  );
  const coarse = { ...market, quote: "USDP", price_decimals: 2, base_decimals: 5 };
  expect(await rejected([], [coarse])).toBe(
    of(
      "market",
      "ACMEEUR",
      "cannot be used: price_decimals and base_decimals are fewer in all than the precision of the quote asset",
    ),
  );
  expect(await rejected([], [{ ...market, tick: "x" }])).toContain(of("market", "ACMEEUR", "cannot be used: "));
  expect(await rejected([], [{ ...market, tick: undefined }])).toContain(of("market", "ACMEEUR", "cannot be used: "));
  expect(await marketsIn()).toEqual(before);
  expect(await db.owner.rows("select code from asset where code in ('ACMEUSD', 'AC')")).toEqual([]);
});

test("a new market is created wherever it stands in the file, and every other keeps its number", async () => {
  const before = await marketsIn();
  const added = { ...file.markets[0], code: "SHIBEUR", base: "SHIB" };
  const longer = { ...file, markets: [added, ...file.markets] };
  expect(await fillCatalogue(db.owner, longer, true)).toEqual({ ...NOTHING, markets: ["SHIBEUR"] });
  expect(await marketsIn()).toEqual([...before, { code: "SHIBEUR", number: before.length + 1 }]);
  expect(await db.owner.rows("select count(*)::int as count from fee_tier where market = 'SHIBEUR'")).toEqual([
    { count: file.fee_tiers.length },
  ]);
  expect(await fillCatalogue(db.owner, longer, true)).toEqual(NOTHING);
});

test("a new market gets a number above all that there are, also where one is missing between them", async () => {
  const before = await marketsIn();
  await db.owner.rows("update market set number = 200 where code = 'BTCUSD'");
  const added = { ...file.markets[0], code: "WLDEUR", base: "WLD" };
  await fillCatalogue(db.owner, { ...file, markets: [...file.markets, added] }, true);
  const others = before.filter(({ code }) => code !== "BTCUSD");
  expect(await marketsIn()).toEqual([...others, { code: "BTCUSD", number: 200 }, { code: "WLDEUR", number: 201 }]);
});

test("fee tiers that cannot be those of a market are rejected, and nothing of the file is applied", async () => {
  const before = await marketsIn();
  const added = { ...file.markets[0], code: "WIFEUR", base: "WIF" };
  const rejected = (...rates: [string, string, string][]) => {
    const tiers = rates.map(([minimum_gross, taker_rate, maker_rebate]) => ({
      minimum_gross,
      taker_rate,
      maker_rebate,
    }));
    const given = { ...file, markets: [...file.markets, added], fee_tiers: tiers };
    return fillCatalogue(db.owner, given, true).catch((error: Error) => `${error.name}: ${error.message}`);
  };
  const because = "CatalogueError: the fee tiers of catalogue.json cannot be used:";
  expect(await rejected(["0", "0.001", "0.0002"], ["5", "0.0001", "0"])).toBe(`${because} rebate_above_commission`);
  expect(await rejected(["1", "0.001", "0.0002"])).toBe(`${because} no_tier_from_zero`);
  expect(await rejected(["0", "1", "0"])).toBe(`${because} not_a_rate`);
  expect(await marketsIn()).toEqual(before);
});

test("the operator's file is read in place of the program's, and one that is no catalogue is rejected", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parbook-catalogue-"));
  const read = async (text: string) => {
    await writeFile(join(folder, "catalogue.json"), text);
    return readCatalogue({ catalogue: join(folder, "catalogue.json") });
  };
  const ours = { assets: [{ code: "USD", kind: "fiat", precision: 2 }], markets: [], fee_tiers: [] };
  expect(await read(JSON.stringify({ ...ours, comment: "ours" }))).toEqual(ours);
  const path = join(folder, "catalogue.json");
  await expect(read("{")).rejects.toThrow(`the catalogue ${path} cannot be read: it is not JSON`);
  await expect(read(`{"assets":[],${JSON.stringify(ours).slice(1)}`)).rejects.toThrow("it has a field twice");
  // As a wrong setting, on which no restart helps.
  const absent = readCatalogue({ catalogue: join(folder, "none.json") });
  await expect(absent).rejects.toThrow(SettingFileError);
  await expect(absent).rejects.toThrow(`PARBOOK_CATALOGUE ${join(folder, "none.json")} cannot be read: ENOENT`);
  await expect(read(JSON.stringify({ ...ours, assets: [1] }))).rejects.toThrow(
    "the asset undefined of catalogue.json cannot be used: it has no code",
  );
  const { assets, markets, fee_tiers } = ours;
  for (const none of [
    null,
    [],
    {},
    { markets, fee_tiers },
    { assets, fee_tiers },
    { assets, markets },
    { ...ours, assets: {} },
  ])
    await expect(read(JSON.stringify(none)), JSON.stringify(none)).rejects.toThrow(
      "catalogue.json is not an object with the lists assets, markets and fee_tiers",
    );
  await rm(folder, { recursive: true });
});

test("what the operator's file no longer has is named in the log, and what the program's own never had is not", async () => {
  const own = await testDatabase();
  onTestFinished(() => own.close());
  const folder = await mkdtemp(join(tmpdir(), "parbook-catalogue-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const catalogue = join(folder, "catalogue.json");
  const without = { ...file, markets: file.markets.slice(0, -1) };
  await writeFile(catalogue, JSON.stringify(without));
  await own.owner.rows("insert into asset (code, kind, precision) values ('ACMEZ', 'stablecoin', 6)");
  const logged = async (catalogue: string | undefined) => {
    const lines: string[] = [];
    const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line).msg) });
    const config = { mode: "sandbox", catalogue, coin: undefined } as const;
    await migrateAs(own.owner, inject("serviceRole"), log, { config, fills: true });
    return lines;
  };
  expect(await logged(undefined)).toEqual([]);
  // docs/your-own-coin.md
  expect(await logged(catalogue)).toEqual([
    'the asset "ACMEZ" is not in catalogue.json, but stays',
    `the market ${JSON.stringify(file.markets.at(-1)?.code)} is not in catalogue.json, but stays`,
  ]);
});

test("what another process creates meanwhile is left to it, and a fault of the database is none of the file", async () => {
  const asset = { code: "ACMEX", kind: "stablecoin", precision: 6 };
  const longer = { ...file, assets: [asset, ...file.assets] };
  const session = await openTransaction(db.owner);
  await session.query("insert into asset (code, kind, precision) values ('ACMEX', 'stablecoin', 6)");
  const filling = fillCatalogue(db.owner, longer, true);
  await untilBlocked(db);
  await session.query("commit");
  await session.end();
  expect(await filling).toMatchObject({ assets: [], markets: [] });
  // The service's role may not.
  const more = { ...file, assets: [{ ...asset, code: "ACMEY" }, ...file.assets] };
  await expect(fillCatalogue(db.database, more, true)).rejects.toMatchObject({ code: "42501" });
});

test("a coin of one's own comes with its market, and a database that has it says nothing when the coin is not named again", async () => {
  const withCoin = await readCatalogue({ coin: "ACMECOIN" });
  expect(withCoin.assets.at(-1)).toEqual({ code: "ACMECOIN", kind: "stablecoin", precision: 6 });
  // docs/your-own-coin.md
  expect(withCoin.markets.at(-1)).toEqual({
    ...{ code: "ACMECOINUSD", base: "ACMECOIN", quote: "USD", price_decimals: 6, base_decimals: 6, tick: "0.0001" },
    ...{ min_base_amount: "0.000001", max_base_amount: "5000000" },
    ...{ min_quote_amount: "0.01", max_quote_amount: "5000000", max_notional_value: "5000000" },
  });
  expect([withCoin.assets.slice(0, -1), withCoin.markets.slice(0, -1)]).toEqual([file.assets, file.markets]);
  expect(await readCatalogue({ coin: "USDP" })).toEqual(file);
  await expect(readCatalogue({ coin: "BTC" })).rejects.toThrow(
    "BTC cannot be a coin of your own: it is crypto in catalogue.json",
  );
  const own = await testDatabase();
  onTestFinished(() => own.close());
  const created = { ...NOTHING, assets: ["ACMECOIN"], markets: ["ACMECOINUSD"] };
  expect(await fillCatalogue(own.owner, withCoin, false)).toEqual(created);
  expect(await fillCatalogue(own.owner, file, false)).toEqual(NOTHING);
  expect((await fillCatalogue(own.owner, file, true)).differing).toEqual([
    'the asset "ACMECOIN" is not in catalogue.json, but stays',
    'the market "ACMECOINUSD" is not in catalogue.json, but stays',
  ]);
});
