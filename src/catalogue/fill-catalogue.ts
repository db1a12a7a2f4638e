/**
 * Creates what `catalogue.json` has and the database lacks. Rows that exist keep the operator's changes, fees included:
 * where they differ from the file, it is said and nothing else is done.
 */
import { readFile } from "node:fs/promises";
import type { Column, SqlRecord } from "../ledger/columns.ts";
import { type Database, type Queryable, serverError } from "../postgres/database.ts";
import { checkTiers } from "./fee-tiers.ts";
import { assetColumns, assetOf, feeTierOf, marketColumns, marketOf } from "./market.ts";
import { insertAsset, insertMarket, readAssets, readMarkets } from "./store.ts";

/** Rows by column name. */
export interface CatalogueFile {
  readonly assets: readonly SqlRecord[];
  readonly markets: readonly SqlRecord[];
  /** For every new market, in its quote asset. */
  readonly fee_tiers: readonly SqlRecord[];
}

/** An entry of the file that cannot be used. Nothing of the file was applied. */
export class CatalogueError extends Error {
  override readonly name = "CatalogueError";
}

export async function readCatalogueFile(): Promise<CatalogueFile> {
  const text = await readFile(new URL("../../catalogue.json", import.meta.url), "utf8");
  try {
    return JSON.parse(text) as CatalogueFile;
  } catch (error) {
    throw new CatalogueError(`catalogue.json is not JSON: ${(error as Error).message}`);
  }
}

/**
 * As the tables' owner. Market numbers are permanent: a new market gets the next one, wherever it stands in the file.
 * @returns A line for each entry that the file and the database do not agree on.
 * @throws CatalogueError
 */
export async function fillCatalogue(owner: Database, given?: CatalogueFile): Promise<string[]> {
  const file = given ?? (await readCatalogueFile());
  return owner.transaction(async (transaction) => [
    ...(await fillAssets(transaction, file)),
    ...(await fillMarkets(transaction, file)),
  ]);
}

async function fillAssets(transaction: Queryable, { assets }: CatalogueFile): Promise<string[]> {
  return fill("asset", assets, await readAssets(transaction), assetColumns, async (entry, known) => {
    const asset = assetOf(entry);
    if (known === undefined) await insertAsset(transaction, asset);
    return asset;
  });
}

async function fillMarkets(transaction: Queryable, { markets, fee_tiers }: CatalogueFile): Promise<string[]> {
  const feeTiers = fee_tiers.map(feeTierOf);
  const check = checkTiers(feeTiers);
  if (check.kind === "rejected") {
    throw new CatalogueError(`the fee tiers of catalogue.json cannot be used: ${check.rejection.code}`);
  }
  const known = await readMarkets(transaction);
  const precisions = new Map((await readAssets(transaction)).map(({ code, precision }) => [code, precision]));
  let last = Math.max(0, ...known.map(({ number }) => number));
  return fill("market", markets, known, marketColumns, async (entry, existing) => {
    const market = marketOf({ ...entry, number: existing?.number ?? last + 1 }, feeTiers);
    if (existing === undefined) {
      // The engine counts in units of the last decimal of price and base together.
      if ((precisions.get(market.quote) ?? 0) > market.priceDecimals + market.baseDecimals) {
        throw new Error("price_decimals and base_decimals are fewer in all than the precision of the quote asset");
      }
      await insertMarket(transaction, market);
      last = market.number;
    }
    return market;
  });
}

/** Calls `enter` for each entry in order, and compares what exists with what it would be. */
async function fill<Compared, Row extends Compared & { readonly code: string }>(
  kind: "asset" | "market",
  entries: readonly SqlRecord[],
  existing: readonly Row[],
  columns: readonly Column<Compared>[],
  enter: (entry: SqlRecord, existing: Row | undefined) => Promise<Compared>,
): Promise<string[]> {
  const rows = new Map<unknown, Row>(existing.map((row) => [row.code, row]));
  const seen = new Set<unknown>();
  const differences: string[] = [];
  for (const entry of entries) {
    const name = `the ${kind} ${JSON.stringify(entry.code)} of catalogue.json`;
    if (seen.has(entry.code)) throw new CatalogueError(`${name} is there more than once`);
    seen.add(entry.code);
    const row = rows.get(entry.code);
    const wanted = await enter(entry, row).catch((error: unknown) => reject(name, error));
    if (row === undefined) continue;
    for (const { name: column, text } of columns) {
      const [inFile, stored] = [text(wanted), text(row)];
      if (inFile === stored) continue;
      differences.push(`${name} has the ${column} ${inFile}, but the database ${stored}, which stays`);
    }
  }
  const removed = existing.filter(({ code }) => !seen.has(code));
  return [...differences, ...removed.map(({ code }) => `the ${kind} "${code}" is not in catalogue.json, but stays`)];
}

/** Constraints are named for what they require. */
function reject(name: string, error: unknown): never {
  const sent = serverError(error);
  if (sent !== undefined && !/^2[23]/.test(sent.code)) throw error;
  const reason = sent?.constraint?.replaceAll("_", " ") ?? (error as Error).message;
  throw new CatalogueError(`${name} cannot be used: ${reason}`);
}
