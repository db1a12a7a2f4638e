/**
 * The problem of every rejection that a caller can get. Exhaustive by type: a new rejection does not compile until it has
 * a problem here.
 */
import type {
  ConversionNotCancellable,
  ConversionNotFound,
  ConversionRejection,
  UnknownPair,
} from "../../conversions/conversions.ts";
import type { ProfileNotFound } from "../../customers/profiles/profiles.ts";
import type { InvalidWebhook, TooManyWebhooks, WebhookNotFound } from "../../customers/webhooks/webhooks.ts";
import type { OrderNotCancellable, OrderNotFound, OrderRejection } from "../../exchange/exchange.ts";
import type { Rejection } from "../../ledger/decision.ts";
import { formatAmount } from "../../money/amount.ts";
import { USD } from "../../money/asset.ts";
import type { ProfileNotEmpty, TransferRejection } from "../../transfers/transfers.ts";
import { type Dialect, OWN_DIALECT } from "../../web/dialect/dialect.ts";
import type { ReplayAhead } from "../../webhooks/deliveries.ts";
import { type FailingField, failureOf, shownValue } from "./failing-fields.ts";
import { Problem, type ProblemKind, type ProblemMeta } from "./problems.ts";

/** The ref_id, nickname or name of a request is in use. `existing` is the record that has it, as GET returns it now. */
export interface AlreadyExists extends Rejection {
  readonly code: "already_exists";
  readonly field: "ref_id" | "nickname" | "name";
  readonly existing: object;
}

/** Every rejection that a caller can get. */
export type DomainRejection =
  | AlreadyExists
  | ConversionNotCancellable
  | ConversionNotFound
  | ConversionRejection
  | InvalidWebhook
  | OrderNotCancellable
  | OrderNotFound
  | OrderRejection
  | ProfileNotEmpty
  | ProfileNotFound
  | ReplayAhead
  | TooManyWebhooks
  | TransferRejection
  | WebhookNotFound;

export type RejectionCode = DomainRejection["code"];

/** The fields of the request as sent, which the rejection does not have. */
export type Sent = Readonly<Record<string, unknown>>;

interface ProblemText {
  readonly detail: string;
  readonly meta?: ProblemMeta;
}

type OfCode<Why extends Rejection, Code> = Why extends Rejection ? (Code extends Why["code"] ? Why : never) : never;

type ProblemTable = {
  readonly [Code in RejectionCode]: {
    readonly kind: ProblemKind;
    readonly describe: (rejection: OfCode<DomainRejection, Code>, sent: Sent, dialect: Dialect) => ProblemText;
  };
};

const PROBLEMS: ProblemTable = {
  already_exists: {
    kind: "already-exists",
    describe: ({ field, existing }, sent) => ({
      detail: `${sentField(field, sent)} is already in use`,
      meta: { existing },
    }),
  },
  amount_too_large: {
    kind: 400,
    describe: ({ field, market, asset, bound }, sent) =>
      failureIn(field, sent, `is above the maximum of ${market}: ${formatAmount(bound)} ${asset}`),
  },
  amount_too_small: {
    kind: 400,
    describe: ({ field, market, asset, bound }, sent) =>
      failureIn(field, sent, `is below the minimum of ${market}: ${formatAmount(bound)} ${asset}`),
  },
  balance_too_large: {
    kind: 400,
    describe: ({ profileId, asset }, sent) =>
      failureIn("amount", sent, `would lift the ${asset} balance of profile ${profileId} to 10^29 or above`),
  },
  conversion_not_cancellable: {
    kind: "not-cancellable",
    describe: ({ status }) => ({ detail: "conversion is not in cancellable state", meta: { status } }),
  },
  conversion_not_found: {
    kind: 404,
    describe: ({ conversionId }) => ({ detail: `conversion not found: ${conversionId}` }),
  },
  exceed_precision: {
    kind: "exceed-precision",
    describe: ({ field, market, asset, precision }, sent) => {
      const limit = market === undefined ? `${asset} allows` : `${market} allows for ${asset}`;
      const detail = `${sentField(WIRE_FIELDS[field ?? "amount"], sent)} has more decimals than ${limit}: ${precision}`;
      return { detail, meta: { asset, precision } };
    },
  },
  insufficient_funds: {
    kind: "insufficient-funds",
    describe: ({ profileId, asset, ...funds }) => {
      const [available, needed] = [formatAmount(funds.available), formatAmount(funds.needed)];
      const detail = `profile ${profileId} has ${available} ${asset} available, but ${needed} is needed`;
      return { detail, meta: { profile_id: profileId, asset, available, needed } };
    },
  },
  invalid_webhook: {
    kind: 400,
    describe: ({ field, value, rule, type }) =>
      failureOf([
        {
          field: WEBHOOK_FIELDS[field],
          rule: type === undefined ? rule : `has ${JSON.stringify(type)}, ${rule}`,
          ...(value !== undefined && { value: shownValue(value) }),
        },
      ]),
  },
  market_unavailable: {
    kind: "unavailable-market",
    describe: ({ market }) => ({
      detail: `market ${market} is halted and accepts no new orders`,
      meta: { market },
    }),
  },
  notional_value_too_large: {
    kind: "notional-value-too-large",
    describe: ({ market, asset, orderType, ...amounts }) => {
      const [value, maximum] = [formatAmount(amounts.notionalValue), formatAmount(amounts.maximum)];
      const detail = `the order is worth ${value} ${asset}, but an order on ${market} may be worth ${maximum} at most`;
      const meta = { market, order_type: orderType, order_notional_value: value, max_notional_value: maximum };
      return { detail, meta };
    },
  },
  off_tick: {
    kind: 400,
    describe: ({ field, market, tick, below, above }, sent) => {
      const nearest =
        below === undefined ? `is ${formatAmount(above)}` : `are ${formatAmount(below)} and ${formatAmount(above)}`;
      const rule = `is not a multiple of ${market}'s tick ${formatAmount(tick)}: the nearest ${nearest}`;
      return failureIn(field, sent, rule);
    },
  },
  order_not_cancellable: {
    kind: "not-cancellable",
    describe: ({ status }) => ({ detail: "order is not in cancellable state", meta: { status } }),
  },
  order_not_found: {
    kind: 404,
    describe: ({ orderId }) => ({ detail: `order not found: ${orderId}` }),
  },
  price_too_large: {
    kind: 400,
    describe: ({ field, market, maximum }, sent) =>
      failureIn(field, sent, `is above ${formatAmount(maximum)}, the highest price on ${market}`),
  },
  profile_not_empty: { kind: "profile-not-empty", describe: profileNotEmpty },
  profile_not_found: {
    kind: 404,
    describe: ({ profileId }) => ({ detail: `profile not found: ${profileId}` }),
  },
  replay_ahead: {
    kind: 400,
    describe: ({ lastNumber }, { from_number: value }) =>
      failureOf([
        {
          field: "from_number",
          rule: `is ahead of the webhook, which has come to ${lastNumber}`,
          ...(value !== undefined && { value: shownValue(value) }),
        },
      ]),
  },
  too_many_webhooks: {
    kind: 403,
    describe: ({ limit, of }) => ({
      detail: `there are ${limit} ${of === "active" ? "active " : ""}webhooks already, the most that there can be`,
      meta: { limit },
    }),
  },
  unknown_asset: {
    kind: 400,
    describe: ({ field, asset }) =>
      failureOf([{ field, value: asset, rule: "is not the code of an asset of this service" }]),
  },
  unknown_market: {
    kind: 400,
    describe: ({ field, market, markets }) =>
      failureOf([{ field, value: shownValue(market), rule: `is not one of ${markets.join(", ")}` }]),
  },
  unknown_pair: {
    kind: 400,
    describe: (pair, _sent, { assets }) => failureOf([unknownPair(pair, assets.given(USD))]),
  },
  webhook_not_found: {
    kind: 404,
    describe: ({ webhookId }) => ({ detail: `webhook not found: ${webhookId}` }),
  },
};

