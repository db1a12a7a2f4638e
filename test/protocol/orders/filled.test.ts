import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../../support/books.ts";
import { startTestService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.close());

test("an order that is awaited is returned as filled, and both parties can read their executions", async () => {
  const [maker, taker] = [await service.customer("maker"), await service.customer("taker")];
  const desk = await service.profile(maker, { BTC: "1" });
  const till = await service.profile(taker, { USD: "100000" });
  const limit = { market: "BTCUSD", type: "LIMIT", base_amount: "0.5", price: "25000" };
  const place = (profile: string, as: string, body: object) =>
    service.call("POST", `/v2/profiles/${profile}/orders`, { as, body });
  const resting = await place(desk, maker.token, { ...limit, side: "SELL" });
  expect(resting.status).toBe(200);
  const filled = await place(till, taker.token, { ...limit, side: "BUY", price: "25100", await_fill_millis: 10_000 });
  expect(filled.status).toBe(200);
  expect(filled.body).toMatchObject({
    status: "FILLED",
    price: "25100",
    amount_filled: "0.5",
    volume_weighted_average_price: "25000",
  });
  const executions = async (as: string): Promise<unknown[]> =>
    (await service.call("GET", "/v2/executions", { as })).body.items;
  const match = { market: "BTCUSD", amount: "0.5", price: "25000", gross_trade_amount: "12500" };
  expect(await executions(taker.token)).toEqual([
    expect.objectContaining({ ...match, order_id: filled.body.id, side: "BUY", commission: "43.75", rebate: "0" }),
  ]);
  expect(await executions(maker.token)).toEqual([
    expect.objectContaining({ ...match, order_id: resting.body.id, side: "SELL", commission: "0", rebate: "3.75" }),
  ]);
  const late = await service.call("DELETE", `/v2/profiles/${till}/orders/${filled.body.id}`, { as: taker.token });
  expect([late.status, late.body.meta]).toEqual([403, { status: "FILLED" }]);
  for (const kind of [{ type: "MARKET" }, { type: "STOP_MARKET", stop_price: "24000" }]) {
    const large = { market: "BTCUSD", side: "SELL", base_amount: "201", ...kind };
    const rejected = await place(desk, maker.token, large);
    const meta = { order_type: kind.type, order_notional_value: "5025000", max_notional_value: "5000000" };
    expect([rejected.status, rejected.body.meta]).toEqual([403, { market: "BTCUSD", ...meta }]);
  }
  await expectBooksBalance(service.db.owner);
});
