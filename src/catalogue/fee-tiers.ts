/**
 * Fee rates by 30-day customer volume. A rebate is paid out of the commission of the same match, so no rebate of a market
 * may exceed its lowest commission.
 */
import { type Amount, fitsPrecision, ZERO } from "../money/amount.ts";
import { must } from "../std/assert.ts";
import { type Check, PASSED, reject } from "../std/result.ts";

/** Fractions of the gross trade amount, with at most 4 decimals, so that fees are exact. */
export interface FeeRates {
  readonly takerRate: Amount;
  readonly makerRebate: Amount;
}

/** Applies from a minimum volume in the market's quote asset. */
export interface FeeTier extends FeeRates {
  readonly minimumGross: Amount;
}

export type FeeRejection =
  | { readonly code: "not_a_rate"; readonly rate: Amount }
  | { readonly code: "tier_below_zero"; readonly minimumGross: Amount }
  | { readonly code: "no_tier_from_zero" }
  | { readonly code: "tier_given_twice"; readonly minimumGross: Amount }
  | { readonly code: "too_many_tiers"; readonly most: number }
  /** The highest rebate of the market would be above its lowest commission. */
  | ({ readonly code: "rebate_above_commission" } & FeeRates);

const RATE_DECIMALS = 4;
/** 10 %: what is above it was meant in percent. */
const HIGHEST_RATE = 10n ** 17n;
/** Every node keeps them in memory, and responses list all. */
export const MAX_TIERS = 50;

export function isRate(rate: Amount): boolean {
  return rate >= ZERO && rate <= HIGHEST_RATE && fitsPrecision(rate, RATE_DECIMALS);
}

/**
 * The tier for a volume.
 * @param tiers sorted by minimum; the first begins at zero
 */
export function tierFor(tiers: readonly FeeTier[], gross: Amount): FeeTier {
  return must(
    tiers.findLast(({ minimumGross }) => minimumGross <= gross),
    "the first tier of a market begins at zero",
  );
}

/** Whether these can be the tiers of one market. */
export function checkTiers(tiers: readonly FeeTier[]): Check<FeeRejection> {
  const minimums = tiers.map(({ minimumGross }) => minimumGross);
  if (tiers.length > MAX_TIERS) return reject({ code: "too_many_tiers", most: MAX_TIERS });
  const below = minimums.find((minimum) => minimum < ZERO);
  if (below !== undefined) return reject({ code: "tier_below_zero", minimumGross: below });
  const twice = minimums.find((minimum, i) => minimums.indexOf(minimum) !== i);
  if (twice !== undefined) return reject({ code: "tier_given_twice", minimumGross: twice });
  if (!minimums.includes(ZERO)) return reject({ code: "no_tier_from_zero" });
  return checkRates(tiers);
}

/** Whether these rates can all apply on one market. */
export function checkRates(all: readonly FeeRates[]): Check<FeeRejection> {
  const rate = all.flatMap(({ takerRate, makerRebate }) => [takerRate, makerRebate]).find((one) => !isRate(one));
  if (rate !== undefined) return reject({ code: "not_a_rate", rate });
  const takerRate = lowestTakerRate(all);
  const makerRebate = highestRebate(all);
  if (makerRebate > takerRate) return reject({ code: "rebate_above_commission", takerRate, makerRebate });
  return PASSED;
}

export function highestRebate(all: readonly FeeRates[]): Amount {
  return must(sorted(all.map(({ makerRebate }) => makerRebate)).at(-1), "a market has rates");
}

function lowestTakerRate(all: readonly FeeRates[]): Amount {
  return must(sorted(all.map(({ takerRate }) => takerRate))[0], "a market has rates");
}

function sorted(amounts: readonly Amount[]): Amount[] {
  return amounts.toSorted((a, b) => (a < b ? -1 : 1));
}
