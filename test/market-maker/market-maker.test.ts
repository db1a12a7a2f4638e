/** The sandbox's market maker on the real exchange: as a newcomer meets it, and driven by hand, pass by pass. */
import type { ClientConfig } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { MarketCode } from "../../src/catalogue/market.ts";
import { tourSteps } from "../../src/cli/demo/tour.ts";
import type { Exchange } from "../../src/exchange/exchange.ts";
import { Maker } from "../../src/market-maker/market-maker.ts";
import {
  MAKER,
  type MakerEvent,
  type MarketQuoters,
  openMarketQuoters,
} from "../../src/market-maker/market-quoters.ts";
import { QUOTED_MARKETS } from "../../src/market-maker/quoted-markets.ts";
import { amountOf, minus } from "../../src/money/amount.ts";
import type { AssetCode } from "../../src/money/asset.ts";
import { pause } from "../../src/std/pause.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { TESTER } from "../support/movements.ts";
import { type Relay, startRelay } from "../support/postgres/relay.ts";
import { startTestService, type TestCustomer, type TestService, urlOf } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let customer: TestCustomer;
let till: string;
beforeAll(async () => {
  service = await startTestService({ sandboxMaker: true });
  customer = await service.customer();
  till = await service.profile(customer, { USD: "10000000", BTC: "100" });
});
afterAll(() => service.close());

interface Book {
  readonly bids: readonly { price: string; amount: string }[];
  readonly asks: readonly { price: string; amount: string }[];
}

/** Without its sequence: how many rounds an engine makes of some orders is a matter of time. */
async function bookOf(at: TestService, market = "BTCUSD"): Promise<Book> {
  const { bids, asks } = (await at.call("GET", `/v2/markets/${market}/order-book`)).body;
  return { bids, asks };
}

const market = (side: "BUY" | "SELL", amount: string) => ({
  side,
  market: "BTCUSD",
  type: "MARKET",
  ...(side === "BUY" ? { quote_amount: amount } : { base_amount: amount }),
  await_fill_millis: 10_000,
});

async function trade(at: TestService, who: TestCustomer, profile: string, body: object) {
  return (await at.call("POST", `/v2/profiles/${profile}/orders`, { as: who.token, body })).body;
}

const isWhole = ({ bids, asks }: Book): boolean => bids.length === 5 && asks.length === 5;

test("when the service serves, every market that is made has five bids and five asks", async () => {
  for (const { market: code } of QUOTED_MARKETS) expect(isWhole(await bookOf(service, code)), code).toBe(true);
  const amounts = (levels: Book["bids"]) => levels.map(({ price, amount }) => `${amount} @ ${price}`);
  const { bids, asks } = await bookOf(service);
  expect(amounts(bids)).toEqual(["0.5 @ 99950", "1 @ 99900", "1.5 @ 99850", "2 @ 99800", "2.5 @ 99750"]);
  expect(amounts(asks)).toEqual(["0.5 @ 100050", "1 @ 100100", "1.5 @ 100150", "2 @ 100200", "2.5 @ 100250"]);
});

test("a newcomer's market orders are filled at once, and the price moves on", async () => {
  const bought = await trade(service, customer, till, market("BUY", "1000"));
  expect(bought).toMatchObject({ status: "FILLED", volume_weighted_average_price: "100050" });
  await until("the ladder has moved", async () => (await bookOf(service)).bids[0]?.price === "99900");
  const sold = await trade(service, customer, till, market("SELL", "0.01"));
  expect(sold).toMatchObject({ status: "FILLED", volume_weighted_average_price: "99900" });
  await expectBooksBalance(service.db.owner);
});

test("a side that was swept is there again, and a limit order above the price is filled bit by bit", async () => {
  const swept = await trade(service, customer, till, market("SELL", "9"));
  expect(["FILLED", "CANCELLED"]).toContain(swept.status);
  expect(Number(swept.amount_filled)).toBeGreaterThanOrEqual(7.5);
  await until("the ladder is whole again", async () => isWhole(await bookOf(service)));
  const { asks } = await bookOf(service);
  // What is left of it rests above where the maker wants to ask, and the maker comes to it.
  const high = { side: "BUY", market: "BTCUSD", type: "LIMIT", base_amount: "8", price: asks.at(-1)?.price };
  const { id } = await trade(service, customer, till, high);
  await until("the limit order is filled", async () => {
    const { body } = await service.call("GET", `/v2/profiles/${till}/orders/${id}`, { as: customer.token });
    return body.status === "FILLED";
  });
  await until("the ladder is whole again", async () => isWhole(await bookOf(service)));
  await expectBooksBalance(service.db.owner);
});

