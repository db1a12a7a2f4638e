/** Books of orders in every state, made by the engine: verify finds nothing in them. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { agreeFees, endAgreement } from "../../src/catalogue/fee-schedule/fee-schedule.ts";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { amountOf } from "../../src/money/amount.ts";
import { PASSED } from "../../src/std/result.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { Desk, limit, openPair } from "../support/exchange/trading.ts";
import { TESTER } from "../support/movements.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const MARKET = "ETHUSD";

let service: TestService;
let maker: Desk;
let taker: Desk;
/** Of the taker's orders. */
let recipient_profile_id: string;
beforeAll(async () => {
  service = await startTestService();
  [maker, taker] = await openPair(service, MARKET, "ETH");
  recipient_profile_id = await service.profile(taker.customer);
});
afterAll(() => service.close());

async function expectSound(): Promise<void> {
  const { checks } = await verifyAll(service.service.core.database);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
}

const statusOf = async (desk: Desk, order: Parameters<Desk["place"]>[0]): Promise<string> =>
  (await desk.place(order)).status;

test("with stops of every kind that wait, some of them for another profile", async () => {
  const bid = await taker.place(limit("BUY", "1", "100", { recipient_profile_id }));
  await maker.place(limit("SELL", "1", "100"));
  expect((await taker.closed(bid.id)).status).toBe("FILLED");
  const waiting = [
    { type: "STOP_MARKET", side: "BUY", quote_amount: "50", stop_price: "200", recipient_profile_id },
    { type: "STOP_MARKET", side: "SELL", base_amount: "0.1", stop_price: "50", recipient_profile_id },
    { type: "STOP_LIMIT", side: "BUY", base_amount: "1", price: "210", stop_price: "205" },
    { type: "STOP_LIMIT", side: "SELL", base_amount: "1", price: "40", stop_price: "45", recipient_profile_id },
  ];
  for (const stop of waiting) expect(await statusOf(taker, stop)).toBe("SUBMITTED");
  await expectSound();
});

test("with orders that are partly filled, and market orders that left something", async () => {
  const bid = await taker.place(limit("BUY", "3", "90", { recipient_profile_id }));
  await maker.place(limit("SELL", "1", "90"));
  await taker.received(bid.id, ({ amount_filled }) => amount_filled === "1");
  const offer = await maker.place(limit("SELL", "2", "120"));
  const spent = await taker.place({ type: "MARKET", side: "BUY", quote_amount: "60.01" });
  expect((await taker.closed(spent.id)).status).toBe("FILLED");
  expect((await maker.received(offer.id)).status).toBe("OPEN");
  await expectSound();
});

test("with a rebate that is capped by a commission which was agreed on since", async () => {
  const { database } = service.service.core;
  const market = MARKET as MarketCode;
  const [old, coming] = [
    await Desk.open(service, MARKET, { ETH: "1" }),
    await Desk.open(service, MARKET, { USD: "1000" }),
  ];
  const agree = async ({ customer }: Desk, takerRate: string, makerRebate: string): Promise<void> => {
    const rates = { takerRate: amountOf(takerRate), makerRebate: amountOf(makerRebate) };
    expect(await agreeFees(database, market, { customerId: customer.id, ...rates }, TESTER)).toEqual(PASSED);
  };
  await agree(old, "0.0035", "0.0008");
  const offer = await old.place(limit("SELL", "1", "110"));
  expect(await endAgreement(database, market, old.customer.id, TESTER)).toBe(true);
  await agree(coming, "0.0006", "0");
  await coming.place(limit("BUY", "1", "110"));
  expect((await old.closed(offer.id)).status).toBe("FILLED");
  const path = `/v2/executions?order_id=${offer.id}`;
  const { body } = await service.call("GET", path, { as: old.customer.token });
  // 0.0008 of 110 would be 0.088.
  expect(body.items).toMatchObject([{ commission: "0", rebate: "0.066" }]);
  await expectSound();
});

test("with conversions that were settled for another profile and for their own", async () => {
  const profile_id = await service.profile(taker.customer, { USD: "10" });
  const conversion = { profile_id, source_asset: "USD", target_asset: "USDP" };
  for (const body of [
    { ...conversion, amount: "3", recipient_profile_id },
    { ...conversion, amount: "4" },
  ]) {
    const as = taker.customer.token;
    const { body: made } = await service.call("POST", "/v2/conversion/stablecoins", { as, body });
    await until("it is settled", async () => {
      const read = await service.call("GET", `/v2/conversion/stablecoins/${made.id}`, { as });
      return read.body.status === "SETTLED";
    });
  }
  await expectSound();
});
