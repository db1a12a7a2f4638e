/** The texts of the problem pages. */
import type { ProblemSlug } from "./problems.ts";

/** The page of a problem. `meta` describes each member of the problem's `meta`. */
interface PageText {
  readonly meaning: string;
  readonly advice: string;
  readonly meta: Readonly<Record<string, string>>;
}

export const PROBLEM_PAGES: Readonly<Record<ProblemSlug, PageText>> = {
  "exceed-precision": {
    meaning:
      "An amount has more decimals than the asset allows. It was not rounded, because that would have moved a different amount than you requested. Nothing was done.",
    advice:
      "Send the amount with at most as many decimals as meta.precision says. Trailing zeros do not count. A conversion allows the smaller number of decimals of its two assets.",
    meta: { asset: "The asset whose precision was exceeded.", precision: "The number of decimals it allows." },
  },
  "insufficient-funds": {
    meaning: "The profile has less available than the request would debit or hold. Nothing was done.",
    advice:
      "Fund the profile or reduce the amount, then send the request again; you may use the same ref_id. Funds held by open orders and conversions are not available until these close.",
    meta: {
      profile_id: "The profile to be debited.",
      asset: "The asset that is short.",
      available: "The profile's available balance.",
      needed: "The amount that the request needs, fees included.",
    },
  },
  "notional-value-too-large": {
    meaning: "The order is worth more than its market allows for a single order. It was not placed.",
    advice: "Split it into smaller orders. GET /v2/markets returns the limits of each market.",
    meta: {
      market: "The market of the order.",
      order_type: "The type of the order.",
      order_notional_value: "The value of the order, in the market's quote asset.",
      max_notional_value: "The maximum value of an order.",
    },
  },
  "unavailable-market": {
    meaning:
      "Trading in the market is halted. The order was not placed. Resting orders stay on the order book and can be cancelled.",
    advice: "Try again when GET /v2/markets no longer shows the market as halted.",
    meta: { market: "The market that is halted." },
  },
  "not-cancellable": {
    meaning:
      "The order or conversion is closed: it was already filled, settled, cancelled or rejected. It was not changed.",
    advice: "Read it to see its final status. There is nothing to cancel.",
    meta: { status: "Its current status." },
  },
  "profile-not-empty": {
    meaning:
      "The profile cannot be deactivated: it holds money, has open orders, is the recipient of an open order or conversion, or is the customer's DEFAULT profile.",
    advice: "Move its balances to another profile, cancel its open orders and conversions, and try again.",
    meta: { asset: "An asset that it holds.", amount: "Its balance of that asset, holds included." },
  },
  "already-exists": {
    meaning:
      "The ref_id or nickname is already in use. This request changed nothing. If it repeats an earlier request, that one took effect.",
    advice:
      "After a time-out this confirms that the first request succeeded: meta.existing is its record as it is now. For a new request, choose another ref_id.",
    meta: { existing: "The record that has the ref_id or nickname, as GET returns it now." },
  },
};
