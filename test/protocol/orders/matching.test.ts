/** What becomes of orders of every kind, seen over HTTP by those who placed them (docs/contract/orders.md). */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { MarketCode } from "../../../src/catalogue/market.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { Desk, type Fields, limit, openPair, tell } from "../../support/exchange/trading.ts";
import { TESTER } from "../../support/movements.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

let service: TestService;
/** Placed first: the shortest life of an order is 10 s, in which the other tests run. */
let expiring: ReturnType<typeof placeExpiring>;
beforeAll(async () => {
  service = await startTestService();
  expiring = placeExpiring();
});
afterEach(() => expectBooksBalance(service.db.owner));
afterAll(() => service.close());

const BUY = "BUY";
const SELL = "SELL";

/** Two who trade with each other on a market that no other test uses. */
const open = (market: string, base: string) => openPair(service, market, base);

test("market orders take the available liquidity from the best price on, and release the rest", async () => {
  const [maker, taker] = await open("LTCUSD", "LTC");
  await maker.place(limit(SELL, "1", "100"));
  await maker.place(limit(SELL, "2", "101"));
  const buy = await taker.place({ type: "MARKET", side: BUY, quote_amount: "150.5" });
  // 1 x 100, and 50.5 / 101 of the next level.
  expect(tell(buy)).toBe("FILLED 1.5 at 100.33333333");
  // 1000000 - 150.5 x 1.0035
  expect(await taker.balance("USD")).toBe("999848.97325/0");
  const rest = await taker.place({ type: "MARKET", side: BUY, quote_amount: "1000" });
  expect(tell(rest)).toBe("CANCELLED 1.5 at 101");
  expect(await taker.balance("USD")).toBe("999696.943/0");
  expect(tell(await taker.place({ type: "MARKET", side: BUY, quote_amount: "10" }))).toBe("REJECTED no_liquidity");
  await maker.place(limit(BUY, "1", "90"));
  expect(tell(await taker.place({ type: "MARKET", side: SELL, base_amount: "3" }))).toBe("CANCELLED 1 at 90");
  expect(tell(await taker.place({ type: "MARKET", side: SELL, base_amount: "3" }))).toBe("REJECTED no_liquidity");
  expect(await taker.balance("LTC")).toBe("1002/0");
});

test("a market buy worth less than one lot is rejected, and one worth exactly one lot is filled", async () => {
  const [maker, taker] = await open("BTCUSD", "BTC");
  await maker.place(limit(SELL, "0.01", "100000001"));
  const buy = { type: "MARKET", side: BUY, quote_amount: "1" };
  expect(tell(await taker.place(buy))).toBe("REJECTED below_one_lot");
  await maker.place(limit(SELL, "0.0001", "100000000"));
  expect(tell(await taker.place(buy))).toBe("FILLED 0.00000001 at 100000000");
  expect(await taker.balance("USD")).toBe("999998.9965/0");
});

test("IOC keeps its partial fill, FOK fills completely or not at all, and neither rests", async () => {
  const [maker, taker] = await open("LINKUSD", "LINK");
  await maker.place(limit(SELL, "2", "10"));
  expect(tell(await taker.place(limit(BUY, "3", "10", { time_in_force: "FOK" })))).toBe("CANCELLED");
  expect(tell(await taker.place(limit(BUY, "1", "10", { time_in_force: "FOK" })))).toBe("FILLED 1 at 10");
  expect(tell(await taker.place(limit(BUY, "3", "10", { time_in_force: "IOC" })))).toBe("CANCELLED 1 at 10");
  expect(tell(await taker.place(limit(BUY, "3", "10", { time_in_force: "IOC" })))).toBe("CANCELLED");
  expect(await taker.balance("USD")).toBe("999979.93/0");
});

