/** Orders whose service ends and is started again while they wait: for a trigger, for their time, for a cancel. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../../src/verify/verify.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { expectOrdersAddUp } from "../../support/exchange/orders.ts";
import { Desk, type Fields, limit, tell } from "../../support/exchange/trading.ts";
import { startTestService, type TestService, urlOf } from "../../support/service.ts";
import { until } from "../../support/until.ts";

let first: TestService;
let second: TestService | undefined;
beforeAll(async () => {
  first = await startTestService();
});
afterAll(async () => {
  await second?.close();
  await first.close();
});

/** The same desk, served by another process. */
const moved = async ({ customer, profileId, market }: Desk, service: TestService): Promise<Desk> =>
  new Desk(service, { ...customer, token: await service.token(customer) }, profileId, market);

test("pending stops and orders are triggered, expire and fill after a restart", async () => {
  const money = { USD: "100000", LTC: "1000" };
  const [maker, taker] = [await Desk.open(first, "LTCUSD", money), await Desk.open(first, "LTCUSD", money)];
  await maker.place(limit("SELL", "1", "100"));
  await taker.place(limit("BUY", "1", "100"));
  const stop = (kind: Fields) => ({ side: "SELL", base_amount: "2", ...kind });
  const market = await taker.place(stop({ type: "STOP_MARKET", stop_price: "95" }));
  const dearer = await taker.place(stop({ type: "STOP_LIMIT", stop_price: "96", price: "94" }));
  const buy = await taker.place({ type: "STOP_MARKET", side: "BUY", quote_amount: "210", stop_price: "110" });
  const whileDown = Date.now() + 15_000;
  const gtt = (at: number): Fields => ({ time_in_force: "GTT", expiration_date: String(at) });
  const missed = await maker.place(limit("BUY", "3", "90", gtt(whileDown)));
  const missedStop = await maker.place({
    ...limit("BUY", "1", "200", gtt(whileDown)),
    type: "STOP_LIMIT",
    stop_price: "150",
  });
  const later = await maker.place(limit("BUY", "1", "80", gtt(whileDown + 86_400_000)));
  const resting = await maker.place(limit("BUY", "1", "95"));
  expect([market, dearer, buy, missed, missedStop, resting].map(tell)).toEqual([
    "SUBMITTED",
    "SUBMITTED",
    "SUBMITTED",
    "OPEN",
    "SUBMITTED",
    "OPEN",
  ]);
  // On another market, one that is filled in part.
  const [bch, bids] = [
    await Desk.open(first, "BCHUSD", { ...money, BCH: "10" }),
    await Desk.open(first, "BCHUSD", money),
  ];
  const part = await bch.place(limit("SELL", "3", "100"));
  expect(tell(await bids.place(limit("BUY", "1", "100")))).toBe("FILLED 1 at 100");
  await first.stop();
  // What expired while nobody served is cancelled when the market is opened.
  await until("their time is up", () => Date.now() > whileDown, 20);
  second = await startTestService({ databaseUrl: urlOf(first.db), migrateUrl: urlOf(first.db, "owner") });
  const [buyer, seller] = [await moved(maker, second), await moved(taker, second)];
  expect(tell(await buyer.closed(missed.id))).toBe("CANCELLED");
  expect(tell(await buyer.closed(missedStop.id))).toBe("CANCELLED");
  expect(tell(await buyer.received(later.id))).toBe("OPEN");
  // One trade at 95 sets off both sells, the one with the higher stop price first: 94 is its limit, and all bids are below.
  expect(tell(await seller.place(limit("SELL", "1", "95")))).toBe("FILLED 1 at 95");
  expect(tell(await seller.closed(market.id))).toBe("CANCELLED 1 at 80 triggered");
  expect(tell(await seller.received(dearer.id))).toBe("OPEN triggered");
  expect(tell(await buyer.closed(later.id))).toBe("FILLED 1 at 80");
  // And one at 94, the limit that rests now, none of the buys.
  expect(tell(await buyer.place(limit("BUY", "1", "94")))).toBe("FILLED 1 at 94");
  expect(tell(await seller.received(buy.id))).toBe("SUBMITTED");
  expect(await seller.balance("LTC")).toBe("997/1");
  // Of the one that was filled in part there is what was left.
  expect(tell(await (await moved(bids, second)).place(limit("BUY", "5", "100")))).toBe("OPEN 2 at 100");
  expect(tell(await (await moved(bch, second)).closed(part.id))).toBe("FILLED 3 at 100");
  await expectBooksBalance(first.db.owner);
  await expectOrdersAddUp(first.db.owner);
  expect((await verifyAll(first.db.database)).checks.flatMap(({ first: fault }) => fault ?? [])).toEqual([]);
}, 60_000);