test("a second node stands by, and makes the markets once the first one has stopped", async () => {
  const first = await startTestService({ sandboxMaker: true });
  const shared = { databaseUrl: urlOf(first.db), migrateUrl: urlOf(first.db, "owner"), sandboxMaker: true };
  const second = await startTestService(shared);
  expect(await openOrders(first)).toBe(10 * QUOTED_MARKETS.length);
  await first.stop();
  // Nothing is withdrawn on stop, nor placed anew.
  expect(await openOrders(first)).toBe(10 * QUOTED_MARKETS.length);
  const taker = await second.customer();
  const profile = await second.profile(taker, { BTC: "10" });
  const sold = await trade(second, taker, profile, market("SELL", "7.5"));
  expect(sold.status).toBe("FILLED");
  await until("the second node fills the side again", async () => isWhole(await bookOf(second)));
  await expectBooksBalance(first.db.owner);
  await second.close();
  await first.close();
});

test("a market maker without the lease reads nothing and places nothing", async () => {
  const asked: string[] = [];
  const unused = (name: string) => async (): Promise<never> => {
    asked.push(name);
    throw new Error(name);
  };
  const exchange = { place: unused("place"), cancel: unused("cancel"), listOrders: unused("listOrders") };
  const parts = {
    ...service.service.core,
    transfers: { recordExternal: unused("recordExternal") },
    exchange,
    seed: "test",
  };
  const standby = new Maker({ ...parts, holder: "another process", log: ({ kind }) => void asked.push(kind) });
  await standby.start();
  await standby.stop();
  expect(asked).toEqual([]);
});

test("without the setting there is no maker, and orders of an earlier one are cancelled", async () => {
  const before = await startTestService({ sandboxMaker: true });
  await before.stop();
  const shared = { databaseUrl: urlOf(before.db), migrateUrl: urlOf(before.db, "owner") };
  const after = await startTestService(shared);
  await until("the books are empty", async () => (await openOrders(before)) === 0);
  expect(await bookOf(after)).toMatchObject({ bids: [], asks: [] });
  await expectBooksBalance(before.db.owner);
  await after.close();
  await before.close();
  const never = await startTestService();
  const [row] = await never.db.owner.rows<{ orders: number; customers: number }>(
    "select (select count(*)::int from orders) as orders, (select count(*)::int from customer) as customers",
  );
  expect(row).toEqual({ orders: 0, customers: 0 });
  await never.close();
});

test("the two orders of the tour trade with each other, with a coin of the sandbox's own too", async () => {
  const alone = await startTestService({ sandboxMaker: true, coin: "ACMEUSD" });
  const [seller, buyer] = [await alone.customer(), await alone.customer()];
  const TREASURY = await alone.profile(seller, { BTC: "1", ACMEUSD: "100" });
  const DESK = await alone.profile(buyer, { EUR: "100", USD: "100" });
  const party = { clientId: "", clientSecret: "", treasury: TREASURY, payouts: TREASURY, desk: DESK };
  const expected = [
    { coin: undefined, amount_filled: "0.001", volume_weighted_average_price: "80000" },
    { coin: "ACMEUSD", amount_filled: "40", volume_weighted_average_price: "1" },
  ];
  for (const { coin, ...filled } of expected) {
    const orders = tourSteps({ acme: party, borealis: party }, coin).filter(({ url }) => url.endsWith("/orders"));
    expect(orders.map(({ as }) => as)).toEqual(["ACME", "BOREALIS"]);
    const [ask, bid] = orders.map(({ json }) => ({ ...json, ref_id: alone.service.core.ids.next() }));
    const sold = await trade(alone, seller, TREASURY, ask ?? {});
    expect(await trade(alone, buyer, DESK, bid ?? {})).toMatchObject({ status: "FILLED", ...filled });
    const { body } = await alone.call("GET", `/v2/profiles/${TREASURY}/orders/${sold.id}`, { as: seller.token });
    expect(body.status).toBe("FILLED");
  }
  await expectBooksBalance(alone.db.owner);
  await alone.close();
});

