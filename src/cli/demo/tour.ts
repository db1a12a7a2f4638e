/**
 * The tour of sandbox mode, told once: `tour-lines.ts` prints it as lines for a shell, `demo.ts` takes it. A `$NAME` in a
 * path or a body stands for a value that is known at the start, or that an earlier step has kept.
 */
import type { BootstrapFile } from "../../service/bootstrap-file.ts";

/** Who is on the tour: orders of one customer never trade with each other, so there are two. */
export interface TourParties {
  readonly acme: TourClient & { readonly treasury: string; readonly payouts: string };
  readonly borealis: TourClient & { readonly desk: string };
}

interface TourClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface TourStep {
  /** Left out: it belongs to the step before. */
  readonly title?: string;
  /** The name under which the token was kept that it is sent with. */
  readonly as?: "ACME" | "BOREALIS";
  readonly method: "GET" | "POST";
  /** The whole address; what is sent to it is a form, or JSON. */
  readonly url: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: Readonly<Record<string, string | number>>;
  /** A field of the answer that later steps need. What is secret is not shown. */
  readonly keep?: { readonly name: string; readonly field: string; readonly secret?: true };
  /** Something in the background has to come first. */
  readonly waits?: true;
  /** What there is to say when the answer is 401. */
  readonly when401?: string;
  /** Fields of the answer, by their path in it, and what they have to match. */
  readonly expected: Readonly<Record<string, RegExp>>;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The parties in the demo's file. Undefined when somebody has made something else of it. */
export function tourParties({ customers: [acme, borealis] }: BootstrapFile): TourParties | undefined {
  const [seller, buyer] = [borealis?.clients?.[0], acme?.clients?.[0]];
  const [treasury, payouts] = acme?.profiles ?? [];
  const desk = borealis?.profiles?.[0]?.id;
  if (seller === undefined || buyer === undefined || desk === undefined) return undefined;
  if (treasury?.id === undefined || payouts?.id === undefined) return undefined;
  return {
    acme: { clientId: buyer.client_id, clientSecret: buyer.client_secret, treasury: treasury.id, payouts: payouts.id },
    borealis: { clientId: seller.client_id, clientSecret: seller.client_secret, desk },
  };
}

/** What is known before the first step. `$RUN`, which makes every ref_id new, is up to whoever takes the tour. */
export function tourValues(
  { acme, borealis }: TourParties,
  { baseUrl, authUrl }: { baseUrl: string; authUrl: string },
) {
  return { API: baseUrl, AUTH: authUrl, TREASURY: acme.treasury, PAYOUTS: acme.payouts, DESK: borealis.desk };
}

/** In the order in which they have to be taken. All of it can be taken again at any time. */
export function tourSteps(parties: TourParties): readonly TourStep[] {
  return [
    { title: "A token for each of two customers, by multipart form", ...tokenStep("ACME", parties.acme) },
    tokenStep("BOREALIS", parties.borealis),
    {
      title: "A sandbox deposit",
      as: "ACME",
      method: "POST",
      url: "$API/v2/sandbox/profiles/$TREASURY/deposit",
      json: { asset: "USD", amount: "1000" },
      expected: { activity_id: ID },
    },
    {
      title: "A platform transfer",
      as: "ACME",
      method: "POST",
      url: "$API/v2/transfer/platform",
      json: {
        from_profile_id: "$TREASURY",
        to_profile_id: "$PAYOUTS",
        amount: "25.5",
        asset: "USD",
        ref_id: "payout-$RUN",
      },
      expected: { id: ID, direction: /^DEBIT$/, status: /^COMPLETED$/, total: /^25\.5$/ },
    },
    ...conversionSteps,
    ...orderSteps,
  ];
}

function tokenStep(name: "ACME" | "BOREALIS", { clientId, clientSecret }: TourClient): TourStep {
  return {
    method: "POST",
    url: "$AUTH/oauth2/token",
    form: { grant_type: "client_credentials", client_id: clientId, client_secret: clientSecret },
    keep: { name, field: "access_token", secret: true },
    when401: `the secret of ${clientId} in demo.json is not valid any more: it was rotated, or the client disabled. Put the new one there; or, for a new demo, stop the service, remove its data directory and start it again`,
    expected: { access_token: /^[\w-]+\.[\w-]+\.[\w-]+$/, token_type: /^bearer$/, expires_in: /^3599$/ },
  };
}

const conversionSteps: readonly TourStep[] = [
  {
    title: "A conversion, which mints PYUSD, and its record once it is settled",
    as: "ACME",
    method: "POST",
    url: "$API/v2/conversion/stablecoins",
    json: { profile_id: "$TREASURY", amount: "100", source_asset: "USD", target_asset: "PYUSD", ref_id: "mint-$RUN" },
    keep: { name: "MINT", field: "id" },
    expected: { id: ID, status: /^CREATED$/ },
  },
  {
    as: "ACME",
    method: "GET",
    url: "$API/v2/conversion/stablecoins/$MINT",
    waits: true,
    expected: { id: ID, status: /^SETTLED$/, settled_at: /Z$/ },
  },
];

/**
 * The sandbox's market maker is on the other side of both. Where it is off, or the market is empty for another reason,
 * they trade with each other: so the first one asks for less than the maker ever bids, and for more than the price collar
 * of 15 % forbids, and the second one spends what the first one's coins are worth at that price.
 */
const orderSteps: readonly TourStep[] = [
  {
    title: "An order of each customer to the book: a sale for 92000 or more, a purchase at the best price",
    as: "BOREALIS",
    method: "POST",
    url: "$API/v2/profiles/$DESK/orders",
    json: { side: "SELL", market: "BTCUSD", type: "LIMIT", base_amount: "0.001", price: "92000", ref_id: "ask-$RUN" },
    expected: { id: ID, status: /^(PENDING_SUBMISSION|SUBMITTED|OPEN|FILLED)$/ },
  },
  {
    as: "ACME",
    method: "POST",
    url: "$API/v2/profiles/$TREASURY/orders",
    json: {
      side: "BUY",
      market: "BTCUSD",
      type: "MARKET",
      quote_amount: "92",
      await_fill_millis: 5_000,
      ref_id: "buy-$RUN",
    },
    keep: { name: "BUY", field: "id" },
    expected: { id: ID, status: /^FILLED$/ },
  },
  {
    title: "The list of executions",
    as: "ACME",
    method: "GET",
    url: "$API/v2/executions?order_id=$BUY",
    expected: { "items.0.order_id": ID, "items.0.side": /^BUY$/ },
  },
  {
    title: "One order",
    as: "ACME",
    method: "GET",
    url: "$API/v2/profiles/$TREASURY/orders/$BUY",
    expected: { id: ID, status: /^FILLED$/, amount_filled: /[1-9]/ },
  },
];
