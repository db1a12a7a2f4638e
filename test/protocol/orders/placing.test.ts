import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { MarketCode } from "../../../src/catalogue/market.ts";
import { findByRefId } from "../../../src/cli/auditing/all-writes.ts";
import type { Profile } from "../../../src/customers/profiles/profiles.ts";
import type { OrderId } from "../../../src/exchange/order.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { ask, type ExchangeApi, problem, startExchangeApi } from "../../support/exchange/exchange-api.ts";
import { TESTER } from "../../support/movements.ts";

let api: ExchangeApi;
let profile: Profile;
let path: string;
beforeAll(async () => {
  api = await startExchangeApi();
});
beforeEach(async () => {
  profile = await api.profile(api.acme, { USD: "1000000", BTC: "10" });
  path = `/v2/profiles/${profile.id}/orders`;
  api.woken.length = 0;
});
afterEach(async () => {
  api.time.now = undefined;
  await expectBooksBalance(api.db.owner);
});
afterAll(() => api.stop());

const LIMIT_BUY = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.5", price: "25000" };

/** available, trading */
async function balance(asset: string, of = profile.id): Promise<string[]> {
  const [row] = await api.db.database.rows<{ available: string; trading: string }>(
    "select trim_scale(available) as available, trim_scale(trading) as trading from account where owner_id = $1 and asset = $2",
    [of, asset],
  );
  return row === undefined ? [] : [row.available, row.trading];
}

const STAMPS = {
  id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
};
const NOTHING_FILLED = { amount_filled: "0", volume_weighted_average_price: "0", is_triggered: false };

test("what an order record holds as an empty text may be sent back so, and counts as absent", async () => {
  const empty = { quote_amount: "", self_match_prevention_id: "", identity_id: "", identity_account_id: "" };
  const placed = await ask(api, "POST", path, { json: { ...LIMIT_BUY, ...empty } });
  expect(placed.body).toMatchObject({ status: "PENDING_SUBMISSION", quote_amount: "" });
  expect(placed.body).not.toHaveProperty("identity_id");
  expect(placed.body).not.toHaveProperty("identity_account_id");
  expect(placed.body).not.toHaveProperty("self_match_prevention_id");
});

test("a limit buy holds its value plus commission, and is pending until an engine takes it", async () => {
  const placed = await ask(api, "POST", path, { json: LIMIT_BUY });
  expect(placed).toEqual({
    status: 200,
    body: {
      ...STAMPS,
      ...NOTHING_FILLED,
      profile_id: profile.id,
      status: "PENDING_SUBMISSION",
      side: "BUY",
      market: "BTCUSD",
      type: "LIMIT",
      base_amount: "0.5",
      price: "25000",
      quote_amount: "",
      time_in_force: "GTC",
    },
  });
  // 0.5 x 25000 x 1.0035
  expect(await balance("USD")).toEqual(["987456.25", "12543.75"]);
  expect(api.woken).toEqual(["BTCUSD"]);
  const { id } = placed.body as { id: string };
  expect(await ask(api, "GET", `${path}/${id}`)).toEqual(placed);
});

test("all fields of an order are echoed: amounts canonical, the rest as sent", async () => {
  const recipient = await api.profile(api.acme, {});
  const texts = { ref_id: "a b", identity_id: "i", identity_account_id: "a", metadata: {} };
  const placed = await ask(api, "POST", path, {
    json: {
      ...texts,
      side: "SELL",
      market: "BTCUSD",
      type: "LIMIT",
      base_amount: "00.1000",
      price: "25000.00",
      time_in_force: "IOC",
      recipient_profile_id: String(recipient.id).toUpperCase(),
      quote_amount: null,
      stop_price: null,
      await_fill_millis: 0,
    },
  });
  expect(placed).toEqual({
    status: 200,
    body: {
      ...STAMPS,
      ...NOTHING_FILLED,
      ...texts,
      profile_id: profile.id,
      status: "PENDING_SUBMISSION",
      side: "SELL",
      market: "BTCUSD",
      type: "LIMIT",
      base_amount: "0.1",
      price: "25000",
      quote_amount: "",
      time_in_force: "IOC",
      recipient_profile_id: recipient.id,
    },
  });
  expect(await balance("BTC")).toEqual(["9.9", "0.1"]);
});

test.each([
  ["2099-12-31T23:59:59.1230001Z", "2099-12-31T23:59:59.124Z"],
  ["2099-12-31T23:59:59.123000000Z", "2099-12-31T23:59:59.123Z"],
  ["4102444800001", "2100-01-01T00:00:00.001Z"],
  // Later than this there is no time.
  ["9999-12-31T23:59:59.9991Z", "9999-12-31T23:59:59.999Z"],
])("an order that expires at %s does not do so earlier, at %s", async (sent, expires) => {
  const { status, body } = await ask(api, "POST", path, {
    json: { ...LIMIT_BUY, time_in_force: "GTT", expiration_date: sent },
  });
  expect([status, body]).toEqual([200, expect.objectContaining({ expiration_date: expires })]);
});

