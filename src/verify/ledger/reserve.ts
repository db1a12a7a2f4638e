/**
 * House accounts, summed over all slots: the reserve equals the outstanding supply, profiles hold exactly that supply,
 * `world` holds no stablecoins, and `fees` is never overdrawn. One statement computes all sums, because sums of moving
 * accounts that are read at different times need not match.
 */
import { amountOf, formatAmount } from "../../money/amount.ts";
import { type AssetKind, USD } from "../../money/asset.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";

const RESERVE = "reserve";
/** The only long statement of all: it reads every account. */
const TIMEOUT_MS = 600_000;

interface Sums {
  readonly asset: string;
  readonly kind: AssetKind | null;
  readonly profiles: string;
  readonly world: string;
  readonly reserve: string;
  readonly issuance: string;
  readonly fees: string;
}

export const reserveExamination: Examination = {
  checks: [RESERVE],
  run: async (database, tally) => {
    const sums = await readSums(database);
    tally(RESERVE).examined(sums.length);
    for (const sum of sums) checkAsset(sum, tally(RESERVE));
    checkReserve(sums, tally(RESERVE));
  },
};

async function readSums(database: Database): Promise<Sums[]> {
  return database.transaction(async (transaction) => {
    await transaction.rows("select set_config('statement_timeout', $1, true)", [String(TIMEOUT_MS)]);
    return transaction.rows<Sums>(
      `select a.asset, k.kind,
              coalesce(sum(a.available + a.trading + a.pending) filter (where a.house is null), 0) as profiles,
              coalesce(sum(a.available) filter (where a.house = 'world'), 0) as world,
              coalesce(sum(a.available) filter (where a.house = 'reserve'), 0) as reserve,
              coalesce(sum(a.available) filter (where a.house = 'issuance'), 0) as issuance,
              coalesce(sum(a.available) filter (where a.house = 'fees'), 0) as fees
         from account a left join asset k on k.code = a.asset
        group by a.asset, k.kind order by a.asset`,
    );
  });
}

function checkAsset(sums: Sums, tally: Tally): void {
  const { asset, kind } = sums;
  const [profiles, world, reserve, issuance, fees] = [
    amountOf(sums.profiles),
    amountOf(sums.world),
    amountOf(sums.reserve),
    amountOf(sums.issuance),
    amountOf(sums.fees),
  ];
  const report = (message: string): void => tally.broken(`asset ${asset}`, message);
  const all = profiles + world + reserve + issuance + fees;
  if (kind === null) report("is not in the catalogue");
  if (all !== 0n) report(`sums to ${formatAmount(all as typeof profiles)} over all accounts, not to zero`);
  if (fees < 0n) report(`has fees of ${formatAmount(fees)}`);
  if (kind === "stablecoin") {
    if (world !== 0n) report(`is held by the world account: ${formatAmount(world)}`);
    if (profiles + issuance !== 0n)
      report(`has ${sums.profiles} held by profiles, but ${formatAmount(-issuance as typeof issuance)} issued`);
  } else if (issuance !== 0n)
    report(`is issued: ${formatAmount(-issuance as typeof issuance)}, but is not a stablecoin`);
  if (asset !== USD && reserve !== 0n) report(`is in the reserve: ${formatAmount(reserve)}`);
}

function checkReserve(sums: readonly Sums[], tally: Tally): void {
  const supply = sums
    .filter(({ kind }) => kind === "stablecoin")
    .reduce((sum, { issuance }) => sum - amountOf(issuance), 0n);
  const reserve = amountOf(sums.find(({ asset }) => asset === USD)?.reserve ?? "0");
  if (reserve === supply) return;
  const [held, outstanding] = [formatAmount(reserve), formatAmount(supply as typeof reserve)];
  tally.broken("reserve USD", `holds ${held}, but the outstanding supply is ${outstanding}`);
}
