/**
 * From refusals to problems: one table over all refusals that the domain folders can answer with. It is exhaustive by
 * type, so that a new refusal does not compile until it is said here what its caller hears.
 */
import type { ProfileNotFound } from "../customers/profiles.ts";
import type { Refusal } from "../ledger/decision.ts";
import { type Amount, formatAmount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { notFound, Problem } from "./problems.ts";

/** Any debit or reservation of more than is available. */
interface InsufficientFunds extends Refusal {
  readonly code: "insufficient_funds";
  readonly profileId: string;
  readonly asset: AssetCode;
  readonly available: Amount;
  readonly needed: Amount;
}

/** More decimals that count than the asset allows. `amount` is as the caller sent it. */
interface ExceedPrecision extends Refusal {
  readonly code: "exceed_precision";
  readonly amount: string;
  readonly asset: AssetCode;
  readonly precision: number;
}

/** Every refusal that can come out of the domain folders: a union of what their front doors export. */
export type DomainRefusal = ExceedPrecision | InsufficientFunds | ProfileNotFound;

type ProblemTable<Why extends Refusal> = {
  readonly [Code in Why["code"]]: (refusal: Extract<Why, { readonly code: Code }>) => Problem;
};

const PROBLEMS: ProblemTable<DomainRefusal> = {
  exceed_precision: ({ amount, asset, precision }) =>
    new Problem("exceed-precision", `amount "${amount}" has more decimals than ${asset} allows: ${precision}`, {
      meta: { asset, precision },
    }),
  insufficient_funds: ({ profileId, asset, available, needed }) =>
    new Problem(
      "insufficient-funds",
      `profile ${profileId} has ${formatAmount(available)} ${asset} available, but ${formatAmount(needed)} is needed`,
      { meta: { profile_id: profileId, asset, available: formatAmount(available), needed: formatAmount(needed) } },
    ),
  profile_not_found: ({ profileId }) => notFound(`profile not found: ${profileId}`),
};

/** What the caller hears about a refusal. Routes throw it. */
export function problemOf(refusal: DomainRefusal): Problem {
  // The compiler cannot follow that the code picks the function for exactly this refusal.
  const describe = PROBLEMS[refusal.code] as (why: DomainRefusal) => Problem;
  return describe(refusal);
}
