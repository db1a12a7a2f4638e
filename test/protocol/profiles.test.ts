import { afterAll, beforeAll, expect, test } from "vitest";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import type { Database } from "../../src/postgres/database.ts";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { TESTER } from "../support/movements.ts";
import { expectProblem, expectSuccess, failingField } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const UNKNOWN = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let service: TestService;
let acme: TestCustomer;
let other: TestCustomer;
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 3_600_000 });
  acme = await service.customer("Acme");
  other = await service.customer("Other");
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const call = (method: string, path: string, body?: object, as = acme.token): Promise<Answer> =>
  service.call(method, `/v2/profiles${path}`, { as, body });

test("a profile is returned when created, and can be read by its id", async () => {
  const answer = await call("POST", "", { nickname: "payouts", description: "Pays our suppliers." });
  expectSuccess(answer);
  const { id, created_at: createdAt } = answer.body;
  expect([id, createdAt]).toEqual([expect.stringMatching(UUID), expect.stringMatching(TIME)]);
  const profile = {
    id,
    nickname: "payouts",
    description: "Pays our suppliers.",
    type: "NORMAL",
    status: "ACTIVE",
    created_at: createdAt,
    updated_at: createdAt,
  };
  expect(answer.body).toEqual(profile);
  const again = await call("GET", `/${id.toUpperCase()}`);
  expectSuccess(again);
  expect(again.body).toEqual(profile);
  const { description, ...rest } = profile;
  const plain = await call("POST", "", { nickname: "plain", description: null });
  expect(plain.body).toEqual({
    ...rest,
    id: plain.body.id,
    nickname: "plain",
    created_at: plain.body.created_at,
    updated_at: plain.body.created_at,
  });
});

test("default is the caller's DEFAULT profile", async () => {
  const answer = await call("GET", "/default");
  expectSuccess(answer);
  const { created_at: createdAt, updated_at: updatedAt } = answer.body;
  expect(answer.body).toEqual({
    id: acme.defaultProfile,
    nickname: "default",
    type: "DEFAULT",
    status: "ACTIVE",
    created_at: createdAt,
    updated_at: updatedAt,
  });
  expect((await call("GET", "/default", undefined, other.token)).body.id).toBe(other.defaultProfile);
});

test("a nickname has at most 100 code points and is unique per customer", async () => {
  const nickname = "😀".repeat(100);
  const made = await call("POST", "", { nickname });
  expectSuccess(made);
  const taken = {
    status: 409,
    slug: "already-exists",
    detail: `nickname ${JSON.stringify(nickname)} is already in use`,
    meta: { existing: made.body },
  };
  expectProblem(await call("POST", "", { nickname, description: "Another." }), taken);
  expectProblem(await call("PUT", "/default", { nickname }), taken);
  expectProblem(await call("PUT", `/${UNKNOWN}`, { nickname }), taken);
  expectSuccess(await call("POST", "", { nickname }, other.token));
});

test("an update changes the fields that were sent and no others", async () => {
  const { body: made } = await call("POST", "", { nickname: "old", description: "d" });
  const path = `/${made.id}`;
  await pause(5);
  const renamed = await call("PUT", path, { nickname: "new" });
  expectSuccess(renamed);
  expect(renamed.body).toEqual({ ...made, nickname: "new", updated_at: expect.stringMatching(TIME) });
  expect(renamed.body.updated_at > made.updated_at).toBe(true);
  const described = await call("PUT", path, { nickname: "new", description: "" });
  expect(described.body).toEqual({ ...renamed.body, description: "", updated_at: described.body.updated_at });
  expect((await call("PUT", path, {})).body).toMatchObject({ nickname: "new", description: "" });
  expectSuccess(await call("PUT", path, { nickname: "old" }));
  // A former nickname stays taken: a retry of the creation finds the same profile.
  expect((await call("POST", "", { nickname: "new" })).body.meta.existing.id).toBe(made.id);
});

