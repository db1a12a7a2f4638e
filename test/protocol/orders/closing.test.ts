import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Profile } from "../../../src/customers/profiles/profiles.ts";
import type { Order, OrderId } from "../../../src/exchange/exchange.ts";
import { FillWaiters } from "../../../src/exchange/orders/await-fill.ts";
import { amountOf } from "../../../src/money/amount.ts";
import { must } from "../../../src/std/assert.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { ask, type ExchangeApi, problem, startExchangeApi } from "../../support/exchange/exchange-api.ts";
import { until } from "../../support/until.ts";

let api: ExchangeApi;
let profile: Profile;
let path: string;
beforeAll(async () => {
  api = await startExchangeApi();
});
beforeEach(async () => {
  profile = await api.profile(api.acme, { USD: "1000000" });
  path = `/v2/profiles/${profile.id}/orders`;
  api.woken.length = 0;
});
afterEach(() => expectBooksBalance(api.db.owner));
afterAll(() => api.stop());

const LIMIT_BUY = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.5", price: "25000" };

async function placed(json: object = LIMIT_BUY): Promise<OrderId> {
  const answer = await ask(api, "POST", path, { json });
  expect(answer.status).toBe(200);
  return (answer.body as { id: OrderId }).id;
}

const requests = (id: string) =>
  api.db.database.rows("select profile_id, order_id, market from order_cancel where order_id = $1", [id]);

test("a cancel stores one request and notifies the engine, which closes the order", async () => {
  const id = await placed();
  api.woken.length = 0;
  for (const _ of [1, 2]) expect(await ask(api, "DELETE", `${path}/${id}`)).toEqual({ status: 200, body: {} });
  expect(await requests(id)).toEqual([{ profile_id: profile.id, order_id: id, market: "BTCUSD" }]);
  expect(api.woken).toEqual(["BTCUSD", "BTCUSD"]);
  expect((await ask(api, "GET", `${path}/${id}`)).body).toMatchObject({ status: "PENDING_SUBMISSION" });
});

test("a closed order cannot be cancelled, and no cancel request is stored", async () => {
  const filled = { filled: amountOf(LIMIT_BUY.base_amount), filledGross: amountOf("1") };
  for (const [status, how] of [["FILLED", filled], ["CANCELLED"]] as const) {
    const id = await placed();
    await api.close({ id, profileId: profile.id }, { status, ...how });
    expect(await ask(api, "DELETE", `${path}/${id}`)).toEqual(
      problem(403, "Forbidden", "order is not in cancellable state", { slug: "not-cancellable", meta: { status } }),
    );
    expect(await requests(id)).toEqual([]);
  }
  const rejected = await placed({ ...LIMIT_BUY, identity_id: "alone" });
  expect(await ask(api, "DELETE", `${path}/${rejected}`)).toEqual(
    problem(403, "Forbidden", "order is not in cancellable state", {
      slug: "not-cancellable",
      meta: { status: "REJECTED" },
    }),
  );
});

test("an order is found only by its own customer and through its own profile", async () => {
  const id = await placed();
  const other = await api.profile(api.acme, {});
  const missing = problem(404, "Not Found", `order not found: ${id}`);
  for (const method of ["GET", "DELETE"] as const) {
    expect(await ask(api, method, `/v2/profiles/${other.id}/orders/${id}`)).toEqual(missing);
    expect(await ask(api, method, `/v2/profiles/default/orders/${id}`)).toEqual(missing);
    expect(await ask(api, method, `${path}/${id}`, { token: "globex" })).toEqual(missing);
    expect((await ask(api, method, `${path}/5`)).status).toBe(400);
  }
  expect(await requests(id)).toEqual([]);
});