async function openOrders({ db }: TestService): Promise<number> {
  const [row] = await db.owner.rows<{ count: number }>(
    "select count(*)::int as count from orders where customer_id = $1 and closed_at is null",
    [MAKER],
  );
  return row?.count ?? 0;
}

// By hand ------------------------------------------------------------------------------------------------------------

interface ByHand {
  readonly service: TestService;
  readonly quoters: MarketQuoters;
  readonly events: MakerEvent[];
  /** Other quoters of the same customer on the same database. */
  more(exchange?: Exchange): Promise<MarketQuoters>;
}

async function byHand(seed = "test", through?: (database: ClientConfig) => Promise<ClientConfig>): Promise<ByHand> {
  const made = await startTestService({}, through);
  const events: MakerEvent[] = [];
  const parts = { ...made.service.core, ...made.service, seed, log: (event: MakerEvent) => void events.push(event) };
  const more = (exchange: Exchange = made.service.exchange) => openMarketQuoters({ ...parts, exchange });
  return { service: made, quoters: await more(), events, more };
}

const settle = (quoters: MarketQuoters): Promise<void> =>
  until("it settles", async () => (await quoters.pass()) === "settled");

async function stored({ db }: TestService): Promise<unknown> {
  const [row] = await db.owner.rows(
    `select (select count(*)::int from orders) as orders, (select count(*)::int from posting) as postings,
            (select count(*)::int from transfer) as transfers, (select count(*)::int from order_cancel) as cancels`,
  );
  return row;
}

test("the same seed and trades give the same quotes; without trades nothing is written", async () => {
  const [one, two, other] = await Promise.all([byHand(), byHand(), byHand("another")]);
  const quotesOf = async ({ service: made, quoters }: ByHand): Promise<Book[]> => {
    const who = await made.customer();
    const profile = await made.profile(who, { USD: "1000000", BTC: "10" });
    const books: Book[] = [];
    for (const body of [market("BUY", "500"), market("SELL", "1"), market("BUY", "300000"), market("SELL", "0.25")]) {
      await settle(quoters);
      books.push(await bookOf(made));
      await trade(made, who, profile, body);
    }
    await settle(quoters);
    books.push(await bookOf(made));
    return books;
  };
  const [first, second, third] = await Promise.all([quotesOf(one), quotesOf(two), quotesOf(other)]);
  expect(first).toEqual(second);
  expect(first).not.toEqual(third);

  const before = await stored(one.service);
  for (let pass = 0; pass < 5; pass += 1) expect(await one.quoters.pass()).toBe("settled");
  // A process that comes after it finds everything in its place.
  const next = await one.more();
  for (let pass = 0; pass < 5; pass += 1) expect(await next.pass()).toBe("settled");
  expect(await stored(one.service)).toEqual(before);
  await expectBooksBalance(one.service.db.owner);
  for (const { service: made } of [one, two, other]) await made.close();
});

test("where two make the markets at once, one ladder is left of it", async () => {
  const { service: made, more } = await byHand();
  const { exchange } = made.service;
  // Neither places anything before both have looked at the books: not one sees what the other has placed.
  let bothHaveLooked = (): void => undefined;
  const meeting = new Promise<void>((resolve) => {
    bothHaveLooked = resolve;
  });
  const arrived = new Set<string>();
  const oneOfTwo = (name: string): Promise<MarketQuoters> => {
    const place: Exchange["place"] = async (...order) => {
      if (arrived.add(name).size === 2) bothHaveLooked();
      await meeting;
      return exchange.place(...order);
    };
    return more({ ...exchange, place });
  };
  const [one, rival] = [await oneOfTwo("one"), await oneOfTwo("rival")];
  await Promise.all([one.pass(), rival.pass()]);
  expect(await openOrders(made)).toBe(20 * QUOTED_MARKETS.length);
  // Only what it finds when it looks on the books tells it of the other's.
  const successor = await more();
  await settle(successor);
  expect(await openOrders(made)).toBe(10 * QUOTED_MARKETS.length);
  for (const { market: code } of QUOTED_MARKETS) expect(isWhole(await bookOf(made, code)), code).toBe(true);
  await expectBooksBalance(made.db.owner);
  await made.close();
});