test("a market buy holds its quote amount plus commission; a market sell holds its base amount", async () => {
  const buy = { side: "BUY", market: "BTCUSD", type: "MARKET", quote_amount: "1000.01" };
  const bought = await ask(api, "POST", path, { json: buy });
  expect(bought).toEqual({
    status: 200,
    body: {
      ...STAMPS,
      ...NOTHING_FILLED,
      ...buy,
      profile_id: profile.id,
      status: "PENDING_SUBMISSION",
      time_in_force: "IOC",
    },
  });
  // 1000.01 x 1.0035
  expect(await balance("USD")).toEqual(["998996.489965", "1003.510035"]);
  const sell = { side: "SELL", market: "BTCUSD", type: "MARKET", base_amount: "0.00010001" };
  const sold = await ask(api, "POST", path, { json: sell });
  expect(sold.body).toMatchObject({ ...sell, quote_amount: "", time_in_force: "IOC" });
  expect(await balance("BTC")).toEqual(["9.99989999", "0.00010001"]);
});

test("a hold is exact to the last of 18 decimals", async () => {
  const cents = { ...LIMIT_BUY, market: "PENGUUSD", base_amount: "10.00000001", price: "0.123457" };
  expect((await ask(api, "POST", path, { json: cents })).status).toBe(200);
  // 10.00000001 x 0.123457 x 1.0035
  expect(await balance("USD")).toEqual(["999998.761109003761109005", "1.238890996238890995"]);
});

test("exactly the required funds are enough, and one unit less is not", async () => {
  const poor = await api.profile(api.acme, { USD: "12543.75", BTC: "0.5" });
  const short = { ...LIMIT_BUY, price: "25001" };
  const poorPath = `/v2/profiles/${poor.id}/orders`;
  expect(await ask(api, "POST", poorPath, { json: short })).toEqual(
    problem(403, "Insufficient Funds", `profile ${poor.id} has 12543.75 USD available, but 12544.25175 is needed`, {
      slug: "insufficient-funds",
      meta: { profile_id: poor.id, asset: "USD", available: "12543.75", needed: "12544.25175" },
    }),
  );
  expect((await ask(api, "POST", poorPath, { json: LIMIT_BUY })).status).toBe(200);
  expect(await balance("USD", poor.id)).toEqual(["0", "12543.75"]);
  const sell = { ...LIMIT_BUY, side: "SELL", base_amount: "0.50000001" };
  expect(await ask(api, "POST", poorPath, { json: sell })).toEqual(
    problem(403, "Insufficient Funds", `profile ${poor.id} has 0.5 BTC available, but 0.50000001 is needed`, {
      slug: "insufficient-funds",
      meta: { profile_id: poor.id, asset: "BTC", available: "0.5", needed: "0.50000001" },
    }),
  );
});

test("half of the identity pair gives a stored REJECTED order that holds nothing and needs no funds", async () => {
  const empty = await api.profile(api.acme, {});
  const emptyPath = `/v2/profiles/${empty.id}/orders`;
  for (const half of [{ identity_id: "i" }, { identity_account_id: "a" }]) {
    const refId = `pair-${Object.keys(half)}-${empty.id}`;
    const rejected = await ask(api, "POST", emptyPath, { json: { ...LIMIT_BUY, ...half, ref_id: refId } });
    expect(rejected).toEqual({
      status: 200,
      body: {
        ...STAMPS,
        ...NOTHING_FILLED,
        ...LIMIT_BUY,
        ...half,
        profile_id: empty.id,
        ref_id: refId,
        status: "REJECTED",
        reject_reason: "identity_pair",
        quote_amount: "",
        time_in_force: "GTC",
      },
    });
    const again = await ask(api, "POST", emptyPath, { json: { ...LIMIT_BUY, ref_id: refId } });
    expect(again).toEqual(
      problem(409, "Already Exists", `ref_id "${refId}" is already in use`, {
        slug: "already-exists",
        meta: { existing: rejected.body },
      }),
    );
  }
  expect(await balance("USD", empty.id)).toEqual([]);
  expect(api.woken).toEqual([]);
});

test("a recipient counts the open orders of other profiles that will pay into it", async () => {
  const recipient = await api.profile(api.acme, {});
  const awaited = async (): Promise<number | undefined> =>
    (await api.profiles.find(api.acme.customerId, recipient.id))?.incomingCount;
  await ask(api, "POST", path, { json: { ...LIMIT_BUY, recipient_profile_id: recipient.id } });
  await ask(api, "POST", path, { json: { ...LIMIT_BUY, recipient_profile_id: recipient.id, identity_id: "alone" } });
  await ask(api, "POST", path, { json: { ...LIMIT_BUY, recipient_profile_id: profile.id } });
  expect(await awaited()).toBe(1);
  expect((await api.profiles.find(api.acme.customerId, profile.id))?.incomingCount).toBe(0);
});

test("`default` in the path is the caller's DEFAULT profile", async () => {
  const half = { ...LIMIT_BUY, identity_id: "alone" };
  const placed = await ask(api, "POST", "/v2/profiles/default/orders", { json: half });
  const { id } = placed.body as { id: string };
  expect(placed.body).toMatchObject({ profile_id: api.acme.home });
  expect(await ask(api, "GET", `/v2/profiles/default/orders/${id}`)).toEqual(placed);
});

