/** What is said about each kind of problem: in the OpenAPI document by example, on its own page in full. */
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
  401: { detail: "the access token is malformed, expired, revoked or not for use from here" },
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
  "unavailable-market": { detail: "market BTCUSD is halted: it takes no new orders", meta: { market: "BTCUSD" } },
  "not-cancellable": { detail: "order is not in cancellable state", meta: { status: "FILLED" } },
  "profile-not-empty": { detail: "the profile holds 10 USDG", meta: { asset: "USDG", amount: "10" } },
  404: { detail: `profile not found: ${PROFILE_ID}` },
  405: { detail: "PATCH is not a method of this path: it has GET, HEAD" },
  408: { detail: "the request did not arrive in time" },
  "already-exists": { detail: 'ref_id "payout-0042" was used before', meta: { existing: { id: PROFILE_ID } } },
  413: { detail: "the body has more than 65536 bytes" },
  414: { detail: "a part of the path is longer than any identifier" },
  415: { detail: 'the content type is "text/plain", but a body is application/json' },
  426: { detail: "this is a feed: it is read over WebSocket" },
  429: { detail: "too many requests: try again in 3 seconds" },
  431: { detail: "the headers are too many, or too long together with the request line" },
  500: { detail: "something went wrong on our side; the request_id leads to what the log knows of it" },
  501: { detail: "the only transfer coding that is known here is chunked" },
  503: { detail: "there is more work waiting than can be taken on" },
} as const satisfies Record<ProblemKind, Example>;

/** A page on a problem. `meta` says what each member of the problem's `meta` holds. */
interface PageText {
  readonly meaning: string;
  readonly advice: string;
  readonly meta: Readonly<Record<string, string>>;
}

export const PROBLEM_PAGES: Readonly<Record<ProblemSlug, PageText>> = {
  "exceed-precision": {
    meaning:
      "An amount has more decimals than the asset can hold. It was not rounded: that would have moved a sum that you did not ask for. Nothing was done.",
    advice:
      "Send the amount with at most as many decimals as meta.precision says. Zeros at the end do not count. For a conversion, the coarser of the two assets decides.",
    meta: { asset: "The asset that decided.", precision: "How many decimals it allows." },
  },
  "insufficient-funds": {
    meaning: "The profile has less available than the request would debit or reserve. Nothing was done.",
    advice:
      "Fund the profile or ask for less, then send the request again; the same ref_id may be used. What open orders and conversions hold is not available until they close.",
    meta: {
      profile_id: "The profile that would have paid.",
      asset: "The asset that it has too little of.",
      available: "What it has available.",
      needed: "What the request needs, fees included.",
    },
  },
  "notional-value-too-large": {
    meaning: "The order is worth more than its market allows for a single order. It was not placed.",
    advice: "Split it into smaller orders. GET /v2/markets tells the limits of each market.",
    meta: {
      market: "The market of the order.",
      order_type: "The type of the order.",
      order_notional_value: "What the order is worth, in the market's quote asset.",
      max_notional_value: "What an order may be worth at most.",
    },
  },
  "unavailable-market": {
    meaning:
      "Trading in the market is halted. The order was not placed. Orders that rest on the book stay there and can be cancelled.",
    advice: "Try again when GET /v2/markets no longer shows the market as halted.",
    meta: { market: "The market that is halted." },
  },
  "not-cancellable": {
    meaning:
      "The order or conversion is closed: it was filled, settled, cancelled or rejected before. It is as it was.",
    advice: "Read it to see how it ended. There is nothing left to cancel.",
    meta: { status: "The status that it has now." },
  },
  "profile-not-empty": {
    meaning:
      "The profile cannot be deactivated: it holds money, has open orders, is to receive what an open order or conversion pays, or is the customer's DEFAULT profile.",
    advice: "Move its balances to another profile, cancel what is open, and try again.",
    meta: { asset: "An asset that it holds.", amount: "How much of it, held amounts included." },
  },
  "already-exists": {
    meaning:
      "The ref_id or nickname was used before. The request had no effect of its own: what it asked for was done the first time, if the bodies were the same.",
    advice:
      "After a time-out this is the answer that you were hoping for: meta.existing is the first record as it is now. For something new, choose another ref_id.",
    meta: { existing: "The record that has the ref_id or nickname, as a GET shows it now." },
  },
};