test("post-only orders rest or are rejected, and never take", async () => {
  const [maker, taker] = await open("AAVEUSD", "AAVE");
  const postOnly = (side: string, price: string, more: Fields = {}) =>
    limit(side, "1", price, { type: "POST_ONLY_LIMIT", ...more });
  const resting = await maker.place(postOnly(SELL, "100"));
  expect(tell(resting)).toBe("OPEN");
  expect(tell(await taker.place(postOnly(BUY, "100")))).toBe("REJECTED post_only_would_cross");
  expect(tell(await maker.place(postOnly(BUY, "100")))).toBe("REJECTED post_only_would_cross");
  for (const time_in_force of ["IOC", "FOK"]) {
    expect(tell(await taker.place(postOnly(BUY, "99", { time_in_force })))).toBe("CANCELLED");
    expect(tell(await taker.place(postOnly(BUY, "101", { time_in_force })))).toBe("REJECTED post_only_would_cross");
  }
  expect(tell(await taker.place(postOnly(BUY, "99")))).toBe("OPEN");
  expect(tell(await maker.received(resting.id))).toBe("OPEN");
  expect(await taker.balance("USD")).toBe("999900.6535/99.3465");
});

test("a customer does not trade with itself: its resting order is cancelled, also on another profile", async () => {
  const [maker, taker] = await open("UNIUSD", "UNI");
  const sibling = await Desk.open(service, "UNIUSD", { USD: "1000" }, maker);
  const own = await maker.place(limit(SELL, "1", "10"));
  const other = await taker.place(limit(SELL, "1", "10"));
  expect(tell(await sibling.place(limit(BUY, "2", "10", { time_in_force: "FOK" })))).toBe("CANCELLED");
  expect(tell(await maker.received(own.id))).toBe("OPEN");
  expect(tell(await sibling.place(limit(BUY, "1", "10")))).toBe("FILLED 1 at 10");
  expect(tell(await maker.received(own.id))).toBe("CANCELLED");
  expect(tell(await taker.received(other.id))).toBe("FILLED 1 at 10");
  await maker.place(limit(SELL, "1", "10"));
  expect(tell(await sibling.place({ type: "MARKET", side: BUY, quote_amount: "10" }))).toBe("REJECTED no_liquidity");
});

test("a limit beyond the collar is rejected if it would trade, and rests otherwise", async () => {
  const [maker, taker] = await open("BCHUSD", "BCH");
  await maker.place(limit(BUY, "1", "99"));
  await maker.place(limit(SELL, "1", "101"));
  // The middle is 100.
  expect(tell(await taker.place(limit(BUY, "1", "115")))).toBe("REJECTED price_collar");
  expect(tell(await taker.place(limit(SELL, "1", "85")))).toBe("REJECTED price_collar");
  expect(tell(await taker.place(limit(SELL, "1", "500")))).toBe("OPEN");
  expect(tell(await taker.place(limit(BUY, "1", "114.95")))).toBe("FILLED 1 at 101");
});

test("stops trigger in the order of their prices, each trade may trigger the next, all in one round", async () => {
  const [maker, taker] = await open("ETHUSD", "ETH");
  const stop = (base_amount: string, stop_price: string): Fields => ({
    type: "STOP_MARKET",
    side: SELL,
    base_amount,
    stop_price,
  });
  const asked = await Promise.all(["100", "99", "98"].map((stop_price) => taker.place(stop("1", stop_price))));
  expect(asked.map(tell)).toEqual(["SUBMITTED", "SUBMITTED", "SUBMITTED"]);
  expect(await taker.balance("ETH")).toBe("997/3");
  for (const price of ["100", "99", "98", "97"]) await maker.place(limit(BUY, "1", price));
  const [first, second, third] = asked.map(({ id }) => id) as [string, string, string];
  expect(tell(await taker.place(limit(SELL, "1", "100")))).toBe("FILLED 1 at 100");
  const ended = await Promise.all([first, second, third].map((id) => taker.closed(id)));
  expect(ended.map(tell)).toEqual(["FILLED 1 at 99 triggered", "FILLED 1 at 98 triggered", "FILLED 1 at 97 triggered"]);
  // One round has done it all: every fill has its time.
  expect(new Set(ended.map(({ modified_at }) => modified_at)).size).toBe(1);
  const { body } = await service.call("GET", "/v2/executions", { as: taker.customer.token });
  expect(body.items.map(({ price }: { price: string }) => price)).toEqual(["97", "98", "99", "100"]);
});

