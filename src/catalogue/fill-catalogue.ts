/**
 * Creates what the catalogue file has and the database lacks. Rows that exist keep the operator's changes, fees included:
 * where they differ from the file, it is said and nothing else is done.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Column, SqlRecord } from "../ledger/columns.ts";
import { type Database, type Queryable, serverError } from "../postgres/database.ts";
import { checkTiers } from "./fee-tiers.ts";
import { assetColumns, assetOf, feeTierOf, marketColumns, marketOf } from "./market.ts";
import {
  insertAsset,
  insertMarket,
  keepOwnCatalogueMark,
  readAssets,
  readMarkets,
  readOwnCatalogueMark,
} from "./store.ts";

/** Rows by column name. */
export interface CatalogueFile {
  readonly assets: readonly SqlRecord[];
  readonly markets: readonly SqlRecord[];
  /** For every new market, in its quote asset. */
  readonly fee_tiers: readonly SqlRecord[];
}

/** The file, or an entry of it, cannot be used. Nothing of the file was applied. */
export class CatalogueError extends Error {
  override readonly name = "CatalogueError";
}

const OWN_FILE = fileURLToPath(new URL("../../catalogue.json", import.meta.url));

/** What comes with the program. */
export async function readOwnCatalogue(): Promise<CatalogueFile> {
  return catalogueOf(JSON.parse(await readFile(OWN_FILE, "utf8")));
}

/** @throws CatalogueError when it is not a catalogue. */
export function catalogueOf(file: unknown): CatalogueFile {
  const { assets, markets, fee_tiers } = (file ?? {}) as Partial<CatalogueFile>;
  if (!Array.isArray(assets) || !Array.isArray(markets) || !Array.isArray(fee_tiers))
    throw new CatalogueError("catalogue.json is not an object with the lists assets, markets and fee_tiers");
  for (const entry of assets) checkEntry("asset", entry, assetOf);
  for (const entry of markets) checkEntry("market", entry, () => marketOf({ ...entry, number: 1 }, []));
  return { assets, markets, fee_tiers };
}

function checkEntry(kind: "asset" | "market", entry: SqlRecord, read: (entry: SqlRecord) => unknown): void {
  try {
    if (typeof entry?.code !== "string") throw new Error("it has no code");
    read(entry);
  } catch (error) {
    reject(entryName(kind, entry), error);
  }
}

const entryName = (kind: "asset" | "market", entry: SqlRecord): string =>
  `the ${kind} ${JSON.stringify(entry?.code)} of catalogue.json`;

/** Adds the coin, and its market with the steps and limits that coins of such precision have. */
export function withCoin({ assets, markets, fee_tiers }: CatalogueFile, code: string): CatalogueFile {
  const existing = assets.find((asset) => asset.code === code);
  if (existing !== undefined && existing.kind !== "stablecoin")
    throw new CatalogueError(`${code} cannot be a coin of your own: it is ${existing.kind} in catalogue.json`);
  const market = {
    ...{ code: `${code}USD`, base: code, quote: "USD", price_decimals: 6, base_decimals: 6, tick: "0.0001" },
    ...{ min_base_amount: "0.000001", max_base_amount: "5000000" },
    ...{ min_quote_amount: "0.01", max_quote_amount: "5000000", max_notional_value: "5000000" },
  };
  const hasMarket = markets.some(({ code: known }) => known === market.code);
  return {
    assets: existing === undefined ? [...assets, { code, kind: "stablecoin", precision: 6 }] : assets,
    markets: hasMarket ? markets : [...markets, market],
    fee_tiers,
  };
}

export interface Filled {
  /** The codes of what was created, in the order of the file. */
  readonly assets: readonly string[];
  readonly markets: readonly string[];
  /** A line for each entry that the file and the database do not agree on. */
  readonly differing: readonly string[];
}

/**
 * As the tables' owner. Market numbers are permanent: a new market gets the next one, wherever it stands in the file.
 * @param isOperators Whether the file is the operator's. The database keeps that it was filled from such a file, and one
 * that it lacks is worth a line: the program's own names none of the operator's coins.
 * @throws CatalogueError
 */
export function fillCatalogue(owner: Database, file: CatalogueFile, isOperators: boolean): Promise<Filled> {
  return owner.transaction(async (transaction) => {
    await keepOwnCatalogueMark(transaction, isOperators);
    if (!isOperators) await rejectOwnCatalogue(transaction);
    const [assets, markets] = [await fillAssets(transaction, file), await fillMarkets(transaction, file)];
    const fillings = [assets, markets];
    return {
      assets: assets.created,
      markets: markets.created,
      differing: fillings.flatMap(({ differing, removed }) => (isOperators ? [...differing, ...removed] : differing)),
    };
  });
}

