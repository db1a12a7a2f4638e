import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../../support/books.ts";
import { startTestService, type TestCustomer, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

let service: TestService;
let maker: TestCustomer;
let taker: TestCustomer;
beforeAll(async () => {
  service = await startTestService();
  maker = await service.customer("maker");
  taker = await service.customer("taker");
});
afterAll(() => service.close());

const RICH = { USD: "10000000", BTC: "100", ETH: "100", LTC: "100" };
const NUMBER = expect.stringMatching(/^[0-9]+$/);
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** A trader on one market: each call places an order and answers it. */
async function trader(customer: TestCustomer, market: string) {
  const profile = await service.profile(customer, RICH);
  return async (side: "BUY" | "SELL", base_amount: string, price: string, more: object = {}) => {
    const body = { side, market, type: "LIMIT", base_amount, price, ...more };
    const placed = await service.call("POST", `/v2/profiles/${profile}/orders`, { as: customer.token, body });
    expect([placed.status, placed.body.detail]).toEqual([200, undefined]);
    return placed.body as { id: string; status: string; profile_id: string };
  };
}

const read = async (path: string) => {
  const answer = await service.call("GET", path);
  expect(answer.status).toBe(200);
  return answer.body;
};

const bookOf = (market: string) => read(`/v2/markets/${market}/order-book`);

/** Waits for the book to be this one: resting is the engine's work, which goes on after the order is answered. */
async function expectBook(market: string, bids: object[], asks: object[]): Promise<void> {
  const same = async () => {
    const { sequence: _, ...book } = await bookOf(market);
    return JSON.stringify(book) === JSON.stringify({ market, bids, asks });
  };
  await until(`the book of ${market} is as expected`, same).catch(() => undefined);
  expect(await bookOf(market)).toEqual({ market, sequence: NUMBER, bids, asks });
}

test("a market without orders or trades has an empty book, and only zero volumes in its ticker", async () => {
  expect(await bookOf("WLDUSD")).toEqual({ market: "WLDUSD", sequence: NUMBER, bids: [], asks: [] });
  const nothing = { volume: "0", range: { begin: TIME, end: TIME } };
  const ticker = await read("/v2/markets/WLDUSD/ticker");
  expect(ticker).toEqual({ market: "WLDUSD", last_day: nothing, today: nothing, snapshot_at: TIME });
  expect(ticker.last_day.range.end).toBe(ticker.snapshot_at);
  expect(Date.parse(ticker.last_day.range.end) - Date.parse(ticker.last_day.range.begin)).toBe(24 * 60 * 60_000);
  expect(ticker.today.range.begin).toBe(`${ticker.snapshot_at.slice(0, 10)}T00:00:00.000Z`);
  expect(await read("/v2/markets/WLDUSD/recent-executions")).toEqual({ items: [] });
  expect(await read("/v2/all-markets/prices?markets=WLDUSD")).toEqual({ items: [] });
});

test("the book sums the open orders at each price, best prices first", async () => {
  const place = await trader(maker, "BTCUSD");
  await place("BUY", "0.5", "24000");
  await place("BUY", "0.25", "24000");
  await place("BUY", "1", "24500");
  await place("SELL", "0.125", "25500");
  const cancelled = await place("SELL", "2", "25250");
  await place("SELL", "0.3", "100000");
  const bids = [
    { price: "24500", amount: "1" },
    { price: "24000", amount: "0.75" },
  ];
  const [near, far] = [
    { price: "25500", amount: "0.125" },
    { price: "100000", amount: "0.3" },
  ];
  await expectBook("BTCUSD", bids, [{ price: "25250", amount: "2" }, near, far]);
  await service.call("DELETE", `/v2/profiles/${cancelled.profile_id}/orders/${cancelled.id}`, { as: maker.token });
  await expectBook("BTCUSD", bids, [near, far]);
  const take = await trader(taker, "BTCUSD");
  const filled = await take("SELL", "1.25", "24000", { await_fill_millis: 10_000 });
  expect(filled.status).toBe("FILLED");
  expect(await bookOf("BTCUSD")).toEqual({
    market: "BTCUSD",
    sequence: NUMBER,
    bids: [{ price: "24000", amount: "0.5" }],
    asks: [near, far],
  });
  await expectBooksBalance(service.db.owner);
});

test("a trade is in the ticker, the recent executions and the prices as soon as the taker has its response", async () => {
  const [make, take] = [await trader(maker, "ETHUSD"), await trader(taker, "ETHUSD")];
  await make("SELL", "1", "2000");
  await make("SELL", "2", "2010");
  await make("BUY", "1", "1990");
  const bid = { price: "1990", amount: "1" };
  await expectBook(
    "ETHUSD",
    [bid],
    [
      { price: "2000", amount: "1" },
      { price: "2010", amount: "2" },
    ],
  );
  const bought = await take("BUY", "1.5", "2010", { await_fill_millis: 10_000 });
  const sold = await take("SELL", "0.25", "1990", { await_fill_millis: 10_000 });
  expect([bought.status, sold.status]).toEqual(["FILLED", "FILLED"]);

  const recent = await read("/v2/markets/ETHUSD/recent-executions");
  const own = await service.call("GET", "/v2/executions", { as: taker.token });
  const mine = own.body.items.filter(({ market }: { market: string }) => market === "ETHUSD");
  expect(recent).toEqual({
    items: [
      { match_number: mine[0].execution_id, price: "1990", amount: "0.25", side: "SELL", executed_at: TIME },
      { match_number: mine[1].execution_id, price: "2010", amount: "0.5", side: "BUY", executed_at: TIME },
      { match_number: mine[2].execution_id, price: "2000", amount: "1", side: "BUY", executed_at: TIME },
    ],
  });
  expect(recent.items.map((item: { executed_at: string }) => item.executed_at)).toEqual(
    mine.map((item: { executed_at: string }) => item.executed_at),
  );

  const traded = {
    high: "2010",
    low: "1990",
    open: "2000",
    volume: "1.75",
    // (2000 + 2010 x 0.5 + 1990 x 0.25) / 1.75
    volume_weighted_average_price: "2001.42857143",
    range: { begin: TIME, end: TIME },
  };
  expect(await read("/v2/markets/ETHUSD/ticker")).toEqual({
    market: "ETHUSD",
    best_bid: { price: "1990", amount: "0.75" },
    best_ask: { price: "2010", amount: "1.5" },
    last_execution: { price: "1990", amount: "0.25" },
    last_day: traded,
    today: traded,
    snapshot_at: TIME,
  });
  expect(await read("/v2/all-markets/prices?markets=WLDUSD&markets=ETHUSD")).toEqual({
    items: [{ market: "ETHUSD", current_price: "1990", snapshot_at: TIME }],
  });
  await expectBooksBalance(service.db.owner);
});

test("the prices of all markets come in the order of their codes", async () => {
  const { items } = await read("/v2/all-markets/prices");
  const codes = items.map(({ market }: { market: string }) => market);
  expect(codes).toContain("ETHUSD");
  expect(codes).not.toContain("WLDUSD");
  expect(codes).toEqual(codes.toSorted());
});

test("an unknown market is 404 in a path, and 400 as a filter", async () => {
  for (const route of ["order-book", "ticker", "recent-executions"]) {
    const answer = await service.call("GET", `/v2/markets/btcusd/${route}`);
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ type: "about:blank", detail: "market not found: btcusd", meta: {} });
  }
  const filtered = await service.call("GET", "/v2/all-markets/prices?markets=BTCUSD&markets=NOPEUSD");
  expect(filtered.status).toBe(400);
  expect(filtered.body.meta.errors).toEqual([
    { field: "markets", value: "NOPEUSD", rule: expect.stringMatching(/^is not one of AAVEUSD, ARBUSD, /) },
  ]);
});

