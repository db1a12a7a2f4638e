/**
 * From refusals to problems: one table over all refusals that the domain folders can answer with. It is exhaustive by
 * type, so that a new refusal does not compile until it is said here what its caller hears.
 */
import type {
  ConversionNotCancellable,
  ConversionNotFound,
  ConversionRejection,
  UnknownPair,
} from "../../conversions/conversions.ts";
import type { ProfileNotFound } from "../../customers/profiles/profiles.ts";
import type { Rejection } from "../../ledger/decision.ts";
import { formatAmount } from "../../money/amount.ts";
import { USD } from "../../money/asset.ts";
import type { ProfileNotEmpty, TransferRejection } from "../../transfers/transfers.ts";
import { invalid } from "./failing-fields.ts";
import { notFound, Problem } from "./problems.ts";

/** Every refusal that can come out of the domain folders: a union of what their front doors export. */
export type DomainRejection =
  | ConversionNotCancellable
  | ConversionNotFound
  | ConversionRejection
  | ProfileNotEmpty
  | ProfileNotFound
  | TransferRejection;

/** The fields of the request, for sentences about them: a refusal does not know what was sent. */
export type Sent = Readonly<Record<string, unknown>>;

type ProblemTable<Why extends Rejection> = {
  readonly [Code in Why["code"]]: (refusal: Extract<Why, { readonly code: Code }>, sent: Sent) => Problem;
};

const PROBLEMS: ProblemTable<DomainRejection> = {
  balance_too_large: ({ profileId, asset }, { amount }) => {
    const rule = `would lift the ${asset} balance of profile ${profileId} to 10^29 or above`;
    return invalid([{ field: "amount", rule, ...(typeof amount === "string" ? { value: amount } : {}) }]);
  },
  conversion_not_cancellable: ({ status }) =>
    new Problem("not-cancellable", "conversion is not in cancellable state", { meta: { status } }),
  conversion_not_found: ({ conversionId }) => notFound(`conversion not found: ${conversionId}`),
  exceed_precision: ({ asset, precision }, sent) =>
    new Problem("exceed-precision", `${amountIn(sent)} has more decimals than ${asset} allows: ${precision}`, {
      meta: { asset, precision },
    }),
  insufficient_funds: ({ profileId, asset, available, needed }) =>
    new Problem(
      "insufficient-funds",
      `profile ${profileId} has ${formatAmount(available)} ${asset} available, but ${formatAmount(needed)} is needed`,
      { meta: { profile_id: profileId, asset, available: formatAmount(available), needed: formatAmount(needed) } },
    ),
  profile_not_empty: profileNotEmpty,
  profile_not_found: ({ profileId }) => notFound(`profile not found: ${profileId}`),
  unknown_asset: ({ field, asset }) =>
    invalid([{ field, value: asset, rule: "is not the code of an asset of this service" }]),
  unknown_pair: unknownPair,
};

/** What the caller hears about a refusal. Routes throw it. */
export function problemOf(refusal: DomainRejection, sent: Sent = {}): Problem {
  // The compiler cannot follow that the code picks the function for exactly this refusal.
  const describe = PROBLEMS[refusal.code] as (why: DomainRejection, sent: Sent) => Problem;
  return describe(refusal, sent);
}

/** The amount as it was sent, e.g. `amount "1.001"`. */
function amountIn({ amount }: Sent): string {
  return amount === undefined ? "the amount" : `amount ${JSON.stringify(amount)}`;
}

function profileNotEmpty({ because, asset, amount }: ProfileNotEmpty): Problem {
  const held = amount === undefined ? undefined : formatAmount(amount);
  const detail = {
    holds_money: `the profile holds ${held} ${asset}`,
    is_awaited: "an open order or a CREATED conversion is to be paid into the profile",
    is_default: "the DEFAULT profile stays in use as long as its customer",
  }[because];
  return new Problem("profile-not-empty", detail, { meta: held === undefined ? {} : { asset, amount: held } });
}

/** The target is what is wrong, unless its source cannot be converted at all. */
function unknownPair({ sourceAsset, targetAsset, stablecoins }: UnknownPair): Problem {
  const thePairs = `the pairs are ${pairs(stablecoins)}`;
  const hasTargets = [USD, ...stablecoins].some((asset) => asset === sourceAsset);
  return hasTargets
    ? invalid([
        { field: "target_asset", value: targetAsset, rule: `is not what ${sourceAsset} converts to: ${thePairs}` },
      ])
    : invalid([{ field: "source_asset", value: sourceAsset, rule: `does not convert to ${targetAsset}: ${thePairs}` }]);
}

/** Every pair that there is, e.g. USD-USDG, USDG-USD. */
function pairs(stablecoins: readonly string[]): string {
  const assets = [USD, ...stablecoins];
  const all = assets.flatMap((source) => assets.filter((target) => target !== source).map((to) => `${source}-${to}`));
  return all.join(", ");
}
