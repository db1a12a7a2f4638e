/**
 * The catalogue: assets and markets. Reference data in the database, filled from `catalogue.json` at the first start,
 * editable by the operator. Each process keeps a copy, and reads it again every few seconds.
 */
import { readFile } from "node:fs/promises";
import type { Asset } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { assert } from "../std/assert.ts";
import { whyNotTiers } from "./fee-tiers.ts";
import { feeTierOf, type Market, marketOf } from "./market.ts";
import { readAssets, readMarkets, writeCatalogue } from "./store.ts";

const REFRESH_MS = 5_000;

export interface Catalogue {
  findAsset(code: string): Asset | undefined;
  findMarket(code: string): Market | undefined;
  /** In the order of the codes. */
  listAssets(): readonly Asset[];
  listMarkets(): readonly Market[];
  /** Stops reading it again. */
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
  // When the database is away the copy stays: nothing can be decided on it then anyway.
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

interface CatalogueFile {
  readonly assets: readonly Asset[];
  readonly markets: readonly Readonly<Record<string, string | number>>[];
  /** Of every market, in its quote asset. */
  readonly fee_tiers: readonly Readonly<Record<string, string>>[];
}

/**
 * Fills the empty tables from the file, as their owner. What is there already stays as the operator has it, its fees
 * included. Markets are numbered in the order of the file, for good: a new one goes to its end.
 */
export async function fillCatalogue(owner: Queryable): Promise<void> {
  const text = await readFile(new URL("../../catalogue.json", import.meta.url), "utf8");
  const file = JSON.parse(text) as CatalogueFile;
  const feeTiers = file.fee_tiers.map(feeTierOf);
  assert(whyNotTiers(feeTiers) === undefined, "the fee tiers of the file can be those of a market");
  const markets = file.markets.map((market, i) => marketOf({ ...market, number: i + 1 }, feeTiers));
  await writeCatalogue(owner, file.assets, markets);
}
