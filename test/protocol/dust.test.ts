/** Decimals below an asset's precision, which fees leave in balances: they leave with all that there is, never rounded. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { type Desk, limit, openPair } from "../support/exchange/trading.ts";
import { expectProblem, expectSuccess } from "../support/problems.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let taker: Desk;
let to: string;
beforeAll(async () => {
  service = await startTestService();
  const [maker, buyer] = await openPair(service, "BTCUSD", "BTC");
  taker = buyer;
  await maker.place(limit("SELL", "0.00000003", "25000.25"));
  await taker.closed((await taker.place(limit("BUY", "0.00000003", "25000.25"))).id);
  to = await service.profile(taker.customer);
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const send = (path: string, body: object) => service.call("POST", path, { as: taker.customer.token, body });

const available = async (profile: string, asset: string): Promise<string> => {
  const path = `/v2/profiles/${profile}/balances/${asset}`;
  return (await service.call("GET", path, { as: taker.customer.token })).body.available;
};

// 1,000,000 - 0.00000003 x 25,000.25 x 1.0035
const ALL = "999999.99924736747375";

test("exactly the whole balance may be sent, whatever its decimals; anything else within the precision only", async () => {
  expect(await available(taker.profileId, "USD")).toBe(ALL);
  const move = { from_profile_id: taker.profileId, to_profile_id: to, asset: "USD" };
  for (const amount of ["999999.99924736747374", "999999.99924736747376", "0.00000003"]) {
    expectProblem(await send("/v2/transfer/internal", { ...move, amount }), {
      status: 400,
      slug: "exceed-precision",
      detail: `amount "${amount}" has more decimals than USD allows: 2`,
      meta: { asset: "USD", precision: 2 },
    });
  }
  const sent = await send("/v2/transfer/internal", { ...move, amount: ALL });
  expectSuccess(sent);
  expect(sent.body).toMatchObject({ amount: ALL, total: ALL, status: "COMPLETED" });
  expect([await available(taker.profileId, "USD"), await available(to, "USD")]).toEqual(["0", ALL]);
});

test("and so may it be converted, at par to its last decimal", async () => {
  const mint = { profile_id: to, amount: ALL, source_asset: "USD", target_asset: "PYUSD" };
  const made = await send("/v2/conversion/stablecoins", mint);
  expectSuccess(made);
  const path = `/v2/conversion/stablecoins/${made.body.id}`;
  await until("it is settled", async () => {
    return (await service.call("GET", path, { as: taker.customer.token })).body.status === "SETTLED";
  });
  expect([await available(to, "USD"), await available(to, "PYUSD")]).toEqual(["0", ALL]);
});