/** Places an order that is waited for, and answers once it is stored. */
async function awaited(millis: number, signal?: AbortSignal) {
  const started = Date.now();
  const answer = fetch(api.url + path, {
    method: "POST",
    headers: { authorization: "Bearer acme", "content-type": "application/json" },
    body: JSON.stringify({ ...LIMIT_BUY, await_fill_millis: millis }),
    ...(signal && { signal }),
  }).then(async (response) => ({
    status: response.status,
    body: (await response.json()) as object,
    millis: Date.now() - started,
  }));
  let found: Order | undefined;
  const filter = { customerId: api.acme.customerId, profileId: profile.id, order: "DESC", limit: 1 } as const;
  await until("the order is stored", async () => {
    [found] = await api.exchange.listOrders(filter);
    return found !== undefined && api.woken.length > 0;
  });
  return { answer, order: must(found, "the order was found") };
}

test("a wait ends when this process's engine reports that the order has closed", async () => {
  const { answer, order } = await awaited(10_000);
  const [filled, filledGross] = [amountOf("0.5"), amountOf("12500")];
  api.tell({ ...order, status: "OPEN" });
  api.tell({ ...order, status: "FILLED", filled, filledGross, closedAt: order.createdAt });
  const { status, body, millis } = await answer;
  expect(status).toBe(200);
  // The database knows nothing of it: this has come from the engine.
  expect(body).toMatchObject({ status: "FILLED", amount_filled: "0.5", volume_weighted_average_price: "25000" });
  expect(millis).toBeLessThan(5_000);
});

test("a wait ends when another process's engine has closed the order", async () => {
  const { answer, order } = await awaited(10_000);
  await api.close(order, {});
  const { status, body, millis } = await answer;
  expect([status, body]).toEqual([200, expect.objectContaining({ status: "CANCELLED" })]);
  expect(millis).toBeLessThan(5_000);
});

test("an order that is waited for takes no place from other requests", async () => {
  const { answer, order } = await awaited(10_000);
  await until("only the order is waited for", () => api.admissions.writes.size === 0, 5);
  await api.close(order, {});
  const { body, millis } = await answer;
  expect(body).toMatchObject({ status: "CANCELLED" });
  expect(millis).toBeLessThan(10_000);
});

test("a wait that times out returns the order as it is", async () => {
  const { answer } = await awaited(300);
  const { status, body, millis } = await answer;
  expect([status, body]).toEqual([200, expect.objectContaining({ status: "PENDING_SUBMISSION" })]);
  expect(millis).toBeGreaterThanOrEqual(300);
});

test("a caller that disconnects ends the wait and nothing else", async () => {
  const hangUp = new AbortController();
  const { answer, order } = await awaited(10_000, hangUp.signal);
  hangUp.abort();
  await expect(answer).rejects.toThrow();
  expect((await ask(api, "GET", `${path}/${order.id}`)).body).toMatchObject({ status: "PENDING_SUBMISSION" });
});

test("a wait beyond the bound returns at once, and a stop ends all waits", async () => {
  const id = await placed();
  const order = must(await api.exchange.findOrderOfCustomer(api.acme.customerId, id), "it was placed");
  const waits = new FillWaiters(api.db.database, 1);
  const { signal } = new AbortController();
  const first = waits.untilClosed(order, 10_000, signal);
  const other = { ...order, id: "another" as unknown as OrderId };
  expect(await waits.untilClosed(other, 10_000, signal)).toBe(other);
  waits.stop();
  expect(await first).toEqual(order);
});

test("one customer uses at most a quarter of the waits, and others still get theirs", async () => {
  const order = must(await api.exchange.findOrderOfCustomer(api.acme.customerId, await placed()), "it was placed");
  const waits = new FillWaiters(api.db.database, 8);
  const { signal } = new AbortController();
  const own = (n: number): Order => ({ ...order, id: `${n}` as unknown as OrderId });
  const waiting = [1, 2].map((n) => waits.untilClosed(own(n), 10_000, signal));
  const third = own(3);
  expect(await waits.untilClosed(third, 10_000, signal)).toBe(third);
  const others = { ...own(4), customerId: api.globex.customerId };
  const closed = { ...others, closedAt: order.createdAt };
  const theirs = waits.untilClosed(others, 10_000, signal);
  waits.onCommitted([closed]);
  expect(await theirs).toBe(closed);
  waits.stop();
  await Promise.all(waiting);
});
