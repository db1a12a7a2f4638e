/** Waiting for orders to close and cancelling them, in each of their states, with the service's own engines. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../../src/verify/verify.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { expectOrdersAddUp } from "../../support/exchange/orders.ts";
import { Desk, type Fields, limit, openPair, tell } from "../../support/exchange/trading.ts";
import { TESTER } from "../../support/movements.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterEach(async () => {
  await expectBooksBalance(service.db.owner);
  await expectOrdersAddUp(service.db.owner);
  expect((await verifyAll(service.db.database)).checks.flatMap(({ first: fault }) => fault ?? [])).toEqual([]);
});
afterAll(() => service.close());

/** Two who trade with each other on a market that no other test uses. */
const open = (market: string, base: string) => openPair(service, market, base);

const tooLate = (status: string) => ({
  status: 403,
  body: {
    type: expect.stringMatching(/\/problems\/not-cancellable$/),
    title: "Forbidden",
    status: 403,
    detail: "order is not in cancellable state",
    meta: { status },
    request_id: expect.any(String),
  },
});

async function cancelOf(desk: Desk, id: string) {
  const { status, body } = await desk.cancel(id);
  return { status, body };
}

test("a cancel is accepted in every open state and rejected in every closed one", async () => {
  const [maker, taker] = await open("QNTUSD", "QNT");
  const resting = await maker.place(limit("SELL", "2", "100"));
  await taker.place(limit("BUY", "0.5", "100"));
  const stop = await maker.place({ type: "STOP_MARKET", side: "SELL", base_amount: "1", stop_price: "1" });
  for (const [id, ending] of [
    [resting.id, "CANCELLED 0.5 at 100"],
    [stop.id, "CANCELLED"],
  ] as const) {
    expect(await cancelOf(maker, id)).toEqual({ status: 200, body: {} });
    expect(tell(await maker.closed(id))).toBe(ending);
    expect(await cancelOf(maker, id)).toEqual(tooLate("CANCELLED"));
  }
  expect(await maker.balance("QNT")).toBe("999.5/0");
  const rejected = await maker.place({ type: "MARKET", side: "SELL", base_amount: "1" });
  expect(await cancelOf(maker, rejected.id)).toEqual(tooLate("REJECTED"));
  await maker.place(limit("SELL", "1", "100"));
  const filled = await taker.place(limit("BUY", "1", "100"));
  expect(await cancelOf(taker, filled.id)).toEqual(tooLate("FILLED"));
});

test("who waits is not told what happens to the order once its client is disabled", async () => {
  const [maker] = await open("XLMUSD", "XLM");
  const leaver = await service.customer("Leaver");
  const profile = await service.profile(leaver, { USD: "1000" });
  const path = `/v2/profiles/${profile}/orders`;
  const body = { ...limit("BUY", "1", "100"), market: "XLMUSD", await_fill_millis: 10_000 };
  const waiting = service.call("POST", path, { as: leaver.token, body });
  const status = async () =>
    (await service.db.owner.rows<{ status: string }>("select status from orders where profile_id = $1", [profile]))[0]
      ?.status;
  await until("it is open", async () => (await status()) === "OPEN");
  await service.service.core.clients.disable(leaver.clientId, TESTER);
  await until(
    "its token is rejected",
    async () => (await service.call("GET", path, { as: leaver.token })).status === 401,
  );
  await maker.place(limit("SELL", "1", "100"));
  expect(await waiting).toMatchObject({ status: 200, body: { status: "PENDING_SUBMISSION", amount_filled: "0" } });
  expect(await status()).toBe("FILLED");
});

test("concurrent cancels of an order that no engine has taken all get a response, and one takes effect", async () => {
  const [maker] = await open("WLDUSD", "WLD");
  for (let round = 0; round < 5; round += 1) {
    const { body } = await maker.send(limit("SELL", "1", "100"));
    const answers = await Promise.all(Array.from({ length: 4 }, () => cancelOf(maker, body.id)));
    for (const answer of answers) expect([{ status: 200, body: {} }, tooLate("CANCELLED")]).toContainEqual(answer);
    expect(tell(await maker.closed(body.id))).toBe("CANCELLED");
  }
  expect(await maker.balance("WLD")).toBe("1000/0");
});

