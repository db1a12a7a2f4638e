/** Why an order ended (docs/contract/orders.md#states, rule 4), and its self_match_prevention_id. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../../support/books.ts";
import { type Desk, type Fields, limit, openPair } from "../../support/exchange/trading.ts";
import { startTestService, type TestService } from "../../support/service.ts";

let service: TestService;
let maker: Desk;
let taker: Desk;
beforeAll(async () => {
  service = await startTestService();
  [maker, taker] = await openPair(service, "BTCUSD", "BTC");
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

interface Ended {
  readonly id: string;
  readonly status: string;
  readonly cancel_reason?: string;
  readonly reject_reason?: string;
}

async function ended(desk: Desk, id: string): Promise<(string | undefined)[]> {
  const { status, cancel_reason, reject_reason } = (await desk.closed(id)) as Ended;
  return [status, cancel_reason, reject_reason];
}

const place = async (desk: Desk, order: Fields): Promise<string> => (await desk.place(order)).id;

test("an order that its customer cancels says so; a filled one has no reason", async () => {
  const open = await place(maker, limit("SELL", "1", "200"));
  expect(await maker.received(open)).not.toHaveProperty("cancel_reason");
  await maker.cancel(open);
  expect(await ended(maker, open)).toEqual(["CANCELLED", "requested", undefined]);

  const sold = await place(maker, limit("SELL", "1", "100"));
  const bought = await place(taker, limit("BUY", "1", "100"));
  expect(await ended(maker, sold)).toEqual(["FILLED", undefined, undefined]);
  expect(await ended(taker, bought)).toEqual(["FILLED", undefined, undefined]);
});

test("what can not trade at once, or not as a whole, says so", async () => {
  const resting = await place(maker, limit("SELL", "1", "100"));
  const fillOrKill = await place(taker, limit("BUY", "2", "100", { time_in_force: "FOK" }));
  const immediate = await place(taker, limit("BUY", "2", "100", { time_in_force: "IOC" }));
  expect(await ended(taker, fillOrKill)).toEqual(["CANCELLED", "fill_or_kill", undefined]);
  expect(await ended(taker, immediate)).toEqual(["CANCELLED", "immediate_or_cancel", undefined]);
  expect(await ended(maker, resting)).toEqual(["FILLED", undefined, undefined]);
  const none = await place(taker, { type: "MARKET", side: "BUY", quote_amount: "10" });
  expect(await ended(taker, none)).toEqual(["REJECTED", undefined, "no_liquidity"]);
});

test.each([
  ["without an id", {}, {}],
  ["with the same id", { self_match_prevention_id: "desk-4" }, { self_match_prevention_id: "desk-4" }],
  ["with different ids", { self_match_prevention_id: "desk-4" }, { self_match_prevention_id: "desk-5" }],
  ["one of them with an id", {}, { self_match_prevention_id: "x".repeat(36) }],
])("orders of one customer %s do not trade: the resting one is cancelled for it", async (_how, resting, incoming) => {
  const sell = await place(maker, limit("SELL", "1", "100", resting));
  expect(await maker.received(sell)).toMatchObject(resting);
  const buy = await maker.place(limit("BUY", "1", "100", incoming));
  expect(await ended(maker, sell)).toEqual(["CANCELLED", "self_trade", undefined]);
  expect(await maker.received(buy.id)).toMatchObject({ status: "OPEN", amount_filled: "0", ...incoming });
  await maker.cancel(buy.id);
  await maker.closed(buy.id);
});

test("two customers with the same id trade with each other", async () => {
  const id = { self_match_prevention_id: "desk-4" };
  const sell = await place(maker, limit("SELL", "1", "100", id));
  const buy = await place(taker, limit("BUY", "1", "100", id));
  expect([await ended(maker, sell), await ended(taker, buy)]).toEqual([
    ["FILLED", undefined, undefined],
    ["FILLED", undefined, undefined],
  ]);
});
