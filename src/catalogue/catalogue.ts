/**
 * The catalogue of assets and markets: reference data in the database, filled from `catalogue.json` at the first start,
 * editable by the operator. Each process keeps a copy and refreshes it every few seconds.
 */
import { readFile } from "node:fs/promises";
import type { SqlRecord } from "../ledger/columns.ts";
import type { Asset } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { assert } from "../std/assert.ts";
import { checkTiers } from "./fee-tiers.ts";
import { assetOf, feeTierOf, type Market, marketOf } from "./market.ts";
import { readAssets, readMarkets, writeCatalogue } from "./store.ts";

const REFRESH_MS = 5_000;

export interface Catalogue {
  findAsset(code: string): Asset | undefined;
  findMarket(code: string): Market | undefined;
  /** By code. */
  listAssets(): readonly Asset[];
  listMarkets(): readonly Market[];
  /** Stops refreshing. */
  close(): void;
}

export async function loadCatalogue(database: Queryable): Promise<Catalogue> {
  let assets = new Map<string, Asset>();
  let markets = new Map<string, Market>();
  const refresh = async (): Promise<void> => {
    const [newAssets, newMarkets] = await Promise.all([readAssets(database), readMarkets(database)]);
    assets = new Map(newAssets.map((asset) => [asset.code, asset]));
    markets = new Map(newMarkets.map((market) => [market.code, market]));
  };
  await refresh();
  // A failed refresh keeps the copy. Nothing can be committed without the database anyway.
  const timer = setInterval(() => void refresh().catch(() => undefined), REFRESH_MS);
  timer.unref();
  return {
    findAsset: (code) => assets.get(code),
    findMarket: (code) => markets.get(code),
    listAssets: () => [...assets.values()],
    listMarkets: () => [...markets.values()],
    close: () => clearInterval(timer),
  };
}

/** Rows by column name. */
interface CatalogueFile {
  readonly assets: readonly SqlRecord[];
  readonly markets: readonly SqlRecord[];
  /** For every market, in its quote asset. */
  readonly fee_tiers: readonly SqlRecord[];
}

/**
 * Inserts missing assets and markets from the file, as the tables' owner. Existing rows keep the operator's changes, fees
 * included. Market numbers are positions in the file and permanent: append new markets at its end.
 */
export async function fillCatalogue(owner: Queryable): Promise<void> {
  const text = await readFile(new URL("../../catalogue.json", import.meta.url), "utf8");
  const file = JSON.parse(text) as CatalogueFile;
  const feeTiers = file.fee_tiers.map(feeTierOf);
  assert(checkTiers(feeTiers) === undefined, "the fee tiers of the file can be those of a market");
  const markets = file.markets.map((market, i) => marketOf({ ...market, number: i + 1 }, feeTiers));
  await writeCatalogue(owner, file.assets.map(assetOf), markets);
}