test("all callers that await orders closed by one round get their responses", async () => {
  const [maker, taker] = await open("MNTUSD", "MNT");
  const waits = Array.from({ length: 30 }, () => taker.send(limit("BUY", "1", "2", { await_fill_millis: 10_000 })));
  // Sells to the orders placed so far, until all of them are filled.
  let sold = 0;
  while (sold < 30) {
    const sell = await maker.place(limit("SELL", String(30 - sold), "2", { time_in_force: "IOC" }));
    sold += Number(sell.amount_filled);
  }
  for (const { status, body } of await Promise.all(waits)) {
    expect([status, tell(body)]).toEqual([200, "FILLED 1 at 2"]);
  }
  expect(await taker.balance("MNT")).toBe("1030/0");
});

test("a waiting caller gets its response at once if the order closes at once, else when it is cancelled", async () => {
  const [maker] = await open("RENDERUSD", "RENDER");
  const started = Date.now();
  const waiting = { await_fill_millis: 10_000 };
  const received = async (order: Fields) => tell((await maker.send({ ...order, ...waiting })).body);
  expect(await received(limit("BUY", "1", "2", { identity_id: "alone" }))).toBe("REJECTED identity_pair");
  expect(await received(limit("BUY", "1", "2", { time_in_force: "IOC" }))).toBe("CANCELLED");
  expect(await received({ type: "MARKET", side: "BUY", quote_amount: "5" })).toBe("REJECTED no_liquidity");
  const wait = received(limit("BUY", "1", "2", { ref_id: "waited-for" }));
  const id = await stored("waited-for", maker);
  expect(await cancelOf(maker, id)).toEqual({ status: 200, body: {} });
  expect(await wait).toBe("CANCELLED");
  expect(Date.now() - started).toBeLessThan(10_000);
});

async function stored(refId: string, desk: Desk): Promise<string> {
  let id = "";
  await until("the order is stored", async () => {
    const { body } = await service.call("GET", `/v2/orders?ref_ids=${refId}`, { as: desk.customer.token });
    id = body.items[0]?.id ?? "";
    return id !== "";
  });
  return id;
}

test("a triggered stop passes the same checks as any order: collar, liquidity, smallest lot", async () => {
  const [maker, taker] = await open("BTCUSD", "BTC");
  const stop = (type: string, more: Fields): Fields => ({ type, stop_price: "100", ...more });
  const slip = await taker.place(stop("STOP_LIMIT", { side: "BUY", base_amount: "1", price: "400" }));
  const dear = await taker.place(stop("STOP_MARKET", { side: "BUY", quote_amount: "1" }));
  await maker.place(limit("SELL", "1", "100"));
  await maker.place(limit("SELL", "0.01", "110000000"));
  await maker.place(limit("BUY", "1", "90"));
  // The trade at 100 leaves a middle between 90 and 110000000, which is beyond no buy; a sum of 1 buys no lot there.
  expect(tell(await maker.place(limit("BUY", "1", "95")))).toBe("OPEN");
  const third = await Desk.open(service, "BTCUSD", { USD: "1000" });
  expect(tell(await third.place(limit("BUY", "1", "100")))).toBe("FILLED 1 at 100");
  expect(tell(await taker.closed(dear.id))).toBe("REJECTED triggered below_one_lot");
  expect(tell(await taker.received(slip.id, ({ status }) => status === "OPEN"))).toBe("OPEN triggered");
  await taker.cancel(slip.id);
  await taker.closed(slip.id);
  // Now the middle is 100, and 115 beyond it.
  await maker.place(limit("SELL", "1", "105"));
  const collared = await taker.place(stop("STOP_LIMIT", { side: "BUY", base_amount: "1", price: "115" }));
  expect(tell(collared)).toBe("REJECTED triggered price_collar");
  expect(await taker.balance("USD")).toBe("1000000/0");
});
