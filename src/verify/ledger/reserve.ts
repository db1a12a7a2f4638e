/**
 * What holds for the house, summed over all slots: the reserve backs every stablecoin that is out, what is out is what
 * profiles hold, the world outside holds none, and fees are never overdrawn. One statement sums it all up, because sums
 * of moving accounts that were read one after the other need not fit.
 */
import { amountOf, formatAmount } from "../../money/amount.ts";
import { type AssetKind, USD } from "../../money/asset.ts";
import type { Database } from "../../postgres/database.ts";
import type { Examination, Tally } from "../check.ts";

const RESERVE = "reserve";
/** Reads every account once: the only long statement of all. */
const MOST_MS = 600_000;

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
    await transaction.rows("select set_config('statement_timeout', $1, true)", [String(MOST_MS)]);
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
  const tell = (message: string): void => tally.broken(`asset ${asset}`, message);
  const all = profiles + world + reserve + issuance + fees;
  if (kind === null) tell("is not in the catalogue");
  if (all !== 0n) tell(`sums to ${formatAmount(all as typeof profiles)} over all accounts, not to zero`);
  if (fees < 0n) tell(`has fees of ${formatAmount(fees)}`);
  if (kind === "stablecoin") {
    if (world !== 0n) tell(`is held by the world: ${formatAmount(world)}`);
    if (profiles + issuance !== 0n)
      tell(`has ${sums.profiles} with profiles, but ${formatAmount(-issuance as typeof issuance)} issued`);
  } else if (issuance !== 0n)
    tell(`is issued: ${formatAmount(-issuance as typeof issuance)}, though it is no stablecoin`);
  if (asset !== USD && reserve !== 0n) tell(`is in the reserve: ${formatAmount(reserve)}`);
}

function checkReserve(sums: readonly Sums[], tally: Tally): void {
  const supply = sums
    .filter(({ kind }) => kind === "stablecoin")
    .reduce((sum, { issuance }) => sum - amountOf(issuance), 0n);
  const reserve = amountOf(sums.find(({ asset }) => asset === USD)?.reserve ?? "0");
  if (reserve === supply) return;
  const [held, out] = [formatAmount(reserve), formatAmount(supply as typeof reserve)];
  tally.broken("reserve USD", `holds ${held}, but ${out} of stablecoins are out`);
}
