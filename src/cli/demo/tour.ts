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
  { baseUrl, authUrl }: { readonly baseUrl: string; readonly authUrl: string },
) {
  return { API: baseUrl, AUTH: authUrl, TREASURY: acme.treasury, PAYOUTS: acme.payouts, DESK: borealis.desk };
}

/**
 * In dependency order. The tour can be repeated at any time.
 * @param coin The sandbox's own, which is then minted, traded and redeemed.
 */
export function tourSteps(parties: TourParties, coin: string | undefined): readonly TourStep[] {
  const trade = coin === undefined ? BITCOIN_TRADE : coinTrade(coin);
  return [
    { title: "A token for each of two customers, by multipart form", ...tokenStep("ACME", parties.acme) },
    tokenStep("BOREALIS", parties.borealis),
    {
      title: "A sandbox deposit",
      as: "BOREALIS",
      method: "POST",
      url: "$API/v2/sandbox/profiles/$DESK/deposit",
      json: { asset: trade.quote, amount: "100" },
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
    ...mintSteps(coin ?? "PYUSD"),
    ...tradeSteps(trade),
    ...(coin === undefined ? [] : redemptionSteps(coin)),
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

function conversionSteps(name: string, title: string, conversion: Readonly<Record<string, string>>): TourStep[] {
  return [
    {
      title,
      as: "ACME",
      method: "POST",
      url: "$API/v2/conversion/stablecoins",
      json: { profile_id: "$TREASURY", ...conversion, ref_id: `${name.toLowerCase()}-$RUN` },
      keep: { name, field: "id" },
      expected: { id: ID, status: /^CREATED$/ },
    },
    {
      as: "ACME",
      method: "GET",
      url: `$API/v2/conversion/stablecoins/$${name}`,
      waits: true,
      expected: { id: ID, status: /^SETTLED$/, settled_at: /Z$/ },
    },
  ];
}

const mintSteps = (coin: string): TourStep[] =>
  conversionSteps("MINT", `A conversion that mints ${coin}, before and after settlement`, {
    amount: "100",
    source_asset: "USD",
    target_asset: coin,
  });

const redemptionSteps = (coin: string): TourStep[] =>
  conversionSteps("BURN", `A conversion that redeems ${coin}: its reserve pays the USD`, {
    amount: "10",
    source_asset: coin,
    target_asset: "USD",
  });

/** On a market that the sandbox's market maker leaves alone, so that the two customers trade with each other. */
interface Trade {
  readonly market: string;
  readonly quote: string;
  readonly base_amount: string;
  readonly price: string;
  /** The product of both. */
  readonly value: string;
}

const BITCOIN_TRADE: Trade = { market: "BTCEUR", quote: "EUR", base_amount: "0.001", price: "80000", value: "80" };

const coinTrade = (coin: string): Trade => ({
  market: `${coin}USD`,
  quote: "USD",
  base_amount: "40",
  price: "1",
  value: "40",
});

function tradeSteps({ market, base_amount, price, value }: Trade): readonly TourStep[] {
  return [
    {
      title: "One order from each customer, which trade with each other",
      as: "ACME",
      method: "POST",
      url: "$API/v2/profiles/$TREASURY/orders",
      json: { side: "SELL", market, type: "LIMIT", base_amount, price, ref_id: "ask-$RUN" },
      expected: { id: ID, status: /^(PENDING_SUBMISSION|SUBMITTED|OPEN|FILLED)$/ },
    },
    {
      as: "BOREALIS",
      method: "POST",
      url: "$API/v2/profiles/$DESK/orders",
      json: { side: "BUY", market, type: "MARKET", quote_amount: value, await_fill_millis: 5_000, ref_id: "buy-$RUN" },
      keep: { name: "BUY", field: "id" },
      expected: { id: ID, status: /^FILLED$/ },
    },
    {
      title: "Its executions, and the order",
      as: "BOREALIS",
      method: "GET",
      url: "$API/v2/executions?order_id=$BUY",
      expected: { "items.0.order_id": ID, "items.0.side": /^BUY$/ },
    },
    {
      as: "BOREALIS",
      method: "GET",
      url: "$API/v2/profiles/$DESK/orders/$BUY",
      expected: { id: ID, status: /^FILLED$/, amount_filled: /[1-9]/ },
    },
  ];
}
