/**
 * The catalogue of assets and markets: reference data in the database, filled from `catalogue.json` at the first start,
 * editable by the operator. Each process keeps a copy and refreshes it every few seconds.
 */
import type { Asset } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import { startPoll } from "../std/poll.ts";
import { SharedReads } from "../std/shared-reads.ts";
import type { Market } from "./market.ts";
import { readAssets, readMarkets } from "./store.ts";

const REFRESH_MS = 5_000;

export interface Catalogue {
  findAsset(code: string): Asset | undefined;
  findMarket(code: string): Market | undefined;
  /** By code. */
  listAssets(): readonly Asset[];
  listMarkets(): readonly Market[];
  /** Ensures that markets of records are known: another process may have added them, and traded on them, since the last refresh. */
  learnMarkets(codes: readonly string[]): Promise<void>;
  /** Stops refreshing. */
  close(): void;
}

export async function loadCatalogue(database: Queryable): Promise<Catalogue> {
  let assets = new Map<string, Asset>();
  let markets = new Map<string, Market>();
  const refresh = async (): Promise<void> => {
    // In this order: assets are never removed, so those of all markets that were read are there.
    const newMarkets = await readMarkets(database);
    const newAssets = await readAssets(database);
    assets = new Map(newAssets.map((asset) => [asset.code, asset]));
    markets = new Map(newMarkets.map((market) => [market.code, market]));
  };
  await refresh();
  const refreshes = new SharedReads<"all", void>(refresh);
  // A failed refresh keeps the copy. Nothing can be committed without the database anyway.
  const poll = startPoll(
    REFRESH_MS,
    () => refreshes.get("all"),
    () => undefined,
  );
  return {
    findAsset: (code) => assets.get(code),
    findMarket: (code) => markets.get(code),
    listAssets: () => [...assets.values()],
    listMarkets: () => [...markets.values()],
    learnMarkets: async (codes) => {
      if (!codes.every((code) => markets.has(code))) await refreshes.get("all");
    },
    close: () => void poll.stop(),
  };
}
