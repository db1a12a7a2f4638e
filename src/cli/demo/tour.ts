/**
 * The steps of the sandbox tour: `tour-lines.ts` prints them for a shell, `demo.ts` runs them. `$NAME` in a path or
 * body is a value known at the start or kept by an earlier step.
 */
import type { BootstrapFile } from "../../service/bootstrap/bootstrap-file.ts";

/** Two customers, because orders of one customer never trade with each other. */
export interface TourParties {
  readonly acme: TourClient & { readonly treasury: string; readonly payouts: string };
  readonly borealis: TourClient & { readonly desk: string };
}

interface TourClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface TourStep {
  /** Omitted when the step continues the previous one. */
  readonly title?: string;
  /** The name of the token to send. */
  readonly as?: "ACME" | "BOREALIS";
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: Readonly<Record<string, string | number>>;
  /** A response field that later steps need. A secret is masked in the output. */
  readonly keep?: { readonly name: string; readonly field: string; readonly secret?: true };
  /** Depends on background work: poll. */
  readonly waits?: true;
  /** Advice for a 401. */
  readonly when401?: string;
  /** Response fields by path, and the pattern each must match. */
  readonly expected: Readonly<Record<string, RegExp>>;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The parties in demo.json. Undefined if the file no longer has the demo's shape. */
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

/** Values known before the first step. The caller adds `RUN`, which makes every ref_id unique. */
export function tourValues(
  { acme, borealis }: TourParties,
  { baseUrl, authUrl }: { baseUrl: string; authUrl: string },
) {
  return { API: baseUrl, AUTH: authUrl, TREASURY: acme.treasury, PAYOUTS: acme.payouts, DESK: borealis.desk };
}

/** In dependency order. The tour can be repeated at any time. */
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
    when401: `the secret of ${clientId} in demo.json is no longer valid: it was rotated, or the client was disabled. Update demo.json; or, for a new demo, stop the service, remove its data directory and start it again`,
    expected: { access_token: /^[\w-]+\.[\w-]+\.[\w-]+$/, token_type: /^bearer$/, expires_in: /^3599$/ },
  };
}

const conversionSteps: readonly TourStep[] = [
  {
    title: "A conversion that mints PYUSD, before and after settlement",
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
 * The sandbox's market maker takes the other side of both. Without it the two orders trade with each other: the sell is
 * priced below the maker's bids but within the 15 % price collar, and the buy spends exactly the sell's value.
 */
const orderSteps: readonly TourStep[] = [
  {
    title: "One order from each customer: a limit sell at 92000, a market buy",
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
