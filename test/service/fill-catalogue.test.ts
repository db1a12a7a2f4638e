/** What `catalogue.json` does to a database that was filled from an earlier one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CatalogueFile, fillCatalogue, readCatalogueFile } from "../../src/catalogue/fill-catalogue.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let db: TestDatabase;
let file: CatalogueFile;
beforeAll(async () => {
  db = await testDatabase();
  file = await readCatalogueFile();
});
afterAll(() => db.close());

const marketsIn = () =>
  db.owner.rows<{ code: string; number: number }>("select code, number from market order by number");

/** The file with changes to the entry of a code. */
function changed(list: "assets" | "markets", code: string, change: object): CatalogueFile {
  return { ...file, [list]: file[list].map((entry) => (entry.code === code ? { ...entry, ...change } : entry)) };
}

test("the file that filled the database changes nothing in it, and nothing is said", async () => {
  const before = await marketsIn();
  expect(await fillCatalogue(db.owner, file)).toEqual([]);
  expect(await marketsIn()).toEqual(before);
});

test("what would change or is no longer there is named, and stays as it is in the database", async () => {
  const before = await db.owner.rows("select * from asset order by code");
  const lower = changed("assets", "ETH", { precision: 6, kind: "fiat" });
  const without = { ...lower, assets: lower.assets.filter(({ code }) => code !== "WLD") };
  const coarser = changed("markets", "ETHEUR", { tick: "0.5", base: "BTC" }).markets;
  expect(await fillCatalogue(db.owner, { ...without, markets: coarser.slice(0, -1) })).toEqual([
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
    fillCatalogue(db.owner, {
      ...file,
      assets: [asset, ...assets, ...file.assets] as CatalogueFile["assets"],
      markets: [...file.markets, ...markets] as CatalogueFile["markets"],
    }).catch((error: Error) => `${error.name}: ${error.message}`);
  const of = (kind: string, code: string, rule: string) =>
    `CatalogueError: the ${kind} "${code}" of catalogue.json ${rule}`;
  expect(await rejected([{ ...asset, code: "usd" }])).toBe(
    of("asset", "usd", "cannot be used: two to 16 capitals or digits"),
  );
  expect(await rejected([{ ...asset, code: "AC", precision: 19 }])).toBe(
    of("asset", "AC", "cannot be used: precision up to 18"),
  );
  expect(await rejected([{ ...asset, code: "AC", kind: "coin" }])).toContain("invalid input value for enum");
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
  expect(await fillCatalogue(db.owner, longer)).toEqual([]);
  expect(await marketsIn()).toEqual([...before, { code: "SHIBEUR", number: before.length + 1 }]);
  expect(await db.owner.rows("select count(*)::int as count from fee_tier where market = 'SHIBEUR'")).toEqual([
    { count: file.fee_tiers.length },
  ]);
  expect(await fillCatalogue(db.owner, longer)).toEqual([]);
});

test("a coin of one's own comes with its market, and a database that has it says nothing when the coin is not named again", async () => {
  const withCoin = await readCatalogueFile({ coin: "ACMECOIN" });
  expect(withCoin.assets.at(-1)).toEqual({ code: "ACMECOIN", kind: "stablecoin", precision: 6 });
  expect(withCoin.markets.at(-1)).toMatchObject({ code: "ACMECOINUSD", base: "ACMECOIN", quote: "USD" });
  expect(await readCatalogueFile({ coin: "USDP" })).toEqual(file);
  await expect(readCatalogueFile({ coin: "BTC" })).rejects.toThrow(
    "BTC cannot be a coin of your own: it is crypto in catalogue.json",
  );
  await fillCatalogue(db.owner, withCoin, { namesAll: false });
  expect(await marketsIn()).toContainEqual({ code: "ACMECOINUSD", number: expect.any(Number) });
  expect(await fillCatalogue(db.owner, file, { namesAll: false })).toEqual([]);
  expect(await fillCatalogue(db.owner, file)).toContain('the asset "ACMECOIN" is not in catalogue.json, but stays');
});
