/**
 * Maps domain rejections to problems, except those of orders (`order-problems.ts`). Exhaustive by type: a new rejection
 * does not compile until it has a problem here.
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

/** Every rejection of the domain folders other than the exchange. */
export type DomainRejection =
  | ConversionNotCancellable
  | ConversionNotFound
  | ConversionRejection
  | ProfileNotEmpty
  | ProfileNotFound
  | TransferRejection;

/** The fields of the request as sent, which the rejection does not have. */
export type Sent = Readonly<Record<string, unknown>>;

type ProblemTable<Why extends Rejection> = {
  readonly [Code in Why["code"]]: (rejection: Extract<Why, { readonly code: Code }>, sent: Sent) => Problem;
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

/** The problem of a rejection, to be thrown by routes. */
export function problemOf(rejection: DomainRejection, sent: Sent = {}): Problem {
  // The compiler cannot infer that the code selects the function for exactly this rejection.
  const describe = PROBLEMS[rejection.code] as (why: DomainRejection, sent: Sent) => Problem;
  return describe(rejection, sent);
}

/** The amount as it was sent, e.g. `amount "1.001"`. */
function amountIn({ amount }: Sent): string {
  return amount === undefined ? "the amount" : `amount ${JSON.stringify(amount)}`;
}

function profileNotEmpty({ because, asset, amount }: ProfileNotEmpty): Problem {
  const held = amount === undefined ? undefined : formatAmount(amount);
  const detail = {
    holds_money: `the profile holds ${held} ${asset}`,
    is_recipient: "the profile is the recipient of an open order or a CREATED conversion",
    is_default: "the DEFAULT profile cannot be deactivated",
  }[because];
  return new Problem("profile-not-empty", detail, { meta: held === undefined ? {} : { asset, amount: held } });
}

/** Blames the target, unless the source cannot be converted at all. */
function unknownPair({ sourceAsset, targetAsset, stablecoins }: UnknownPair): Problem {
  const thePairs = `the pairs are ${pairs(stablecoins)}`;
  const hasTargets = [USD, ...stablecoins].some((asset) => asset === sourceAsset);
  return hasTargets
    ? invalid([
        { field: "target_asset", value: targetAsset, rule: `is not what ${sourceAsset} converts to: ${thePairs}` },
      ])
    : invalid([{ field: "source_asset", value: sourceAsset, rule: `does not convert to ${targetAsset}: ${thePairs}` }]);
}

/** All pairs, e.g. USD-USDG, USDG-USD. */
function pairs(stablecoins: readonly string[]): string {
  const assets = [USD, ...stablecoins];
  const all = assets.flatMap((source) => assets.filter((target) => target !== source).map((to) => `${source}-${to}`));
  return all.join(", ");
}
