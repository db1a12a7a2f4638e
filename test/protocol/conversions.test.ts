import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { listDueConversions } from "../../src/conversions/store.ts";
import type { Instant } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectProblem, expectSuccess, failingField } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until, untilNextMillisecond } from "../support/until.ts";

const UNKNOWN = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const PATH = "/v2/conversion/stablecoins";
const PAIRS =
  "USD-PYUSD, USD-USDG, USD-USDP, PYUSD-USD, PYUSD-USDG, PYUSD-USDP, USDG-USD, USDG-PYUSD, USDG-USDP, USDP-USD, USDP-PYUSD, USDP-USDG";

/** One that settles at once, and one that leaves conversions as they were created. */
let settling: TestService;
let holding: TestService;
beforeAll(async () => {
  settling = await startTestService();
  holding = await startTestService({ settlementDelayMs: 3_600_000 });
});
afterAll(async () => {
  for (const service of [settling, holding]) {
    await expectBooksBalance(service.db.owner);
    await service.close();
  }
});

const create = (service: TestService, as: TestCustomer, body: object): Promise<Answer> =>
  service.call("POST", PATH, { as: as.token, body });

async function settled(service: TestService, as: TestCustomer, id: string): Promise<Answer> {
  let answer: Answer | undefined;
  await until(`conversion ${id} is settled`, async () => {
    answer = await service.call("GET", `${PATH}/${id}`, { as: as.token });
    return answer.body.status === "SETTLED";
  });
  return answer as Answer;
}

async function balances(service: TestService, as: TestCustomer, profile: string): Promise<Record<string, string>> {
  const answer = await service.call("GET", `/v2/profiles/${profile}/balances`, { as: as.token });
  const items = answer.body.items as { asset: string; available: string; trading: string }[];
  expect(items.filter(({ trading }) => trading !== "0")).toEqual([]);
  return Object.fromEntries(
    items.filter(({ available }) => available !== "0").map(({ asset, available }) => [asset, available]),
  );
}

test("a conversion is returned as CREATED with the request's fields, then settles at par", async () => {
  const acme = await settling.customer();
  const [payer, receiver] = [await settling.profile(acme, { USD: "100" }), await settling.profile(acme)];
  const sent = {
    profile_id: payer,
    source_asset: "USD",
    target_asset: "PYUSD",
    ref_id: "mint-1",
    identity_id: "identity-1",
    account_id: "account-1",
    metadata: { invoice: "1" },
    recipient_profile_id: receiver,
  };
  const answer = await create(settling, acme, { ...sent, amount: "040.250" });
  expectSuccess(answer);
  const { id, created_at: createdAt } = answer.body;
  expect([id, createdAt]).toEqual([expect.stringMatching(UUID), expect.stringMatching(TIME)]);
  const created = { ...sent, id, amount: "40.25", status: "CREATED", created_at: createdAt, updated_at: createdAt };
  expect(answer.body).toEqual(created);

  const now = await settled(settling, acme, id);
  expectSuccess(now);
  expect(now.body).toEqual({
    ...created,
    status: "SETTLED",
    updated_at: now.body.settled_at,
    settled_at: expect.stringMatching(TIME),
  });
  expect(await balances(settling, acme, payer)).toEqual({ USD: "59.75" });
  expect(await balances(settling, acme, receiver)).toEqual({ PYUSD: "40.25" });
  expectProblem(await create(settling, acme, { ...sent, amount: "1" }), {
    status: 409,
    slug: "already-exists",
    detail: 'ref_id "mint-1" is already in use',
    meta: { existing: now.body },
  });
});

test("minting, converting and redeeming return to the initial balances, except for dust", async () => {
  const acme = await settling.customer();
  const profile = await settling.profile(acme, { USD: "10", USDP: "0.12345678" });
  const steps = [
    ["USD", "USDG", "10"],
    ["USDG", "PYUSD", "9.999999"],
    ["PYUSD", "USD", "9.99"],
    ["USDP", "USD", "0.12"],
  ] as const;
  for (const [source, target, amount] of steps) {
    const body = { profile_id: profile, amount, source_asset: source, target_asset: target };
    const answer = await create(settling, acme, body);
    expectSuccess(answer);
    await settled(settling, acme, answer.body.id);
  }
  expect(await balances(settling, acme, profile)).toEqual({
    USD: "10.11",
    USDG: "0.000001",
    PYUSD: "0.009999",
    USDP: "0.00345678",
  });
});