test("an update that repeats a nickname holds beside one that changes it, and the response says so", async () => {
  const { body: made } = await call("POST", "", { nickname: "kept" });
  const { database, lane, ids, clock } = service.service.core;
  const behind = {
    rows: async <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
      const rows = await database.rows<Row>(text, values);
      expectSuccess(await call("PUT", `/${made.id}`, { nickname: "changed" }));
      return rows;
    },
  } as Database;
  const profiles = createProfiles({ database: behind, lane, ids, clock });
  const updated = await profiles.update(acme.id, made.id, { nickname: "kept", description: "d" }, TESTER);
  expect(updated).toMatchObject({ kind: "done", value: { nickname: "kept", description: "d" } });
  expect((await call("GET", `/${made.id}`)).body).toMatchObject({ nickname: "kept", description: "d" });
});

test("an update may repeat the profile's id in its body, but not name another", async () => {
  const { body: made } = await call("POST", "", { nickname: "repeated" });
  expectSuccess(await call("PUT", `/${made.id}`, { profile_id: made.id.toUpperCase(), nickname: "once more" }));
  expectSuccess(await call("PUT", "/default", { profile_id: acme.defaultProfile, description: "d" }));
  expectSuccess(await call("PUT", "/default", { profile_id: "default", description: "d" }));
  expectProblem(
    await call("PUT", `/${made.id}`, { profile_id: acme.defaultProfile, nickname: "stray" }),
    failingField("profile_id", acme.defaultProfile, "is not the profile in the path"),
  );
  expect((await call("GET", `/${made.id}`)).body.nickname).toBe("once more");
});

test("default stands for the DEFAULT profile in every path, body and filter", async () => {
  const own = await service.profile(acme, { USD: "100" });
  const send = (path: string, body: object) => service.call("POST", path, { as: acme.token, body });
  const move = { amount: "10", asset: "USD" };
  const transfer = { from_profile_id: own, to_profile_id: "default" };
  const sent = await send("/v2/transfer/internal", { ...move, ...transfer });
  expectSuccess(sent);
  const back = await send("/v2/transfer/platform", {
    amount: "1",
    asset: "USD",
    from_profile_id: "default",
    to_profile_id: own,
  });
  expect(back.body.profile_id).toBe(acme.defaultProfile);
  expectProblem(
    await send("/v2/transfer/internal", { ...move, from_profile_id: "default", to_profile_id: acme.defaultProfile }),
    failingField("to_profile_id", acme.defaultProfile, "is the same profile as from_profile_id"),
  );
  const minted = await send("/v2/conversion/stablecoins", {
    ...{ profile_id: "default", recipient_profile_id: "default" },
    ...{ amount: "1", source_asset: "USD", target_asset: "USDG" },
  });
  expect(minted.body).toMatchObject({ profile_id: acme.defaultProfile, recipient_profile_id: acme.defaultProfile });
  const order = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "0.0001", price: "20000" };
  const placed = await send("/v2/profiles/default/orders", { ...order, recipient_profile_id: "default" });
  expect(placed.body).toMatchObject({ profile_id: acme.defaultProfile, recipient_profile_id: acme.defaultProfile });

  const itemsOf = async (path: string) => (await service.call("GET", path, { as: acme.token })).body.items;
  const owners = async (path: string) =>
    new Set((await itemsOf(path)).map((item: { profile_id: string }) => item.profile_id));
  const ofDefault = new Set([acme.defaultProfile]);
  expect(await owners("/v2/orders?profile_id=default")).toEqual(ofDefault);
  expect(await owners("/v2/conversion/stablecoins?profile_id=default")).toEqual(ofDefault);
  expect(await owners("/v2/transfer/transfers?profile_ids=default")).toEqual(ofDefault);
  expect(await owners(`/v2/transfer/transfers?profile_ids=default&profile_ids=${own}`)).toEqual(
    new Set([acme.defaultProfile, own]),
  );
  expect(await itemsOf("/v2/executions?profile_id=default")).toEqual([]);
  for (const [ids, expected] of [
    ["ids=default", [acme.defaultProfile]],
    [`ids=${own}&ids=default`, [acme.defaultProfile, own]],
  ] as const) {
    expect((await itemsOf(`/v2/profiles?${ids}`)).map(({ id }: { id: string }) => id)).toEqual(expected);
  }
});

