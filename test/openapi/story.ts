/**
 * One customer's day: every operation of the API once or more, in an order that makes sense. What it records are the
 * examples of the OpenAPI document. A new operation needs a line here.
 */
import { expect } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { storeMatches } from "../support/exchange/stored-matches.ts";
import { TESTER } from "../support/movements.ts";
import type { Call } from "../support/openapi.ts";
import { unwrap } from "../support/results.ts";
import type { TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import type { Failing, Failures, Recorder } from "./recorder.ts";
import { BIRCH_CREDENTIALS, BIRCH_DESK, CREDENTIALS, NOBODYS, NOT_HELD, TREASURY } from "./story-customers.ts";
import { useWebhooks } from "./story-webhooks.ts";

const DAY_MS = 86_400_000;
export interface Stage {
  readonly service: TestService;
  readonly recorder: Recorder;
  /** Starts a node that settles conversions and publishes events. */
  readonly startWorker: () => Promise<unknown>;
}

/** How every operation gives the problems that most of them have. */
export function usualFailures(otherToken: string): Failures {
  const nobodys = path({ id: NOBODYS });
  return {
    "bad-request": query({ page: "2" }),
    unauthorized: { token: null },
    forbidden: { token: otherToken },
    "not-found": nobodys,
    "order-not-found": nobodys,
    "conversion-not-found": nobodys,
    // With the same ref_id.
    "already-exists": {},
    "content-too-large": { text: JSON.stringify({ memo: "x".repeat(66_000) }) },
    "unsupported-media-type": { headers: { "content-type": "text/plain" } },
  };
}

const body = (fields: Readonly<Record<string, unknown>>): Failing => ({ body: fields });
const path = (parameters: Readonly<Record<string, string>>): Failing => ({ path: parameters });
const query = (parameters: Readonly<Record<string, string>>): Failing => ({ query: parameters });

interface Made {
  readonly id: string;
}

/** Records the whole day. */
export async function recordDay(stage: Stage): Promise<void> {
  const { service, recorder } = stage;
  recorder.token = await firstToken(stage);
  recorder.at("08:00");
  recorder.see((await service.call("GET", "/v2/profiles", { as: recorder.token })).body);
  const payouts = await openProfile(stage);
  await moveMoney(stage, payouts);
  const minted = await convert(stage, payouts);
  await trade(stage, payouts);
  await readMarkets(stage);
  await settle(stage, minted);
  await readEvents(stage, payouts);
  await useWebhooks(stage);
  await closeProfile(stage, payouts);
}

async function firstToken({ recorder }: Stage): Promise<string> {
  recorder.at("08:55");
  const token = await recorder.record<{ readonly access_token: string }>(
    "issueToken",
    { body: { grant_type: "client_credentials", ...CREDENTIALS } },
    {
      "invalid-request": { text: "client_id=acme" },
      "unsupported-grant-type": body({ grant_type: "password" }),
      "invalid-scope": body({ scope: NOT_HELD }),
      "invalid-client": body({ client_secret: "wrong" }),
    },
  );
  return token.access_token;
}

async function openProfile({ recorder }: Stage): Promise<string> {
  recorder.at("09:00");
  const { id } = await recorder.record<Made>(
    "createProfile",
    { body: { nickname: "payouts", description: "Pays our suppliers." } },
    { "bad-request": body({ nickname: "" }) },
  );
  recorder.at("09:02");
  await recorder.record(
    "updateProfile",
    { path: { id }, body: { description: "Pays our suppliers every Monday." } },
    {
      "bad-request": body({ name: "payouts" }),
      "profile-not-found": path({ id: NOBODYS }),
      "already-exists": body({ nickname: "treasury" }),
    },
  );
  await recorder.record("getProfile", { path: { id } }, { "profile-not-found": path({ id: NOBODYS }) });
  await recorder.record("listProfiles", {}, { "bad-request": query({ order: "desc" }) });
  return id;
}

async function moveMoney({ service, recorder }: Stage, payouts: string): Promise<void> {
  recorder.at("09:05");
  await recorder.record(
    "createSandboxDeposit",
    { path: { id: payouts }, body: { asset: "BTC", amount: "0.5", crypto_network: "BITCOIN" } },
    {
      "bad-request": body({ amount: "-0.5" }),
      "profile-not-found": path({ id: NOBODYS }),
      "unknown-asset": body({ asset: "XBT" }),
      "exceed-precision": body({ amount: "0.123456789" }),
    },
  );
  const deposit = { as: recorder.token ?? "", body: { asset: "USD", amount: "50000" } };
  expect((await service.call("POST", `/v2/sandbox/profiles/${payouts}/deposit`, deposit)).status).toBe(200);

  const failures = {
    "bad-request": body({ amount: "1e3" }),
    "profile-not-found": body({ to_profile_id: NOBODYS, ref_id: "not used yet" }),
    "unknown-asset": body({ asset: "usd", ref_id: "not used yet" }),
    "exceed-precision": body({ amount: "1000.001", ref_id: "not used yet" }),
    "insufficient-funds": body({ amount: "1000000", ref_id: "not used yet" }),
  };
  recorder.at("09:15");
  const toTreasury = { from_profile_id: payouts, to_profile_id: TREASURY, amount: "1000", asset: "USD" };
  await recorder.record("createInternalTransfer", { body: { ...toTreasury, ref_id: "reserve-2026-11-02" } }, failures);
  recorder.at("09:20");
  const toBirch = { from_profile_id: payouts, to_profile_id: BIRCH_DESK, amount: "250.5", asset: "USD" };
  const { id } = await recorder.record<Made>(
    "createPlatformTransfer",
    { body: { ...toBirch, ref_id: "payout-2026-11-02-0042", metadata: { invoice: "2026-0042" } } },
    failures,
  );
  await moveMany(recorder, toTreasury, toBirch);
  await recorder.record("getTransfer", { path: { id } });
  await recorder.record(
    "listTransfers",
    { query: { profile_ids: payouts, limit: "2" } },
    { "bad-request": query({ statuses: "DONE" }) },
  );
  await recorder.record(
    "listBalances",
    { path: { id: payouts }, query: { assets: ["BTC", "USD"] } },
    { "profile-not-found": path({ id: NOBODYS }), "unknown-asset": query({ assets: "XBT" }) },
  );
  await recorder.record(
    "getBalance",
    { path: { id: payouts, asset: "USD" } },
    { "profile-not-found": path({ id: NOBODYS }), "not-found": path({ asset: "XBT" }) },
  );
}

async function moveMany(recorder: Recorder, toTreasury: object, toBirch: object): Promise<void> {
  recorder.at("09:25");
  const failures = { "bad-request": body({ mode: "all" }), "content-too-large": { text: " ".repeat(1_100_000) } };
  const bulk = (ref_id: string, move: object): Call => ({
    body: {
      ref_id,
      mode: "independent",
      items: [
        { ...move, amount: "120", ref_id: `${ref_id}-0001` },
        { ...move, amount: "1000000", ref_id: `${ref_id}-0002` },
      ],
    },
  });
  await recorder.record("createPlatformTransfers", bulk("payroll-2026-11", toBirch), failures);
  await recorder.record("createInternalTransfers", bulk("sweep-2026-11-02", toTreasury), failures);
}

/** Nothing settles yet. */
async function convert({ service, recorder }: Stage, payouts: string): Promise<string> {
  recorder.at("09:30");
  const mint = { profile_id: payouts, amount: "5000", source_asset: "USD", target_asset: "PYUSD" };
  const { id } = await recorder.record<Made>(
    "createStablecoinConversion",
    { body: { ...mint, ref_id: "mint-2026-11-02-0007" } },
    {
      "bad-request": body({ amount: "0" }),
      "profile-not-found": body({ profile_id: NOBODYS, ref_id: "not used yet" }),
      "unknown-pair": body({ target_asset: "EUR", ref_id: "not used yet" }),
      "exceed-precision": body({ amount: "1000.001", ref_id: "not used yet" }),
      "insufficient-funds": body({ amount: "1000000", ref_id: "not used yet" }),
    },
  );
  recorder.at("09:35");
  const second = { as: recorder.token ?? "", body: { ...mint, amount: "100", ref_id: "mint-2026-11-02-0008" } };
  const unwanted = await service.call("POST", "/v2/conversion/stablecoins", second);
  await recorder.record(
    "cancelStablecoinConversion",
    { path: { id: unwanted.body.id } },
    // It is cancelled by then.
    { "conversion-not-cancellable": {} },
  );
  return id;
}

const MARKET = "BTCUSD" as MarketCode;

async function trade({ service, recorder }: Stage, payouts: string): Promise<void> {
  const as = recorder.token ?? "";
  const orderIs = (id: string, status: string) =>
    until(`the order is ${status}`, async () => {
      const { body: order } = await service.call("GET", `/v2/profiles/${payouts}/orders/${id}`, { as });
      return order.status === status;
    });
  await offerOfBirch(service);

  recorder.at("10:00");
  const buy = { side: "BUY", market: MARKET, type: "LIMIT", base_amount: "0.01", price: "25000" };
  const { id } = await recorder.record<Made>(
    "placeOrder",
    { path: { profile_id: payouts }, body: { ...buy, ref_id: "order-2026-11-02-0019", await_fill_millis: 10_000 } },
    orderFailures(service),
  );
  await recorder.record("getOrder", { path: { profile_id: payouts, id } });

  recorder.at("10:05");
  const resting = { ...buy, base_amount: "0.02", price: "24000", ref_id: "order-2026-11-02-0020" };
  const open = await service.call("POST", `/v2/profiles/${payouts}/orders`, { as, body: resting });
  await orderIs(open.body.id, "OPEN");
  await recorder.record(
    "listOrders",
    { query: { status: "OPEN" } },
    { "unknown-market": query({ market: "BTC-USD" }) },
  );
  await recorder.record(
    "listProfileOrders",
    { path: { profile_id: payouts }, query: { market: MARKET } },
    { "profile-not-found": path({ profile_id: NOBODYS }), "unknown-market": query({ market: "BTC-USD" }) },
  );
  await recorder.record("getOrderBook", { path: { market: MARKET } }, { "not-found": path({ market: "BTC-USD" }) });

  recorder.at("10:10");
  await recorder.record(
    "cancelOrder",
    { path: { profile_id: payouts, id: open.body.id } },
    { "order-not-cancellable": path({ id }) },
  );
  await orderIs(open.body.id, "CANCELLED");
  await recorder.record("listExecutions", { query: { order_id: id } });
  await recorder.record(
    "listProfileExecutions",
    { path: { profile_id: payouts } },
    { "profile-not-found": path({ profile_id: NOBODYS }) },
  );
  await recorder.record("listFees", { query: { market: MARKET } }, { "unknown-market": query({ market: "BTC-USD" }) });
}

/** Somebody to trade with, whose requests are not recorded. */
async function offerOfBirch(service: TestService): Promise<void> {
  const as = await service.token({ clientId: BIRCH_CREDENTIALS.client_id, secret: BIRCH_CREDENTIALS.client_secret });
  const offer = { side: "SELL", market: MARKET, type: "LIMIT", base_amount: "0.5", price: "25000" };
  const { body: order } = await service.call("POST", `/v2/profiles/${BIRCH_DESK}/orders`, { as, body: offer });
  await until("the offer is on the book", async () => {
    const { body: book } = await service.call("GET", `/v2/markets/${MARKET}/order-book`);
    return book.asks.length === 1;
  });
  expect(order.status).toBe("PENDING_SUBMISSION");
}

function orderFailures({ service }: TestService): Failures {
  const unused = { ref_id: "not used yet" };
  const halted = {
    before: async () => unwrap(await service.exchange.haltMarket(MARKET, TESTER)),
    after: async () => unwrap(await service.exchange.resumeMarket(MARKET, TESTER)),
  };
  return {
    "bad-request": body({ price: undefined }),
    "profile-not-found": { ...path({ profile_id: NOBODYS }), ...body(unused) },
    "unknown-market": body({ ...unused, market: "BTC-USD" }),
    "off-tick": body({ ...unused, price: "25000.1" }),
    "price-too-large": body({ ...unused, price: "9999999999999" }),
    "amount-too-small": body({
      ...unused,
      side: "BUY",
      type: "MARKET",
      base_amount: undefined,
      price: undefined,
      quote_amount: "0.001",
    }),
    "amount-too-large": body({ ...unused, base_amount: "501" }),
    "exceed-precision": body({ ...unused, base_amount: "0.000000001" }),
    "notional-value-too-large": body({ ...unused, base_amount: "400" }),
    "insufficient-funds": body({ ...unused, base_amount: "10" }),
    "market-unavailable": { ...body(unused), ...halted },
  };
}

async function readMarkets({ service, recorder }: Stage): Promise<void> {
  recorder.at("10:15");
  const nowhere = { "not-found": path({ market: "BTC-USD" }) };
  interface Markets {
    readonly markets: readonly { readonly market: string }[];
  }
  // Of dozens of markets, the one of the story.
  await recorder.record<Markets>("listMarkets", {}, {}, ({ markets }) => ({
    markets: markets.filter(({ market }) => market === MARKET),
  }));
  await recorder.record("getTicker", { path: { market: MARKET } }, nowhere);
  await recorder.record("listRecentExecutions", { path: { market: MARKET } }, nowhere);
  await recorder.record(
    "listPrices",
    { query: { markets: MARKET } },
    { "unknown-market": query({ markets: "BTC-USD" }) },
  );
  await recorder.record(
    "listHistoricalCandles",
    { path: { market: MARKET }, query: { increment: "ONE_DAY" } },
    { ...nowhere, "bad-request": query({ increment: "1d" }) },
  );
  // Averages are of whole days, so of those before the story.
  const midnight = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  await storeMatches(service.db.owner, "ETHUSD", [
    { at: midnight - 3 * DAY_MS, price: 1_800, amount: 500 },
    { at: midnight - 1.75 * DAY_MS, price: 1_900, amount: 250 },
  ]);
  await recorder.record(
    "listHistoricalPrices",
    { path: { market: "ETHUSD" }, query: { increment: "ONE_DAY" } },
    { ...nowhere, "bad-request": query({ increment: "1d" }) },
  );
}

async function settle({ service, recorder, startWorker }: Stage, id: string): Promise<void> {
  await startWorker();
  await until("the conversion is settled", async () => {
    const { body } = await service.call("GET", `/v2/conversion/stablecoins/${id}`, { as: recorder.token ?? "" });
    return body.status === "SETTLED";
  });
  recorder.at("11:00");
  await recorder.record("getStablecoinConversion", { path: { id } });
  await recorder.record(
    "listStablecoinConversions",
    { query: { status: "SETTLED" } },
    { "bad-request": query({ order: "desc" }) },
  );
}

async function readEvents({ service, recorder }: Stage, payouts: string): Promise<void> {
  await until("the last event is published", async () => {
    const { body } = await service.call("GET", "/v2/events?type=conversion.settled", { as: recorder.token ?? "" });
    return body.events.length === 1;
  });
  recorder.at("11:05");
  const { events } = await recorder.record<{ readonly events: readonly Made[] }>("listEvents", {
    query: { profile_id: payouts, type: ["conversion.created", "conversion.settled"] },
  });
  await recorder.record("getEvent", { path: { id: events[0]?.id ?? "" } });
  await recorder.record("streamEvents", { query: { after_number: "0" } });
}

async function closeProfile({ service, recorder }: Stage, payouts: string): Promise<void> {
  recorder.at("17:00");
  const unused = await service.call("POST", "/v2/profiles", { as: recorder.token ?? "", body: { nickname: "unused" } });
  await recorder.record(
    "deactivateProfile",
    { path: { id: unused.body.id } },
    { "profile-not-found": path({ id: NOBODYS }), "profile-not-empty": path({ id: payouts }) },
  );
  recorder.at("17:30");
  await recorder.record(
    "deleteApiCredentials",
    { path: { client_id: "acme-reports" } },
    {
      "bad-request": path({ client_id: "x".repeat(101) }),
      "not-found": path({ client_id: "birch" }),
    },
  );
  await recorder.record(
    "listApiCredentials",
    { query: { statuses: ["APPROVED", "DISABLED"] } },
    { "bad-request": query({ statuses: "DELETED" }) },
  );
}
