/** A request that is sent many times concurrently takes effect once, and all get the same response. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

let service: TestService;
let acme: TestCustomer;
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 3_600_000 });
  acme = await service.customer();
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const post = (path: string, body: object): Promise<Answer> => service.call("POST", path, { as: acme.token, body });

async function available(profile: string, asset = "USD"): Promise<string> {
  const answer = await service.call("GET", `/v2/profiles/${profile}/balances/${asset}`, { as: acme.token });
  return answer.body.available;
}

/** Fifty at once: one success, and 49 times the same 409 with what that success answered. */
async function expectOneEffect(answers: readonly Answer[]): Promise<Answer> {
  const done = answers.filter(({ status }) => status === 200);
  const rejected = answers.filter(({ status }) => status === 409);
  expect([done.length, rejected.length]).toEqual([1, answers.length - 1]);
  const [one] = done as [Answer];
  for (const { body } of rejected) expect(body.meta.existing).toEqual(one.body);
  return one;
}

const fifty = Array.from({ length: 50 }, (_, index) => index);

test.each([
  ["the same body", () => "7"],
  ["a body of its own", (index: number) => String(index + 1)],
  ["a body that often cannot be paid", (index: number) => String((index % 2) * 1_000_000 + 7)],
])("fifty transfers with one ref_id and each %s: one takes effect", async (name, amountOf) => {
  const [from, to] = [await service.profile(acme, { USD: "100" }), await service.profile(acme)];
  const body = { from_profile_id: from, to_profile_id: to, asset: "USD", ref_id: name };
  const answers = await Promise.all(
    fifty.map((index) => post("/v2/transfer/internal", { ...body, amount: amountOf(index) })),
  );
  // insufficient-funds may be the response only while nobody has had the ref_id.
  const poor = answers.filter(({ body: { type } }) => String(type).endsWith("/problems/insufficient-funds"));
  const one = await expectOneEffect(answers.filter((answer) => !poor.includes(answer)));
  expect(await available(to)).toBe(one.body.amount);
  expect(await available(from)).toBe(String(100 - Number(one.body.amount)));
  const late = await post("/v2/transfer/internal", { ...body, amount: "1000000" });
  expect([late.status, late.body.meta.existing]).toEqual([409, one.body]);
});

test.each([
  ["the same body", () => "5"],
  ["a body of its own", (index: number) => String(index + 1)],
])("fifty conversions with one ref_id and each %s: one takes effect", async (name, amountOf) => {
  const profile = await service.profile(acme, { USD: "100" });
  const body = { profile_id: profile, source_asset: "USD", target_asset: "PYUSD", ref_id: name };
  const answers = await Promise.all(
    fifty.map((index) => post("/v2/conversion/stablecoins", { ...body, amount: amountOf(index) })),
  );
  const one = await expectOneEffect(answers);
  expect(await available(profile)).toBe(String(100 - Number(one.body.amount)));
});

test("of fifty profiles with one nickname created concurrently, one succeeds", async () => {
  const answers = await Promise.all(fifty.map(() => post("/v2/profiles", { nickname: "one of fifty" })));
  await expectOneEffect(answers);
});

test("of two transfers that would each empty the account, one wins", async () => {
  for (let round = 0; round < 10; round += 1) {
    const from = await service.profile(acme, { USD: "10" });
    const to = await service.profile(acme);
    const body = { from_profile_id: from, to_profile_id: to, amount: "10", asset: "USD" };
    const answers = await Promise.all([post("/v2/transfer/internal", body), post("/v2/transfer/platform", body)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403]);
    expect([await available(from), await available(to)]).toEqual(["0", "10"]);
  }
});

test("of a transfer and a conversion that would each empty the account, one wins", async () => {
  for (let round = 0; round < 10; round += 1) {
    const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
    const answers = await Promise.all([
      post("/v2/transfer/internal", { from_profile_id: from, to_profile_id: to, amount: "10", asset: "USD" }),
      post("/v2/conversion/stablecoins", {
        profile_id: from,
        amount: "10",
        source_asset: "USD",
        target_asset: "USDG",
      }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403]);
    expect(await available(from)).toBe("0");
  }
});

test("fifty concurrent cancels of a conversion cancel it once", async () => {
  const profile = await service.profile(acme, { USD: "10" });
  const body = { profile_id: profile, amount: "10", source_asset: "USD", target_asset: "USDG" };
  const { id } = (await post("/v2/conversion/stablecoins", body)).body;
  const answers = await Promise.all(
    fifty.map(() => service.call("DELETE", `/v2/conversion/stablecoins/${id}`, { as: acme.token })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  const rejected = answers.filter(({ status }) => status !== 200);
  for (const { body: problem } of rejected)
    expect(problem).toMatchObject({ status: 403, meta: { status: "CANCELLED" } });
  expect(await available(profile)).toBe("10");
});