test("a list by the profile default keeps its pages", async () => {
  const of = "/v2/transfer/transfers?profile_ids=default&limit=1";
  const first = await service.call("GET", of, { as: acme.token });
  const cursor = first.body.next_page_cursor;
  const second = await service.call("GET", `${of}&page_cursor=${cursor}`, { as: acme.token });
  expectSuccess(second);
  expect(second.body.items).not.toEqual(first.body.items);
});

test("other customers' profiles are not found by any operation", async () => {
  for (const id of [UNKNOWN, other.defaultProfile]) {
    const problem = { status: 404, detail: `profile not found: ${id}` };
    expectProblem(await call("GET", `/${id}`), problem);
    expectProblem(await call("PUT", `/${id}`, { description: "mine" }), problem);
    expectProblem(await call("PUT", `/${id}/deactivate`), problem);
    expectProblem(await call("GET", `/${id}/balances`), problem);
    expectProblem(await call("GET", `/${id}/balances/USD`), problem);
  }
});

test("a deactivated profile is read and listed when it is asked for, and nothing else", async () => {
  const { body: made } = await call("POST", "", { nickname: "retired" });
  const answer = await call("PUT", `/${made.id}/deactivate`);
  expectSuccess(answer);
  const inactive = { ...made, status: "INACTIVE", updated_at: expect.stringMatching(TIME) };
  expect(answer.body).toEqual(inactive);
  const asked = "include_deactivated=true";
  expect((await call("GET", `/${made.id}?${asked}`)).body).toEqual(answer.body);
  expect((await call("GET", `?ids=${made.id}&${asked}`)).body.items).toEqual([answer.body]);
  expect((await call("GET", `?ids=${made.id}&include_deactivated=false`)).body.items).toEqual([]);
  const listed = (await call("GET", "")).body.items.map(({ id }: { id: string }) => id);
  expect([listed.includes(made.id), listed.includes(acme.defaultProfile)]).toEqual([false, true]);
  const problem = { status: 404, detail: `profile not found: ${made.id}` };
  const transfer = { from_profile_id: made.id, to_profile_id: acme.defaultProfile, amount: "1", asset: "USD" };
  expectProblem(await call("GET", `/${made.id}`), problem);
  expectProblem(await service.call("POST", "/v2/transfer/internal", { as: acme.token, body: transfer }), problem);
});

test("deactivating again is answered with the profile as it is, but only to its owner", async () => {
  const { body: made } = await call("POST", "", { nickname: "retired twice" });
  const path = `/${made.id}/deactivate`;
  const first = await call("PUT", path);
  expectSuccess(first);
  const again = await call("PUT", path);
  expectSuccess(again);
  expect(again.body).toEqual(first.body);
  expect((await call("GET", `/${made.id}?include_deactivated=true`)).body).toEqual(first.body);
  const problem = { status: 404, detail: `profile not found: ${made.id}` };
  expectProblem(await call("PUT", path, undefined, other.token), problem);
});

test("a deposit reactivates an inactive profile", async () => {
  const { body: made } = await call("POST", "", { nickname: "revived" });
  expectSuccess(await call("PUT", `/${made.id}/deactivate`));
  const deposit = { as: acme.token, body: { asset: "USD", amount: "1" } };
  expectSuccess(await service.call("POST", `/v2/sandbox/profiles/${made.id}/deposit`, deposit));
  expect((await call("GET", `/${made.id}`)).body.status).toBe("ACTIVE");
});

