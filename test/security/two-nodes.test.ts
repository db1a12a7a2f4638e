/** Two processes on one database, asked the same at once: whatever can be had once is had once. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type Answer, startTestService, type TestCustomer, type TestService, urlOf } from "../support/service.ts";

let one: TestService;
let other: TestService;
let acme: TestCustomer;
/** Each node with a token for it: a token is for one address. */
let nodes: readonly { readonly node: TestService; readonly token: string }[];
beforeAll(async () => {
  one = await startTestService({ settlementDelayMs: 86_400_000 });
  other = await startTestService({
    databaseUrl: urlOf(one.db),
    migrateUrl: urlOf(one.db, "owner"),
    settlementDelayMs: 86_400_000,
  });
  acme = await one.customer();
  nodes = [
    { node: one, token: acme.token },
    { node: other, token: await other.token(acme) },
  ];
});
afterEach(() => expectBooksBalance(one.db.owner));
afterAll(async () => {
  await other.close();
  await one.close();
});

/** Asks both nodes by turns, all at once. */
function everywhere(times: number, method: string, path: string, body?: (n: number) => object): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: times }, (_, n) => {
      const { node, token } = nodes[n % nodes.length] as (typeof nodes)[number];
      return node.call(method, path, { as: token, body: body?.(n) });
    }),
  );
}

/** How many answers there are of each status, e.g. { 200: 1, 403: 29 }. */
function counted(answers: readonly Answer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function available(profile: string, asset: string): Promise<string> {
  return (await one.call("GET", `/v2/profiles/${profile}/balances/${asset}`, { as: acme.token })).body.available;
}

test("a token for one address is invalid at another", async () => {
  expect((await other.call("GET", "/v2/profiles", { as: acme.token })).status).toBe(401);
});

test("money that is there once is spent once, by transfers, conversions and orders at once", async () => {
  const profile = await one.profile(acme, { USD: "100" });
  const moves = everywhere(10, "POST", "/v2/transfer/platform", () => ({
    ...{ from_profile_id: profile, to_profile_id: acme.defaultProfile, amount: "100", asset: "USD" },
  }));
  const mints = everywhere(10, "POST", "/v2/conversion/stablecoins", () => ({
    ...{ profile_id: profile, amount: "100", source_asset: "USD", target_asset: "USDG" },
  }));
  const orders = everywhere(10, "POST", `/v2/profiles/${profile}/orders`, () => ({
    ...{ side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.004", price: "24000" },
  }));
  const answers = (await Promise.all([moves, mints, orders])).flat();
  expect(counted(answers)).toEqual({ 200: 1, 403: 29 });
  expect(Number(await available(profile, "USD"))).toBeLessThan(5);
});

test("one ref_id on two nodes has one effect, and the other requests return its record", async () => {
  const profile = await one.profile(acme, { USD: "100" });
  const answers = await everywhere(20, "POST", "/v2/transfer/internal", (n) => ({
    ...{ from_profile_id: profile, to_profile_id: acme.defaultProfile, amount: `${n + 1}`, asset: "USD" },
    ref_id: "one for all",
  }));
  expect(counted(answers)).toEqual({ 200: 1, 409: 19 });
  const [first] = answers.filter(({ status }) => status === 200).map(({ body }) => body);
  for (const { status, body } of answers) if (status === 409) expect(body.meta.existing).toEqual(first);
  expect(await available(profile, "USD")).toBe(String(100 - Number(first.amount)));
});

test("a profile that is taken out of use while money comes in ends inactive and empty, or active with the money", async () => {
  for (let round = 0; round < 5; round += 1) {
    const profile = await one.profile(acme);
    const source = await one.profile(acme, { USD: "10" });
    const [closing, moving] = await Promise.all([
      everywhere(2, "PUT", `/v2/profiles/${profile}/deactivate`),
      // Later in each round: sooner or later the money comes too late.
      pause(10 * round).then(() =>
        everywhere(2, "POST", "/v2/transfer/internal", () => ({
          ...{ from_profile_id: source, to_profile_id: profile, amount: "5", asset: "USD" },
        })),
      ),
    ]);
    const path = `/v2/profiles/${profile}?include_deactivated=true`;
    const { body } = await one.call("GET", path, { as: acme.token });
    const moved = moving.filter(({ status }) => status === 200).length;
    const isClosed = closing.some(({ status }) => status === 200);
    expect([body.status, moved > 0]).toEqual(isClosed ? ["INACTIVE", false] : ["ACTIVE", true]);
    const [money] = await one.db.owner.rows<{ sum: string }>(
      "select coalesce(sum(available), 0) as sum from account where owner_id = $1",
      [profile],
    );
    expect(Number(money?.sum)).toBe(5 * moved);
  }
});

test("a conversion that both nodes cancel gives its source back once", async () => {
  const profile = await one.profile(acme, { USD: "100" });
  const mint = { profile_id: profile, amount: "40", source_asset: "USD", target_asset: "USDG" };
  const { id } = (await one.call("POST", "/v2/conversion/stablecoins", { as: acme.token, body: mint })).body;
  const answers = await everywhere(20, "DELETE", `/v2/conversion/stablecoins/${id}`);
  expect(counted(answers)).toEqual({ 200: 1, 403: 19 });
  expect(await available(profile, "USD")).toBe("100");
});

test("an order that is cancelled from both nodes while it is being filled pays each unit once", async () => {
  const [buyer, seller] = [await one.profile(acme, { USD: "10000" }), await one.customer("seller")];
  const stock = await one.profile(seller, { BTC: "1" });
  for (let round = 0; round < 5; round += 1) {
    const body = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.01", price: "25000" };
    const path = `/v2/profiles/${buyer}/orders`;
    const { id } = (await one.call("POST", path, { as: acme.token, body })).body;
    const sale = { side: "SELL", market: "BTCUSD", type: "LIMIT", base_amount: "0.01", price: "25000" };
    const [, sold] = await Promise.all([
      everywhere(6, "DELETE", `${path}/${id}`),
      one.call("POST", `/v2/profiles/${stock}/orders`, {
        as: seller.token,
        body: { ...sale, time_in_force: "IOC", await_fill_millis: 10_000 },
      }),
    ]);
    const order = (await other.call("GET", `${path}/${id}`, { as: nodes[1]?.token ?? "" })).body;
    expect(["FILLED", "CANCELLED"]).toContain(sold.body.status);
    expect(order.amount_filled).toBe(sold.body.amount_filled);
  }
});