test("absent fields are omitted, and the source amount is held until the cancel", async () => {
  const acme = await holding.customer();
  const profile = await holding.profile(acme, { USD: "10" });
  const body = { profile_id: profile, amount: "4", source_asset: "USD", target_asset: "USDG" };
  const answer = await create(holding, acme, { ...body, ref_id: null, metadata: null, recipient_profile_id: null });
  expectSuccess(answer);
  const { id, created_at: createdAt } = answer.body;
  const created = { ...body, id, status: "CREATED", created_at: createdAt, updated_at: createdAt };
  expect(answer.body).toEqual(created);
  expect(await balances(holding, acme, profile)).toEqual({ USD: "6" });

  const cancelled = await holding.call("DELETE", `${PATH}/${id}`, { as: acme.token });
  expectSuccess(cancelled);
  const { cancelled_at: cancelledAt } = cancelled.body;
  expect(cancelledAt).toMatch(TIME);
  const closed = { ...created, status: "CANCELLED", updated_at: cancelledAt, cancelled_at: cancelledAt };
  expect(cancelled.body).toEqual(closed);
  expect((await holding.call("GET", `${PATH}/${id}`, { as: acme.token })).body).toEqual(closed);
  expect(await balances(holding, acme, profile)).toEqual({ USD: "10" });
  expectProblem(await holding.call("DELETE", `${PATH}/${id}`, { as: acme.token }), {
    status: 403,
    slug: "not-cancellable",
    detail: "conversion is not in cancellable state",
    meta: { status: "CANCELLED" },
  });
});

test("conversions created before and after a clock is set back are settled", async () => {
  const stepping = await startTestService({ clockToleranceMs: 3_600_000 });
  const acme = await stepping.customer();
  const profile = await stepping.profile(acme, { USD: "10" });
  const leftBehind = await startTestService({ roles: new Set(["api", "auth"]), clockToleranceMs: 3_600_000 });
  const other = await leftBehind.customer();
  const otherProfile = await leftBehind.profile(other, { USD: "10" });
  const mint = { amount: "1", source_asset: "USD", target_asset: "USDG" };
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1_800_000 });
  const [ahead, unsettled] = [
    await create(stepping, acme, { ...mint, profile_id: profile }),
    await create(leftBehind, other, { ...mint, profile_id: otherProfile }),
  ];
  vi.useRealTimers();
  expect(Date.parse(ahead.body.created_at)).toBeGreaterThan(Date.now() + 1_700_000);
  const after = await create(stepping, acme, { ...mint, profile_id: profile });
  for (const { body } of [ahead, after]) await settled(stepping, acme, body.id);
  // Nobody has seen this one being made: it has to be found.
  await leftBehind.another({ roles: new Set(["worker"]) });
  await settled(leftBehind, other, unsettled.body.id);
  for (const service of [stepping, leftBehind]) {
    await expectBooksBalance(service.db.owner);
    await service.close();
  }
});

test("the search for what is due finds the oldest first, up to a time, and what was created after another", async () => {
  const acme = await holding.customer();
  const mint = { profile_id: await holding.profile(acme, { USD: "10" }), source_asset: "USD", target_asset: "USDG" };
  const made: Answer["body"][] = [];
  const { id: cancelled } = (await create(holding, acme, { ...mint, amount: "4" })).body;
  expectSuccess(await holding.call("DELETE", `${PATH}/${cancelled}`, { as: acme.token }));
  for (const amount of ["1", "2", "3"]) {
    await untilNextMillisecond();
    made.push((await create(holding, acme, { ...mint, amount })).body);
  }
  const [[first, second, third], times] = [made.map(({ id }) => id), made.map(({ created_at }) => created_at)];
  const due = async (until: string, after: string, limit = 1_000): Promise<string[]> => {
    const bounds = [until, after].map((time) => Date.parse(time)) as [Instant, Instant];
    return (await listDueConversions(holding.db.database, ...bounds, limit)).map(({ id }) => id);
  };
  const [PAST, FUTURE] = ["1970-01-01T00:00:00Z", "9999-01-01T00:00:00Z"];
  // Behind what other tests have left.
  const all = await due(times[2], FUTURE);
  expect(all.slice(-3)).toEqual([first, second, third]);
  expect(all).not.toContain(cancelled);
  expect(await due(times[2], FUTURE, all.length - 1)).toEqual(all.slice(0, -1));
  expect(await due(times[1], FUTURE)).toEqual(all.slice(0, -1));
  expect(await due(PAST, times[1])).toEqual([third]);
});

test("a settled conversion cannot be cancelled", async () => {
  const acme = await settling.customer();
  const profile = await settling.profile(acme, { USD: "1" });
  const body = { profile_id: profile, amount: "1", source_asset: "USD", target_asset: "USDG" };
  const { id } = (await create(settling, acme, body)).body;
  await settled(settling, acme, id);
  expectProblem(await settling.call("DELETE", `${PATH}/${id}`, { as: acme.token }), {
    status: 403,
    slug: "not-cancellable",
    detail: "conversion is not in cancellable state",
    meta: { status: "SETTLED" },
  });
});

