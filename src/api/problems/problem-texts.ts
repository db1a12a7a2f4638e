/** The texts about each kind of problem: the examples of the OpenAPI document, and the problem pages. */
import type { ProblemKind, ProblemMeta, ProblemSlug } from "./problems.ts";

interface Example {
  readonly detail: string;
  readonly meta?: ProblemMeta;
}

const PROFILE_ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

export const PROBLEM_EXAMPLES = {
  400: {
    detail: "profile_id is required",
    meta: { errors: [{ field: "profile_id", rule: "is required" }] },
  },
  "exceed-precision": {
    detail: 'amount "1.001" has more decimals than USD allows: 2',
    meta: { asset: "USD", precision: 2 },
  },
  401: { detail: "the access token is malformed, expired, revoked or not valid from this address" },
  403: {
    detail: "insufficient scopes: found 'transfer:read_transfer', required one of '[funding:read_profile]'",
    meta: { required: ["funding:read_profile"], granted: ["transfer:read_transfer"] },
  },
  "insufficient-funds": {
    detail: `profile ${PROFILE_ID} has 10 USDG available, but 25.5 is needed`,
    meta: { profile_id: PROFILE_ID, asset: "USDG", available: "10", needed: "25.5" },
  },
  "notional-value-too-large": {
    detail: "the order is worth 10000000 USD, but an order on BTCUSD may be worth 5000000 at most",
    meta: {
      market: "BTCUSD",
      order_type: "LIMIT",
      order_notional_value: "10000000",
      max_notional_value: "5000000",
    },
  },
  "unavailable-market": { detail: "market BTCUSD is halted and accepts no new orders", meta: { market: "BTCUSD" } },
  "not-cancellable": { detail: "order is not in cancellable state", meta: { status: "FILLED" } },
  "profile-not-empty": { detail: "the profile holds 10 USDG", meta: { asset: "USDG", amount: "10" } },
  404: { detail: `profile not found: ${PROFILE_ID}` },
  405: { detail: "PATCH is not allowed on this path: use GET, HEAD" },
  408: { detail: "the request did not arrive in time" },
  "already-exists": { detail: 'ref_id "payout-0042" is already in use', meta: { existing: { id: PROFILE_ID } } },
  413: { detail: "the body has more than 65536 bytes" },
  414: { detail: "a segment of the path is too long" },
  415: { detail: 'the content type is "text/plain": send application/json' },
  426: { detail: "this is a feed: connect to it over WebSocket" },
  429: { detail: "too many requests: try again in 3 seconds" },
  431: { detail: "the headers are too many, or too long together with the request line" },
  500: { detail: "internal error: quote the request_id when you report it" },
  501: { detail: "the only transfer coding that is known here is chunked" },
  503: { detail: "the service is at capacity: too many requests are waiting" },
} as const satisfies Record<ProblemKind, Example>;

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