test("a database that is away leaves nothing behind that is not found again", async () => {
  let relay: Relay | undefined;
  const { service: made, quoters } = await byHand("test", async (database) => {
    relay = await startRelay(database);
    return relay.connection;
  });
  await settle(quoters);
  const who = await made.customer();
  await trade(made, who, await made.profile(who, { BTC: "10" }), market("SELL", "7.5"));
  relay?.reject(true);
  relay?.cut();
  await expect(quoters.pass()).rejects.toThrow();
  relay?.reject(false);
  await until("it settles", async () => (await quoters.pass().catch(() => "failed")) === "settled");
  expect(await openOrders(made)).toBe(10 * QUOTED_MARKETS.length);
  expect(isWhole(await bookOf(made))).toBe(true);
  await expectBooksBalance(made.db.owner);
  await made.close();
  await relay?.close();
});

test("a cancel that fails is asked for again", async () => {
  const made = await startTestService();
  const { exchange } = made.service;
  let failures = 0;
  let isFailing = false;
  const cancel: Exchange["cancel"] = async (...order) => {
    failures += 1;
    if (failures === 1) throw new Error("it could not be stored");
    return exchange.cancel(...order);
  };
  // What was placed together with it is durable only when the failure is long known.
  const placements: Promise<unknown>[] = [];
  const place: Exchange["place"] = (...order) => {
    const placing = pause(isFailing ? 200 : 0).then(() => exchange.place(...order));
    placements.push(placing);
    return placing;
  };
  const failing = { ...made.service, exchange: { ...exchange, cancel, place } };
  const quoters = await openMarketQuoters({ ...made.service.core, ...failing, seed: "test", log: () => undefined });
  await settle(quoters);
  const who = await made.customer();
  await trade(made, who, await made.profile(who, { BTC: "1" }), market("SELL", "0.1"));
  isFailing = true;
  await expect(quoters.pass()).rejects.toThrow("it could not be stored");
  isFailing = false;
  await settle(quoters);
  await Promise.all(placements);
  expect(await openOrders(made)).toBe(10 * QUOTED_MARKETS.length);
  expect(isWhole(await bookOf(made))).toBe(true);
  await expectBooksBalance(made.db.owner);
  await made.close();
});

test("a scarce asset is deposited", async () => {
  const { service: made, quoters } = await byHand();
  await settle(quoters);
  const profile = await made.service.core.profiles.getDefault(MAKER);
  const [row] = await made.db.owner.rows<{ available: string }>(
    "select available from account where owner_id = $1 and asset = 'USD'",
    [profile.id],
  );
  const withdrawal = { customerId: MAKER, profileId: profile.id, asset: "USD" as AssetCode, details: {} };
  const amount = minus(amountOf(row?.available ?? "0"), amountOf("1"));
  await made.service.transfers.recordExternal(
    { ...withdrawal, direction: "DEBIT", type: "WIRE_WITHDRAWAL", amount },
    TESTER,
  );
  const who = await made.customer();
  const till = await made.profile(who, { BTC: "10" });
  expect(await trade(made, who, till, market("SELL", "7.5"))).toMatchObject({ status: "FILLED" });
  await settle(quoters);
  expect(isWhole(await bookOf(made))).toBe(true);
  const deposits = await made.service.transfers.list({ customerId: MAKER, order: "DESC", limit: 100 });
  expect(deposits.filter(({ asset, direction }) => asset === "USD" && direction === "CREDIT")).toHaveLength(2);
  await expectBooksBalance(made.db.owner);
  await made.close();
});

test("a market that rejects orders is skipped for a while, and the others continue", async () => {
  const { service: made, quoters, events } = await byHand();
  const { exchange } = made.service;
  await exchange.haltMarket("BTCUSD" as MarketCode, TESTER);
  await settle(quoters);
  expect(events).toEqual([{ kind: "order_rejected", market: "BTCUSD", reason: "market_unavailable" }]);
  expect(await openOrders(made)).toBe(10 * (QUOTED_MARKETS.length - 1));
  expect(await quoters.pass()).toBe("settled");
  expect(events).toHaveLength(1);
  await exchange.resumeMarket("BTCUSD" as MarketCode, TESTER);
  await until("it is tried again", async () => (await quoters.pass()) === "settled" && isWhole(await bookOf(made)));
  await expectBooksBalance(made.db.owner);
  await made.close();
});

test("the ledger verifies while the maker works", async () => {
  const report = await verifyAll(service.service.core.database);
  expect(report.checks.filter(({ first }) => first !== undefined)).toEqual([]);
});