test("dust goes to the DEFAULT profile when a profile is deactivated", async () => {
  const profile = await service.profile(acme, { ETH: "0.001" });
  expectProblem(await call("PUT", `/${profile}/deactivate`), {
    status: 403,
    slug: "profile-not-empty",
    detail: "the profile holds 0.001 ETH",
    meta: { asset: "ETH", amount: "0.001" },
  });
  // The operator makes the asset coarser, so that what was an amount is dust. Every node reads it within seconds.
  await service.db.owner.rows("update asset set precision = 2 where code = 'ETH'");
  let answer: Answer | undefined;
  await until("the coarser precision is known", async () => {
    answer = await call("PUT", `/${profile}/deactivate`);
    return answer.status === 200;
  });
  expect(answer?.body).toMatchObject({ id: profile, status: "INACTIVE" });
  const transfers = await service.call("GET", `/v2/transfer/transfers?profile_ids=${profile}`, { as: acme.token });
  expect(transfers.body.items[0]).toMatchObject({ type: "INTERNAL_TRANSFER_DEBIT", asset: "ETH", amount: "0.001" });
  expect((await call("GET", "/default/balances/ETH")).body.available).toBe("0.001");
});

test("a profile with an open order is not empty, though the order holds less than one unit of the asset", async () => {
  const [seller, buyer] = [await service.profile(other, { BTC: "1" }), await service.profile(acme, { USD: "25.09" })];
  const order = { market: "BTCUSD", type: "LIMIT", price: "25000" };
  const sell = { ...order, side: "SELL", base_amount: "0.001" };
  expectSuccess(await call("POST", `/${seller}/orders`, sell, other.token));
  const recipient = { recipient_profile_id: acme.defaultProfile };
  const buy = await call("POST", `/${buyer}/orders`, {
    ...order,
    ...recipient,
    side: "BUY",
    base_amount: "0.00100001",
  });
  await until("all but one lot is bought", async () => {
    return (await call("GET", `/${buyer}/orders/${buy.body.id}`)).body.amount_filled === "0.001";
  });
  expect((await call("GET", `/${buyer}/balances/USD`)).body).toEqual({
    asset: "USD",
    available: "0.002249125",
    trading: "0.000250875",
  });
  expectProblem(await call("PUT", `/${buyer}/deactivate`), {
    status: 403,
    slug: "profile-not-empty",
    detail: "the profile holds 0.0025 USD",
    meta: { asset: "USD", amount: "0.0025" },
  });
  expectSuccess(await call("DELETE", `/${buyer}/orders/${buy.body.id}`));
  await until("the hold is released", async () => (await call("PUT", `/${buyer}/deactivate`)).status === 200);
});

test("the DEFAULT profile, one with a balance and one with incoming payments cannot be deactivated", async () => {
  const problem = (detail: string, meta = {}) => ({ status: 403, slug: "profile-not-empty", detail, meta });
  expectProblem(await call("PUT", "/default/deactivate"), problem("the DEFAULT profile cannot be deactivated"));
  const [rich, awaited] = [await service.profile(acme, { USD: "10.5" }), await service.profile(acme)];
  const holds = problem("the profile holds 10.5 USD", { asset: "USD", amount: "10.5" });
  expectProblem(await call("PUT", `/${rich}/deactivate`), holds);
  const body = { profile_id: rich, amount: "10.5", source_asset: "USD", target_asset: "USDG" };
  const conversion = await service.call("POST", "/v2/conversion/stablecoins", {
    as: acme.token,
    body: { ...body, recipient_profile_id: awaited },
  });
  expectSuccess(conversion);
  expectProblem(await call("PUT", `/${rich}/deactivate`), holds);
  expectProblem(
    await call("PUT", `/${awaited}/deactivate`),
    problem("the profile is the recipient of an open order or a CREATED conversion"),
  );
  const path = `/v2/conversion/stablecoins/${conversion.body.id}`;
  expectSuccess(await service.call("DELETE", path, { as: acme.token }));
  expectSuccess(await call("PUT", `/${awaited}/deactivate`));
});
