/** GET /v2/events and /v2/events/{id} over a socket (docs/events.md). */

import { afterAll, beforeAll, expect, test } from "vitest";
import { EVENT_TYPES } from "../../src/events/events.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { TESTER } from "../support/movements.ts";
import { expectProblem, failingField } from "../support/problems.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { callerAs, eventfulCustomer, eventsOf } from "./stories.ts";

let service: TestService;
let acme: TestCustomer;
// biome-ignore lint/suspicious/noExplicitAny: bodies as they were sent
let all: any[];
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 2_000 });
  acme = await eventfulCustomer(service);
  all = await eventsOf(service, acme, ["order.rejected", "conversion.settled", "conversion.cancelled"]);
});
afterAll(async () => {
  // The batches of this process were not read back from the chain: the events are the same as if they had been.
  const { checks } = await verifyAll(service.db.owner);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const get = (path: string, as = acme.token) => service.call("GET", path, { as });

test("everything that happens is an event, numbered without gaps", () => {
  expect(all.map(({ number }) => number)).toEqual(all.map((_, place) => place + 1));
  const types = new Set(all.map(({ type }) => type));
  const missing = EVENT_TYPES.filter((type) => !types.has(type));
  // The border of the platform is the operator's, no order has the status EXPIRED, and no webhook fails for days here.
  const border =
    /^transfer\.(?:\w+_(?:deposit|withdrawal)\.\w+|platform_transfer_credit\.completed)$|^(?:order\.expired|webhook\.disabled)$/;
  expect(missing.filter((type) => !border.test(type))).toEqual([]);
});

test("an event has its object as the object's own operation returned it", async () => {
  const settled = all.find(({ type }) => type === "conversion.settled");
  const created = all.find(({ type }) => type === "conversion.created");
  const { body: now } = await get(`/v2/conversion/stablecoins/${created.object.id}`);
  expect(settled).toEqual({
    id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8/),
    number: expect.any(Number),
    type: "conversion.settled",
    object_type: "conversion",
    version: 2,
    object: now,
    created_at: expect.stringMatching(/Z$/),
    is_test: true,
    undelivered_webhooks: 0,
  });
  const { settled_at: _, ...before } = now;
  expect(created.object).toEqual({ ...before, status: "CREATED", updated_at: before.created_at });
  const transfer = all.find(({ type }) => type === "transfer.internal_transfer_debit.completed");
  expect(transfer.object).toEqual((await get(`/v2/transfer/transfers/${transfer.object.id}`)).body);
  expect(Object.keys(transfer)).not.toContain("version");
  const filled = all.findLast(({ type }) => type === "order.filled");
  expect(filled.object).toEqual(
    (await get(`/v2/profiles/${filled.object.profile_id}/orders/${filled.object.id}`)).body,
  );
  const executed = all.find(({ type }) => type === "execution.created");
  const { body: executions } = await get(`/v2/executions?order_id=${executed.object.order_id}`);
  expect(executions.items).toContainEqual(executed.object);
  const profile = all.findLast(({ type }) => type === "profile.activated");
  expect(profile.object).toEqual((await get(`/v2/profiles/${profile.object.id}`)).body);
});

test("pages go on behind the last event, forwards only", async () => {
  const { created_at: late } = all[all.length - 5];
  for (const [query, expected] of [
    ["limit=7", all],
    [`limit=1&created_at.gte=${late}`, all.filter(({ created_at: at }) => at >= late)],
  ] as const) {
    const seen = [];
    let cursor = "";
    do {
      const { body } = await get(`/v2/events?${query}&page_cursor=${cursor}`);
      expect(Object.keys(body)).toEqual(["events", "next_page_cursor", "first_number"]);
      expect(body.first_number).toBe(1);
      seen.push(...body.events);
      cursor = body.next_page_cursor;
    } while (cursor !== "" && seen.length <= expected.length);
    expect(seen).toEqual(expected);
  }
});

test("filters find what matches", async () => {
  const list = async (query: string) => (await get(`/v2/events?${query}`)).body.events;
  const wanted = ["order.triggered", "profile.created"];
  expect(await list(`type=${wanted[0]}&type=${wanted[1]}`)).toEqual(all.filter(({ type }) => wanted.includes(type)));
  const { id, profile_id: profileId } = all.find(({ type }) => type === "order.triggered").object;
  const ofOrder = all.filter(({ object }) => object.id === id);
  expect(await list(`object_id=${id}`)).toEqual(ofOrder);
  for (const [i, { number }] of ofOrder.entries())
    expect(await list(`object_id=${id}&after_number=${number - 1}`)).toEqual(ofOrder.slice(i));
  expect(await list(`profile_id=${profileId}`)).toEqual(
    all.filter(({ object, object_type: type }) =>
      type === "profile" ? object.id === profileId : type === "execution" || object.profile_id === profileId,
    ),
  );
  expect(await list(`object_id=${id.toUpperCase()}`)).toEqual(ofOrder);
  expect(await list(`profile_id=${profileId.toUpperCase()}`)).toEqual(await list(`profile_id=${profileId}`));
  const ofDefault = await list("profile_id=default");
  expect(ofDefault).toEqual(await list(`profile_id=${acme.defaultProfile}`));
  expect(ofDefault).not.toEqual([]);
  const transfer = all.find(({ type }) => type === "transfer.internal_transfer_debit.completed");
  expect(await list(`object_id=${transfer.object.id}`)).toEqual([transfer]);
  const execution = all.find(({ type }) => type === "execution.created");
  expect(await list(`object_id=${execution.object.execution_id}`)).toEqual([execution]);
  expect(await list(`object_id=0${execution.object.execution_id}`)).toEqual([execution]);
  expect(await list("object_id=9223372036854775807")).toEqual([]);
  const ofMarket = all.filter(({ object_type: type, object }) => type === "market" && object.market === "BTCUSD");
  expect(ofMarket).not.toEqual([]);
  expect(await list("object_id=BTCUSD")).toEqual(ofMarket);
  expect(await list("object_id=NOSUCH")).toEqual([]);
  const { created_at: at } = all[20];
  expect(await list(`created_at.eq=${at}`)).toEqual(all.filter((event) => event.created_at === at));
  expect(await list(`created_at.gt=${at}`)).toEqual(all.filter((event) => event.created_at > at));
  expect(await list(`created_at.lte=${at}`)).toEqual(all.filter((event) => event.created_at <= at));
  expect(await list("is_test=false")).toEqual([]);
  expect(await list("is_test=true")).toEqual(all);
  expect(await list("order=ASC")).toEqual(all);
  expect(await list(`after_number=${all.length}`)).toEqual([]);
});

test("a type that there is not is said with the one that was meant, not with all", async () => {
  expectProblem(await get("/v2/events?type=order.filed"), {
    ...failingField(
      "type[0]",
      "order.filed",
      `is not one of the ${EVENT_TYPES.length} values of EventType in /openapi.json: did you mean order.filled?`,
    ),
  });
});

test("an event is read by its id, by its own customer only", async () => {
  const other = await service.customer("Third");
  for (const event of all.slice(0, 5)) expect((await get(`/v2/events/${event.id}`)).body).toEqual(event);
  const { id } = all[0];
  const answer = await get(`/v2/events/${id}`, other.token);
  expectProblem(answer, { status: 404, detail: `event not found: ${id}` });
  expect((await get(`/v2/events/${id}?is_test=true`)).body).toEqual(all[0]);
  expectProblem(await get(`/v2/events/${id}?is_test=false`), { status: 404, detail: `event not found: ${id}` });
  const changed = id.replace(/.$/, (last: string) => (last === "0" ? "1" : "0"));
  expect((await get(`/v2/events/${changed}`)).status).toBe(404);
});

test("behind the last event there is nothing to be read: the database was restored", async () => {
  const customer = await service.customer("Restored");
  await eventsOf(service, customer, ["profile.created"]);
  expect(await get("/v2/events?after_number=1", customer.token)).toMatchObject({ status: 200, body: { events: [] } });
  // An empty cursor is that of the first page.
  for (const more of ["wait_millis=100", "page_cursor="]) {
    expect(await get(`/v2/events?after_number=2&${more}`, customer.token)).toMatchObject({
      status: 400,
      body: { meta: { errors: [{ field: "after_number" }] } },
    });
  }
});

test("a request that waits gets no event once its client is disabled", async () => {
  const customer = await service.customer("Disabled");
  await eventsOf(service, customer, ["profile.created"]);
  const waiting = get("/v2/events?after_number=1&wait_millis=30000", customer.token);
  await service.service.core.clients.disable(customer.clientId, TESTER);
  await until("its token is rejected", async () => (await get("/v2/profiles", customer.token)).status === 401);
  await service.profile(customer);
  expectProblem(await waiting, {
    status: 401,
    detail: "the access token is malformed, expired, revoked or not valid from this address",
  });
});

test("a request that waits goes on behind ten thousand events that do not match", async () => {
  const customer = await service.customer("Searching");
  const call = callerAs(service, customer);
  const [from, to] = [await service.profile(customer, { USD: "100" }), customer.defaultProfile];
  const item = { from_profile_id: from, to_profile_id: to, amount: "0.01", asset: "USD" };
  for (let bulk = 0; bulk < 11; bulk += 1) {
    const items = Array.from({ length: 500 }, (_, i) => ({ ...item, ref_id: `${bulk} ${i}` }));
    await call("POST", "/v2/transfer/internal/bulk", { mode: "atomic", items });
  }
  const following = "/v2/events?type=profile.created&after_number=3";
  // Without waiting, it says where to go on.
  await until("all are events", async () => (await get(`${following}`, customer.token)).body.next_page_cursor !== "");
  await call("POST", "/v2/profiles", { nickname: "behind them" });
  const { body } = await get(`${following}&wait_millis=30000`, customer.token);
  expect(body.events).toMatchObject([{ type: "profile.created", object: { nickname: "behind them" } }]);
  expect(body.events[0].number).toBeGreaterThan(10_003);
});

test("a request waits for the next event, and no longer than it said", async () => {
  const customer = await service.customer("Waiting");
  await eventsOf(service, customer, ["profile.created"]);
  const startedMs = performance.now();
  const { body: none } = await get("/v2/events?after_number=1&wait_millis=300", customer.token);
  expect(none.events).toEqual([]);
  expect(performance.now() - startedMs).toBeGreaterThan(290);
  const waiting = get("/v2/events?after_number=1&wait_millis=30000", customer.token);
  await callerAs(service, customer)("POST", "/v2/profiles", { nickname: "second" });
  const { body } = await waiting;
  expect(body.events).toMatchObject([{ number: 2, type: "profile.created", object: { nickname: "second" } }]);
});