/**
 * What the program's own file has beyond the operator's would be there for good.
 * @throws CatalogueError when the database was filled from an operator's file
 */
export async function rejectOwnCatalogue(database: Queryable): Promise<void> {
  if (await readOwnCatalogueMark(database))
    throw new CatalogueError("this database has a catalogue of its own: set PARBOOK_CATALOGUE to its file");
}

/** More than the program's own file has of either. */
const MOST_NAMED = 100;

/** For the operator: what was created in the catalogue stays. */
export function createdLines({ assets, markets }: Pick<Filled, "assets" | "markets">): string[] {
  const lineOf = (kind: string, codes: readonly string[]): string => {
    const more = codes.length > MOST_NAMED ? ` and ${codes.length - MOST_NAMED} more` : "";
    return `created ${codes.length} ${kind}: ${codes.slice(0, MOST_NAMED).join(", ")}${more}`;
  };
  return [
    ...(assets.length === 0 ? [] : [lineOf(assets.length === 1 ? "asset" : "assets", assets)]),
    ...(markets.length === 0 ? [] : [lineOf(markets.length === 1 ? "market" : "markets", markets)]),
  ];
}

interface Filling {
  /** Codes. */
  readonly created: readonly string[];
  /** Lines for the operator. */
  readonly differing: readonly string[];
  /** Rows that the file no longer has; lines too. */
  readonly removed: readonly string[];
}

async function fillAssets(transaction: Queryable, { assets }: CatalogueFile): Promise<Filling> {
  return fill("asset", assets, await readAssets(transaction), assetColumns, async (entry, known) => {
    const asset = assetOf(entry);
    return { wanted: asset, isCreated: known === undefined && (await insertAsset(transaction, asset)) };
  });
}

async function fillMarkets(transaction: Queryable, { markets, fee_tiers }: CatalogueFile): Promise<Filling> {
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
    let isCreated = false;
    if (existing === undefined) {
      // The engine counts in units of the last decimal of price and base together.
      if ((precisions.get(market.quote) ?? 0) > market.priceDecimals + market.baseDecimals) {
        throw new Error("price_decimals and base_decimals are fewer in all than the precision of the quote asset");
      }
      isCreated = await insertMarket(transaction, market);
      last = market.number;
    }
    return { wanted: market, isCreated };
  });
}

/** Calls `enter` for each entry in order, and compares what exists with what it would be. */
async function fill<Compared, Row extends Compared & { readonly code: string }>(
  kind: "asset" | "market",
  entries: readonly SqlRecord[],
  existing: readonly Row[],
  columns: readonly Column<Compared>[],
  enter: (entry: SqlRecord, existing: Row | undefined) => Promise<{ wanted: Compared; isCreated: boolean }>,
): Promise<Filling> {
  const rows = new Map<unknown, Row>(existing.map((row) => [row.code, row]));
  const seen = new Set<unknown>();
  const created: string[] = [];
  const differing: string[] = [];
  for (const entry of entries) {
    const name = entryName(kind, entry);
    if (seen.has(entry.code)) throw new CatalogueError(`${name} is there more than once`);
    seen.add(entry.code);
    const row = rows.get(entry.code);
    const { wanted, isCreated } = await enter(entry, row).catch((error: unknown) => reject(name, error));
    if (isCreated) created.push(entry.code as string);
    if (row === undefined) continue;
    for (const { name: column, text } of columns) {
      const [inFile, stored] = [text(wanted), text(row)];
      if (inFile === stored) continue;
      differing.push(`${name} has the ${column} ${inFile}, but the database ${stored}, which stays`);
    }
  }
  const removed = existing.filter(({ code }) => !seen.has(code));
  return {
    created,
    differing,
    removed: removed.map(({ code }) => `the ${kind} "${code}" is not in catalogue.json, but stays`),
  };
}

/** Constraints are named for what they require. */
function reject(name: string, error: unknown): never {
  const sent = serverError(error);
  if (sent !== undefined && !/^2[23]/.test(sent.code)) throw error;
  const reason = sent?.constraint?.replaceAll("_", " ") ?? (error as Error).message;
  throw new CatalogueError(`${name} cannot be used: ${reason}`);
}