export const problemKindOf = (code: RejectionCode): ProblemKind => PROBLEMS[code].kind;

/** @param rejection in the words of the dialect, as `sent` is */
export function problemOf(rejection: DomainRejection, sent: Sent = {}, dialect: Dialect = OWN_DIALECT): Problem {
  const { kind, describe } = PROBLEMS[rejection.code];
  // The compiler cannot infer that the code selects the function for exactly this rejection.
  const { detail, meta } = (describe as (...all: [DomainRejection, Sent, Dialect]) => ProblemText)(
    rejection,
    sent,
    dialect,
  );
  return new Problem(kind, detail, { meta: meta ?? {} });
}

const WEBHOOK_FIELDS: Readonly<Record<InvalidWebhook["field"], string>> = {
  name: "name",
  url: "url",
  types: "types",
  deliveriesPerSecond: "deliveries_per_second",
  header: "receiver_access.header",
  tokenUrl: "receiver_access.token_url",
  clientId: "receiver_access.client_id",
  scope: "receiver_access.scope",
  receiverSecret: "receiver_access.secret",
};

const WIRE_FIELDS = {
  amount: "amount",
  baseAmount: "base_amount",
  quoteAmount: "quote_amount",
  price: "price",
  stopPrice: "stop_price",
} as const;

function failureIn(field: keyof typeof WIRE_FIELDS, sent: Sent, rule: string): ProblemText {
  const name = WIRE_FIELDS[field];
  return failureOf([{ field: name, rule, ...(sent[name] !== undefined && { value: shownValue(sent[name]) }) }]);
}

/** A field as it was sent, e.g. `amount "1.001"`. */
function sentField(name: string, sent: Sent): string {
  return sent[name] === undefined ? `the ${name}` : `${name} ${JSON.stringify(sent[name])}`;
}

function profileNotEmpty({ because, asset, amount }: ProfileNotEmpty): ProblemText {
  const held = amount === undefined ? undefined : formatAmount(amount);
  const detail = {
    holds_money: `the profile holds ${held} ${asset}`,
    is_recipient: "the profile is the recipient of an open order or a CREATED conversion",
    is_default: "the DEFAULT profile cannot be deactivated",
  }[because];
  return held === undefined ? { detail } : { detail, meta: { asset, amount: held } };
}

/** Blames the target, unless the source cannot be converted at all. */
function unknownPair({ sourceAsset, targetAsset, stablecoins }: UnknownPair, usd: string): FailingField {
  const thePairs = `the pairs are ${pairs([usd, ...stablecoins])}`;
  const hasTargets = [usd, ...stablecoins].some((asset) => asset === sourceAsset);
  return hasTargets
    ? { field: "target_asset", value: targetAsset, rule: `is not what ${sourceAsset} converts to: ${thePairs}` }
    : { field: "source_asset", value: sourceAsset, rule: `does not convert to ${targetAsset}: ${thePairs}` };
}

/** All pairs, e.g. USD-USDG, USDG-USD. */
function pairs(assets: readonly string[]): string {
  const all = assets.flatMap((source) => assets.filter((target) => target !== source).map((to) => `${source}-${to}`));
  return all.join(", ");
}