test("of a concurrent cancel and settlement exactly one wins, and the response to the cancel says which", async () => {
  const acme = await settling.customer();
  const profile = await settling.profile(acme, { USD: "30" });
  const body = { profile_id: profile, amount: "1", source_asset: "USD", target_asset: "USDG" };
  const ended = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const { id } = (await create(settling, acme, body)).body;
      const answer = await settling.call("DELETE", `${PATH}/${id}`, { as: acme.token });
      const now = (await settling.call("GET", `${PATH}/${id}`, { as: acme.token })).body;
      expect(now.status).toBe(answer.status === 200 ? "CANCELLED" : "SETTLED");
      if (answer.status !== 200) expect(answer.body).toMatchObject({ status: 403, meta: { status: "SETTLED" } });
      return now.status as string;
    }),
  );
  const settledCount = ended.filter((status) => status === "SETTLED").length;
  const { USD = "0", USDG = "0" } = await balances(settling, acme, profile);
  expect([USD, USDG]).toEqual([String(30 - settledCount), String(settledCount)]);
});

test.each([
  ["USD", "USD", "target_asset"],
  ["USDG", "USDG", "target_asset"],
  ["USD", "EUR", "target_asset"],
  ["EUR", "USDG", "source_asset"],
  ["BTC", "USD", "source_asset"],
  ["usd", "USDG", "source_asset"],
  ["USD", "XXXX", "target_asset"],
])("%s to %s is no conversion, and the problem names the field and all pairs", async (source, target, field) => {
  const acme = await holding.customer();
  const profile = await holding.profile(acme, { USD: "1" });
  const body = { profile_id: profile, amount: "1", source_asset: source, target_asset: target };
  const [value, words] =
    field === "target_asset"
      ? [target, `is not what ${source} converts to`]
      : [source, `does not convert to ${target}`];
  expectProblem(await create(holding, acme, body), failingField(field, value, `${words}: the pairs are ${PAIRS}`));
});

test.each([
  ["USD", "USDG", "0.001", "USD", 2],
  ["USDG", "USD", "0.001", "USD", 2],
  ["USDP", "PYUSD", "0.0000001", "PYUSD", 6],
  ["PYUSD", "USDP", "0.0000001", "PYUSD", 6],
  ["USDG", "USDP", "0.000000001", "USDG", 8],
  ["USDG", "USDP", "0.0000000000000000001", "USDG", 8],
])("%s to %s: %s is too precise, and the coarser asset is named", async (source, target, amount, asset, precision) => {
  const acme = await holding.customer();
  const profile = await holding.profile(acme, { [source]: "1" });
  const body = { profile_id: profile, amount, source_asset: source, target_asset: target };
  expectProblem(await create(holding, acme, body), {
    status: 400,
    slug: "exceed-precision",
    detail: `amount "${amount}" has more decimals than ${asset} allows: ${precision}`,
    meta: { asset, precision },
  });
});

test("the whole balance can be converted; one unit more cannot", async () => {
  const acme = await holding.customer();
  const profile = await holding.profile(acme, { USD: "10" });
  const body = { profile_id: profile, source_asset: "USD", target_asset: "USDG" };
  expectProblem(await create(holding, acme, { ...body, amount: "10.01" }), {
    status: 403,
    slug: "insufficient-funds",
    detail: `profile ${profile} has 10 USD available, but 10.01 is needed`,
    meta: { profile_id: profile, asset: "USD", available: "10", needed: "10.01" },
  });
  expectSuccess(await create(holding, acme, { ...body, amount: "10" }));
});

test("profiles of others, unknown ones and inactive ones are not found, on either side", async () => {
  const [acme, other] = [await holding.customer(), await holding.customer()];
  const mine = await holding.profile(acme, { USD: "1" });
  const inactive = await holding.profile(acme);
  expectSuccess(await holding.call("PUT", `/v2/profiles/${inactive}/deactivate`, { as: acme.token }));
  for (const missing of [UNKNOWN, other.defaultProfile, inactive]) {
    const body = { profile_id: mine, amount: "1", source_asset: "USD", target_asset: "USDG" };
    const problem = { status: 404, detail: `profile not found: ${missing}` };
    expectProblem(await create(holding, acme, { ...body, profile_id: missing }), problem);
    expectProblem(await create(holding, acme, { ...body, recipient_profile_id: missing }), problem);
  }
});

test("another customer's conversion is not found", async () => {
  const [acme, other] = [await holding.customer(), await holding.customer()];
  const profile = await holding.profile(acme, { USD: "1" });
  const body = { profile_id: profile, amount: "1", source_asset: "USD", target_asset: "USDG" };
  const { id } = (await create(holding, acme, body)).body;
  for (const method of ["GET", "DELETE"]) {
    for (const [as, missing] of [
      [other, id],
      [acme, UNKNOWN],
    ] as const) {
      const answer = await holding.call(method, `${PATH}/${missing}`, { as: as.token });
      expectProblem(answer, { status: 404, detail: `conversion not found: ${missing}` });
    }
  }
  expect((await holding.call("GET", PATH, { as: other.token })).body).toEqual({ items: [], next_page_cursor: "" });
});