test("among stops with the same price the older triggers first, and a stop already through triggers at once", async () => {
  const [maker, taker] = await open("MATICUSD", "MATIC");
  const stop = (more: Fields): Fields => ({ type: "STOP_MARKET", side: SELL, base_amount: "10", ...more });
  const older = await taker.place(stop({ stop_price: "2" }));
  const younger = await taker.place(stop({ stop_price: "2" }));
  await maker.place(limit(BUY, "5", "2"));
  await maker.place(limit(BUY, "10", "1.9"));
  await taker.place(limit(SELL, "5", "2"));
  expect(tell(await taker.closed(older.id))).toBe("FILLED 10 at 1.9 triggered");
  expect(tell(await taker.closed(younger.id))).toBe("REJECTED triggered no_liquidity");
  await maker.place(limit(SELL, "20", "2"));
  const through = { type: "STOP_MARKET", side: BUY, quote_amount: "20", stop_price: "1.5" };
  expect(tell(await taker.place(through))).toBe("FILLED 10 at 2 triggered");
  expect(await taker.balance("MATIC")).toBe("995/0");
});

test("a stop limit rests at its limit once it is triggered, and can be cancelled before and after", async () => {
  const [maker, taker] = await open("ARBUSD", "ARB");
  const stopLimit = (price: string, stop_price: string) => ({
    ...limit(BUY, "10", price),
    type: "STOP_LIMIT",
    stop_price,
  });
  const waiting = await taker.place(stopLimit("3", "2"));
  const given = await taker.place(stopLimit("3", "2.5"));
  expect(tell(waiting)).toBe("SUBMITTED");
  expect(await taker.cancel(given.id)).toMatchObject({ status: 200, body: {} });
  expect(tell(await taker.closed(given.id))).toBe("CANCELLED");
  await maker.place(limit(SELL, "1", "2"));
  await taker.place(limit(BUY, "1", "2"));
  expect(tell(await taker.received(waiting.id, ({ status }) => status === "OPEN"))).toBe("OPEN triggered");
  await maker.place(limit(SELL, "4", "3"));
  expect(tell(await taker.received(waiting.id, ({ amount_filled }) => amount_filled === "4"))).toBe(
    "OPEN 4 at 3 triggered",
  );
  await taker.cancel(waiting.id);
  expect(tell(await taker.closed(waiting.id))).toBe("CANCELLED 4 at 3 triggered");
  expect(await taker.balance("USD")).toBe("999985.9966/0");
});

test("a halted market triggers no stops and rejects accepted orders; once resumed it continues where it was", async () => {
  const [maker, taker] = await open("ENAUSD", "ENA");
  const market = "ENAUSD" as MarketCode;
  const stop = await taker.place({ type: "STOP_MARKET", side: SELL, base_amount: "1", stop_price: "1" });
  const bid = await maker.place(limit(BUY, "5", "1"));
  await service.service.exchange.haltMarket(market, TESTER);
  expect((await taker.send(limit(SELL, "1", "1"))).status).toBe(403);
  expect(tell(await taker.received(stop.id))).toBe("SUBMITTED");
  const other = await service.service.exchange.resumeMarket(market, TESTER);
  expect(other.kind).toBe("done");
  expect(tell(await taker.place(limit(SELL, "1", "1")))).toBe("FILLED 1 at 1");
  expect(tell(await taker.closed(stop.id))).toBe("FILLED 1 at 1 triggered");
  expect(tell(await maker.received(bid.id))).toBe("OPEN 2 at 1");
});