test("a book read during trading is complete and never crossed, and ends as the resting orders", async () => {
  const [make, take] = [await trader(maker, "LTCUSD"), await trader(taker, "LTCUSD")];
  let isTrading = true;
  const reading = (async () => {
    let reads = 0;
    while (isTrading) {
      const { bids, asks } = await bookOf("LTCUSD");
      const [bid, ask] = [bids[0], asks[0]];
      if (bid !== undefined && ask !== undefined) expect(Number(bid.price)).toBeLessThan(Number(ask.price));
      reads += 1;
    }
    return reads;
  })();
  const prices = ["79", "79.5", "80", "80.5", "81"];
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(
      prices.map((price, at) =>
        (at % 2 === round % 2 ? make : take)((at + round) % 3 === 0 ? "BUY" : "SELL", "0.5", price),
      ),
    );
  }
  const resting = async () => {
    const levels = { BUY: new Map<string, number>(), SELL: new Map<string, number>() };
    for (const { token } of [maker, taker]) {
      const { body } = await service.call("GET", "/v2/orders?market=LTCUSD&limit=1000", { as: token });
      for (const order of body.items) {
        if (order.status === "PENDING_SUBMISSION" || order.status === "SUBMITTED") return undefined;
        if (order.status !== "OPEN") continue;
        const side = levels[order.side as "BUY" | "SELL"];
        // Halves are exact in binary.
        side.set(order.price, (side.get(order.price) ?? 0) + Number(order.base_amount) - Number(order.amount_filled));
      }
    }
    const sorted = (side: Map<string, number>, sign: number) =>
      [...side]
        .toSorted(([a], [b]) => sign * (Number(a) - Number(b)))
        .map(([price, amount]) => ({ price, amount: `${amount}` }));
    return { market: "LTCUSD", sequence: NUMBER, bids: sorted(levels.BUY, -1), asks: sorted(levels.SELL, 1) };
  };
  await until("every order has been to the book", async () => (await resting()) !== undefined);
  isTrading = false;
  expect(await reading).toBeGreaterThan(5);
  const book = await bookOf("LTCUSD");
  expect(book.bids.length + book.asks.length).toBeGreaterThan(0);
  expect(book).toEqual(await resting());
  await expectBooksBalance(service.db.owner);
});