test("of ten concurrent orders with one ref_id exactly one takes effect", async () => {
  const json = { ...LIMIT_BUY, ref_id: `once-${profile.id}` };
  const answers = await Promise.all(Array.from({ length: 10 }, () => ask(api, "POST", path, { json })));
  const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status);
  expect(winner?.status).toBe(200);
  const taken = { slug: "already-exists", meta: { existing: winner?.body } };
  for (const other of others) {
    expect(other).toEqual(problem(409, "Already Exists", `ref_id "${json.ref_id}" is already in use`, taken));
  }
  expect(await balance("USD")).toEqual(["987456.25", "12543.75"]);
});

test("a ref_id is unique per customer, and free again 24 hours after its order has closed", async () => {
  const json = { ...LIMIT_BUY, ref_id: `day-${profile.id}` };
  const first = (await ask(api, "POST", path, { json })).body as { id: OrderId };
  const other = await api.profile(api.globex, { USD: "1000000" });
  expect((await ask(api, "POST", `/v2/profiles/${other.id}/orders`, { token: "globex", json })).status).toBe(200);
  api.time.now = (Date.now() + 90_000_000) as Instant;
  expect((await ask(api, "POST", path, { json })).status).toBe(409);
  const { closedAt } = await api.close({ id: first.id, profileId: profile.id }, {});
  api.time.now = ((closedAt ?? 0) + 86_400_000) as Instant;
  expect((await ask(api, "POST", path, { json })).status).toBe(409);
  api.time.now = ((closedAt ?? 0) + 86_400_001) as Instant;
  const second = await ask(api, "POST", path, { json });
  expect(second.status).toBe(200);
  expect(await ask(api, "POST", path, { json })).toEqual(
    problem(409, "Already Exists", `ref_id "${json.ref_id}" is already in use`, {
      slug: "already-exists",
      meta: { existing: second.body },
    }),
  );
  // An audit by this ref_id names all that have had it.
  const { body: elsewhere } = await ask(api, "GET", `/v2/profiles/${other.id}/orders`, { token: "globex" });
  const ids = [first.id, (second.body as { id: string }).id, (elsewhere as { items: { id: string }[] }).items[0]?.id];
  expect(await findByRefId(api.db.owner, json.ref_id)).toEqual(new Set(ids));
});

test("the ref_id of a rejected order is taken for 24 hours; then one of several concurrent requests gets it", async () => {
  const json = { ...LIMIT_BUY, ref_id: `rejected-${profile.id}` };
  const rejected = await ask(api, "POST", path, { json: { ...json, identity_id: "alone" } });
  expect(rejected.body).toMatchObject({ status: "REJECTED" });
  const taken = (existing: unknown) =>
    problem(409, "Already Exists", `ref_id "${json.ref_id}" is already in use`, {
      slug: "already-exists",
      meta: { existing },
    });
  const rejectedAt = Date.parse((rejected.body as { created_at: string }).created_at);
  api.time.now = (rejectedAt + 86_400_000) as Instant;
  expect(await ask(api, "POST", path, { json })).toEqual(taken(rejected.body));
  api.time.now = (rejectedAt + 86_400_001) as Instant;
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(api, "POST", path, { json })));
  const [winner, ...others] = answers.toSorted((a, b) => a.status - b.status);
  expect(winner?.status).toBe(200);
  for (const other of others) expect(other).toEqual(taken(winner?.body));
  expect(await balance("USD")).toEqual(["987456.25", "12543.75"]);
  // Both are found by the name that they share.
  const listed = await ask(api, "GET", `/v2/orders?ref_ids=${json.ref_id}`);
  expect(listed.body).toEqual({ items: [winner?.body, rejected.body], next_page_cursor: "" });
});

test("a halted market rejects orders but accepts cancels, and accepts orders again once resumed", async () => {
  const market = "BTCUSD" as MarketCode;
  const { id } = (await ask(api, "POST", path, { json: LIMIT_BUY })).body as { id: string };
  expect((await api.exchange.haltMarket(market, TESTER)).kind).toBe("done");
  expect(await ask(api, "POST", path, { json: LIMIT_BUY })).toEqual(
    problem(403, "Market Unavailable", "market BTCUSD is halted and accepts no new orders", {
      slug: "unavailable-market",
      meta: { market: "BTCUSD" },
    }),
  );
  expect((await ask(api, "POST", path, { json: { ...LIMIT_BUY, market: "ETHUSD" } })).status).toBe(200);
  expect(await ask(api, "DELETE", `${path}/${id}`)).toEqual({ status: 200, body: {} });
  expect((await api.exchange.haltMarket(market, TESTER)).kind).toBe("done");
  expect((await api.exchange.resumeMarket(market, TESTER)).kind).toBe("done");
  expect((await ask(api, "POST", path, { json: LIMIT_BUY })).status).toBe(200);
  expect(await api.exchange.haltMarket("NOSUCH" as MarketCode, TESTER)).toEqual({
    kind: "rejected",
    rejection: { code: "market_not_found", market: "NOSUCH" },
  });
});