test("pages of executions read during trading miss and repeat nothing", async () => {
  const [maker, taker] = await open("SKYUSD", "SKY");
  const trade = async (): Promise<void> => {
    const sells = Array.from({ length: 5 }, () => maker.send(limit(SELL, "1", "1")));
    await Promise.all([...sells, ...Array.from({ length: 5 }, () => taker.send(limit(BUY, "1", "1")))]);
  };
  const page = async (cursor: string, limit: number) =>
    (await service.call("GET", `/v2/executions?limit=${limit}&page_cursor=${cursor}`, { as: maker.customer.token }))
      .body;
  const idsOf = ({ items }: { items: { execution_id: string }[] }) => items.map(({ execution_id }) => execution_id);
  for (let i = 0; i < 4; i += 1) await trade();
  let isOver = false;
  const trading = (async () => {
    while (!isOver) await trade();
  })();
  for (let walk = 0; walk < 5; walk += 1) {
    const before = idsOf(await page("", 1_000));
    const seen: string[] = [];
    let cursor = "";
    do {
      const answer = await page(cursor, 7);
      seen.push(...idsOf(answer));
      cursor = answer.next_page_cursor;
    } while (cursor !== "");
    expect(seen.length).toBe(new Set(seen).size);
    expect(seen).toEqual(seen.toSorted((a, b) => (BigInt(a) < BigInt(b) ? 1 : -1)));
    // Whatever else there is, everything that was there when the first page was read is there.
    expect(before.filter((id) => !seen.includes(id))).toEqual([]);
  }
  isOver = true;
  await trading;
});

test("cancel against fill and halt against fill: one wins, and the record says which", async () => {
  const [maker, taker] = await open("ONDOUSD", "ONDO");
  const market = "ONDOUSD" as MarketCode;
  const endings = new Map<string, number>();
  for (let round = 0; round < 40; round += 1) {
    const resting = await maker.place(limit(SELL, "1", "1"));
    const haltsToo = round % 2 === 0;
    const [cancelled, sent] = await Promise.all([
      maker.cancel(resting.id),
      taker.send(limit(BUY, "1", "1")),
      haltsToo ? service.service.exchange.haltMarket(market, TESTER) : undefined,
    ]);
    if (haltsToo) await service.service.exchange.resumeMarket(market, TESTER);
    const ended = await maker.closed(resting.id);
    expect(["FILLED 1 at 1", "CANCELLED"]).toContain(tell(ended));
    if (sent.status === 200) {
      await taker.cancel(sent.body.id);
      const taken = tell(await taker.closed(sent.body.id));
      expect([tell(ended), taken]).toEqual(
        ended.status === "FILLED"
          ? ["FILLED 1 at 1", "FILLED 1 at 1"]
          : ["CANCELLED", expect.stringMatching(/^(CANCELLED|REJECTED market_halted)$/)],
      );
    } else {
      expect([sent.status, sent.body.title, ended.status]).toEqual([403, "Market Unavailable", "CANCELLED"]);
    }
    // Told as too late only when it was.
    if (cancelled.status !== 200) expect([cancelled.status, ended.status]).toEqual([403, "FILLED"]);
    endings.set(ended.status, (endings.get(ended.status) ?? 0) + 1);
  }
  const filled = endings.get("FILLED") ?? 0;
  expect(await taker.balance("ONDO")).toBe(`${1000 + filled}/0`);
  expect(await maker.balance("ONDO")).toBe(`${1000 - filled}/0`);
});

async function placeExpiring() {
  const [maker, taker] = await open("WIFUSD", "WIF");
  const expiresAt = Date.now() + 15_000;
  const expiry = { time_in_force: "GTT", expiration_date: String(expiresAt) };
  const partly = await maker.place(limit(BUY, "2", "1", expiry));
  const resting = await maker.place(limit(BUY, "2", "0.9", expiry));
  const waiting = await maker.place({ ...limit(BUY, "2", "3", expiry), type: "STOP_LIMIT", stop_price: "2" });
  await taker.place(limit(SELL, "1", "1"));
  return { maker, ids: [partly, resting, waiting].map(({ id }) => id), expiresAt };
}

test("GTT orders are cancelled within a second of their time: partly filled, resting, and waiting for a trigger", async () => {
  const { maker, ids, expiresAt } = await expiring;
  await until("two seconds are left", () => Date.now() > expiresAt - 2_000, 15);
  const ended = await Promise.all(ids.map((id) => maker.closed(id)));
  expect(ended.map(tell)).toEqual(["CANCELLED 1 at 1", "CANCELLED", "CANCELLED"]);
  for (const { modified_at } of ended) {
    const late = Date.parse(modified_at) - expiresAt;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(1_000);
  }
  expect(await maker.balance("USD")).toBe("999999.0003/0");
});
