/**
 * House accounts, summed over all slots: the reserve of each stablecoin equals its outstanding supply, profiles hold exactly
 * that supply with what was earned in it as fees, `world` holds no stablecoins, and no kind is negative that may not be. One
 * statement computes all sums, because sums of moving accounts that are read at different times need not match.
 */
import { HOUSE_KINDS, readHouseKinds, type StoredHouseKind } from "../../ledger/house-accounts.ts";
import { type Amount, amountOf, formatAmount, plus } from "../../money/amount.ts";
import { type AssetKind, USD } from "../../money/asset.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";

const RESERVE = "reserve";
/** The only long statement of all: it reads every account. */
const TIMEOUT_MS = 600_000;

/** What the accounts of a kind hold of an asset, or profiles. */
interface Sum {
  readonly asset: string;
  /** Null: the asset is not in the catalogue. */
  readonly kind: AssetKind | null;
  /** Null: profiles. */
  readonly house: string | null;
  readonly coin: string | null;
  readonly amount: Amount;
}

export const reserveExamination: Examination = {
  checks: [RESERVE],
  // The database adds up.
  reads: [],
  run: async (database, tally) => {
    const kinds = await readHouseKinds(database);
    checkKinds(kinds, tally(RESERVE));
    const solvent = kinds.filter(({ mayBeNegative }) => !mayBeNegative).map(({ kind }) => kind);
    const sums = await readSums(database);
    const assets = [...new Set(sums.map(({ asset }) => asset))];
    tally(RESERVE).examined(assets.length);
    for (const code of assets) {
      const own = sums.filter(({ asset }) => asset === code);
      checkAsset(code, own, solvent, tally(RESERVE));
    }
    checkReserves(sums, tally(RESERVE));
  },
};

async function readSums(database: Database): Promise<Sum[]> {
  return database.transaction(async (transaction) => {
    await transaction.rows("select set_config('statement_timeout', $1, true)", [String(TIMEOUT_MS)]);
    const rows = await transaction.rows<Omit<Sum, "amount"> & { readonly amount: string }>(
      `select a.asset, k.kind, a.house, a.coin, sum(a.available + a.trading + a.pending) as amount
         from account a left join asset k on k.code = a.asset
        group by a.asset, k.kind, a.house, a.coin order by a.asset, a.house, a.coin`,
    );
    return rows.map((row) => ({ ...row, amount: amountOf(row.amount) }));
    // Else its answer would not be waited for that long.
  }, "any time");
}

/** Other kinds may exist, from which this program posts nothing. */
function checkKinds(kinds: readonly StoredHouseKind[], tally: Tally): void {
  for (const [kind, { mayBeNegative }] of Object.entries(HOUSE_KINDS)) {
    const stored = kinds.find((each) => each.kind === kind);
    if (stored === undefined) tally.broken(`house kind ${kind}`, "is missing");
    else if (stored.mayBeNegative !== mayBeNegative)
      tally.broken(
        `house kind ${kind}`,
        mayBeNegative ? "may not be negative, but must" : "may be negative, but must not",
      );
  }
}

const total = (sums: readonly Sum[], house?: string | null): Amount =>
  sums
    .filter((sum) => house === undefined || sum.house === house)
    .reduce((all, { amount }) => all + amount, 0n) as Amount;

function checkAsset(asset: string, sums: readonly Sum[], solvent: readonly string[], tally: Tally): void {
  const report = (message: string): void => tally.broken(`asset ${asset}`, message);
  const [all, profiles, world] = [total(sums), total(sums, null), total(sums, "world")];
  const issued = -total(sums, "issuance") as Amount;
  const kind = sums[0]?.kind ?? null;
  if (kind === null) report("is not in the catalogue");
  if (all !== 0n) report(`sums to ${formatAmount(all)} over all accounts, not to zero`);
  for (const house of solvent) {
    const amount = total(sums, house);
    if (amount < 0n) report(`has ${house} of ${formatAmount(amount)}`);
  }
  if (kind === "stablecoin") {
    if (world !== 0n) report(`is held by the world account: ${formatAmount(world)}`);
    const held = plus(profiles, total(sums, "fees"));
    if (held !== issued)
      report(`has ${formatAmount(held)} held by profiles and as fees, but ${formatAmount(issued)} issued`);
  } else if (issued !== 0n) report(`is issued: ${formatAmount(issued)}, but is not a stablecoin`);
  const reserve = total(sums, "reserve");
  if (asset !== USD && reserve !== 0n) report(`is in the reserve: ${formatAmount(reserve)}`);
}

/** Also finds a reserve of what is no stablecoin, because that has no supply. */
function checkReserves(sums: readonly Sum[], tally: Tally): void {
  const reserves = new Map<string, bigint>();
  const supplies = new Map<string, bigint>();
  for (const { house, asset, kind, coin, amount } of sums) {
    if (house === "reserve" && asset === USD) add(reserves, coin ?? "without a coin", amount);
    if (house === "issuance" && kind === "stablecoin") add(supplies, asset, -amount);
  }
  for (const coin of [...new Set([...reserves.keys(), ...supplies.keys()])].sort()) {
    const [reserve, supply] = [reserves, supplies].map((of) => of.get(coin) ?? 0n) as [Amount, Amount];
    if (reserve === supply) continue;
    tally.broken(
      `reserve ${coin}`,
      `holds ${formatAmount(reserve)}, but the outstanding supply is ${formatAmount(supply)}`,
    );
  }
}

function add(sums: Map<string, bigint>, name: string, amount: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amount);
}
