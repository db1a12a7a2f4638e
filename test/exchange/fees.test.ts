/** Which rates a customer is given, and what counts towards them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Catalogue, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import { agreeFees, endAgreement, readTiers, setFeeTiers } from "../../src/catalogue/fee-schedule/fee-schedule.ts";
import type { FeeTier } from "../../src/catalogue/fee-tiers.ts";
import { Fees } from "../../src/exchange/customer-fees/customer-fees.ts";
import { createEngines, type Engines } from "../../src/exchange/engine/engines.ts";
import { amountOf, formatAmount, ZERO } from "../../src/money/amount.ts";
import type { Queryable } from "../../src/postgres/database.ts";
import { must } from "../../src/std/assert.ts";
import { type Clock, type Instant, systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { expectOrdersAddUp, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { ANY_TIME_MS, startLane, TESTER } from "../support/movements.ts";
import { until } from "../support/until.ts";

const NOON = Date.parse("2026-03-31T12:00:00Z");
const DAY = 24 * 60 * 60_000;

let db: TestDatabase;
let catalogue: Catalogue;
let time = NOON;
const clock: Clock = { now: () => time as Instant };

beforeAll(async () => {
  db = await testDatabase();
  catalogue = await loadCatalogue(db.database);
});
afterAll(async () => {
  catalogue.close();
  await db.close();
});

/** A customer who traded so much, by market and day: { "BTCUSD 2026-03-01": "100000" }. */
async function customer(traded: Readonly<Record<string, string>>): Promise<Trader["customerId"]> {
  const [row] = await db.owner.rows<{ id: Trader["customerId"] }>(
    "insert into customer (id, name, created_at) values (gen_random_uuid(), gen_random_uuid(), now()) returning id",
  );
  const { id } = must(row, "a customer was made");
  for (const [name, gross] of Object.entries(traded)) await trade(id, name, gross);
  return id;
}

async function trade(customerId: Trader["customerId"], name: string, gross: string): Promise<void> {
  const [market, day] = name.split(" ");
  await db.owner.rows(
    "insert into customer_volume (customer_id, day, market, gross, version, slot, batch) values ($1, $2, $3, $4, 1, 1, 1)",
    [customerId, day, market, gross],
  );
}

async function rates(fees: Fees, customerId: Trader["customerId"], market = "BTCUSD"): Promise<string> {
  const found = await fees.ratesOf(customerId, must(catalogue.findMarket(market), "the market is there"));
  return `${formatAmount(found.takerRate)} ${formatAmount(found.makerRebate)}`;
}

const newFees = (database: Queryable = db.database): Fees => new Fees({ database, catalogue, clock });

test.each([
  ["nothing", {}, "0.0035 0.0003"],
  ["a little less than the second tier asks for", { "BTCUSD 2026-03-31": "99999.999999999999999999" }, "0.0035 0.0003"],
  ["exactly what the second tier asks for", { "BTCUSD 2026-03-31": "100000" }, "0.0025 0.0003"],
  ["more than all tiers", { "BTCUSD 2026-03-30": "1000000000" }, "0.0008 0.0006"],
  ["it on several markets and days", { "ETHUSD 2026-03-31": "60000", "BTCUSD 2026-03-30": "40000" }, "0.0025 0.0003"],
  ["it against another asset", { "BTCEUR 2026-03-31": "1000000" }, "0.0035 0.0003"],
  ["it on the first of the 30 days", { "BTCUSD 2026-03-02": "100000" }, "0.0025 0.0003"],
  ["it the day before", { "BTCUSD 2026-03-01": "1000000" }, "0.0035 0.0003"],
])("the rates of a customer that has traded %s", async (_name, traded, expected) => {
  time = NOON;
  expect(await rates(newFees(), await customer(traded))).toBe(expected);
});

test("a day counts until midnight of the thirtieth day", async () => {
  const id = await customer({ "BTCUSD 2026-03-02": "100000" });
  const fees = newFees();
  time = NOON + DAY / 2 - 1;
  expect(await rates(fees, id)).toBe("0.0025 0.0003");
  const report = await fees.feesOf(id);
  expect(new Date(report.since).toISOString()).toBe("2026-03-02T00:00:00.000Z");
  time = NOON + DAY / 2;
  expect((await fees.feesOf(id)).since).toBe(report.since + DAY);
  expect(await rates(fees, id)).toBe("0.0035 0.0003");
});

test("a customer's rates are read again after three seconds, and whenever the customer lists its fees", async () => {
  time = NOON;
  const id = await customer({});
  const fees = newFees();
  expect(await rates(fees, id)).toBe("0.0035 0.0003");
  await trade(id, "BTCUSD 2026-03-31", "100000");
  time += 2_999;
  expect(await rates(fees, id)).toBe("0.0035 0.0003");
  time += 1;
  expect(await rates(fees, id)).toBe("0.0025 0.0003");
  await trade(id, "ETHUSD 2026-03-31", "900000");
  const { markets } = await fees.feesOf(id);
  expect(markets.map(({ market }) => market)).toEqual(catalogue.listMarkets().map(({ code }) => code));
  expect(markets.find(({ market }) => market === "LTCUSD")).toEqual({
    market: "LTCUSD",
    quote: "USD",
    takerRate: 18n * 10n ** 14n,
    makerRebate: 4n * 10n ** 14n,
    isAgreed: false,
    thirtyDayGross: 10n ** 24n,
    tiers: catalogue.findMarket("LTCUSD")?.feeTiers,
  });
  expect(await rates(fees, id)).toBe("0.0018 0.0004");
});

test("rates follow from tiers and agreements of one time, also before the catalogue is read again", async () => {
  time = NOON;
  const id = await customer({});
  const [former] = await readTiers(db.database, "BTCUSD" as never);
  const rate = (text: string): FeeTier => ({
    ...must(former, "it has tiers"),
    takerRate: amountOf(text),
    makerRebate: ZERO,
  });
  const agreed = { customerId: id, takerRate: amountOf("0.002"), makerRebate: ZERO };
  const tiers = await readTiers(db.database, "BTCUSD" as never);
  await agreeFees(db.owner, "BTCUSD" as never, agreed, TESTER);
  const fees = newFees();
  expect(await rates(fees, id)).toBe("0.002 0");
  await setFeeTiers(db.owner, "BTCUSD" as never, [rate("0.001")], TESTER);
  await endAgreement(db.owner, "BTCUSD" as never, id, TESTER);
  time += 3_000;
  // Until then it was 0.002, and from then on 0.001.
  expect(await rates(fees, id)).toBe("0.001 0");
  expect((await fees.feesOf(id)).markets.find(({ market }) => market === "BTCUSD")).toMatchObject({
    isAgreed: false,
    tiers: [rate("0.001")],
  });
  await setFeeTiers(db.owner, "BTCUSD" as never, tiers, TESTER);
});

test("a clock that steps back does not extend the life of the cache", async () => {
  time = NOON;
  const id = await customer({});
  const fees = newFees();
  await rates(fees, id);
  await trade(id, "BTCUSD 2026-03-31", "100000");
  time = NOON - 1;
  expect(await rates(fees, id)).toBe("0.0025 0.0003");
});

test("concurrent orders share one read, and a failed read is not cached", async () => {
  time = NOON;
  const id = await customer({ "BTCUSD 2026-03-31": "100000" });
  let reads = 0;
  let isAway = true;
  const fees = newFees({
    rows: (text, values) => {
      reads += 1;
      return isAway ? Promise.reject(new Error("away")) : db.database.rows(text, values);
    },
  });
  await expect(rates(fees, id)).rejects.toThrow("away");
  isAway = false;
  reads = 0;
  const found = await Promise.all(Array.from({ length: 50 }, () => rates(fees, id)));
  expect(new Set(found)).toEqual(new Set(["0.0025 0.0003"]));
  // One of the volumes, one of tiers and agreements.
  expect(reads).toBe(2);
});

/** A market whose clock is set as a test wants. */
class LateMarket {
  readonly #books: TestDatabase;
  readonly #exchange: TestExchange;
  readonly #engines: Engines;
  readonly #ahead: { ms: number };
  #buyer!: Trader;
  #seller!: Trader;

  private constructor(books: TestDatabase, exchange: TestExchange, engines: Engines, ahead: { ms: number }) {
    this.#books = books;
    this.#exchange = exchange;
    this.#engines = engines;
    this.#ahead = ahead;
  }

  static async open(instant: number): Promise<LateMarket> {
    const books = await testDatabase();
    const ahead = { ms: 0 };
    const late: Clock = { now: () => (systemClock.now() + ahead.ms) as Instant };
    const { lane } = await startLane(books.database, { clock: late, toleranceMs: ANY_TIME_MS });
    const exchange = new TestExchange(books, lane, await loadCatalogue(books.database));
    const listMarkets = () => [exchange.market("ETHUSD")];
    const parts = { database: books.database, lane, clock: late, catalogue: { listMarkets }, holder: "late" };
    const market = new LateMarket(books, exchange, createEngines({ ...parts, log: () => undefined }), ahead);
    market.itIs(instant);
    market.#engines.start();
    market.#buyer = await market.trader("buyer");
    market.#seller = await market.trader("seller");
    return market;
  }

  itIs(instant: number): void {
    this.#ahead.ms = instant - systemClock.now();
  }

  trader(name: string): Promise<Trader> {
    return this.#exchange.trader(name, "100000 USD, 100 ETH");
  }

  async trade(): Promise<void> {
    await this.#exchange.place(this.#seller, { market: "ETHUSD", side: "SELL", base: "0.01", price: "1000" });
    await this.#exchange.place(this.#buyer, { market: "ETHUSD", side: "BUY", base: "0.01", price: "1000" });
  }

  /** The days on which both of them have traded. */
  async days(): Promise<string[]> {
    const of = async ({ customerId }: Trader): Promise<string[]> => {
      const rows = await this.#books.database.rows<{ day: string }>(
        "select day from customer_volume where customer_id = $1 order by day",
        [customerId],
      );
      return rows.map(({ day }) => day);
    };
    const [bought, sold] = [await of(this.#buyer), await of(this.#seller)];
    expect(bought).toEqual(sold);
    return bought;
  }

  /** Until every order is taken. */
  done(): Promise<void> {
    return this.#exchange.untilDone();
  }

  async close(): Promise<void> {
    await this.done();
    await this.#engines.stop();
    await expectOrdersAddUp(this.#books.database);
    await expectBooksBalance(this.#books.database);
    await this.#exchange.close();
  }
}

const MIDNIGHT = Date.parse("2031-06-01T00:00:00Z");
const TEN_MINUTES = 10 * 60_000;

test("each match counts for both parties on the day of its time, also across midnight", async () => {
  const market = await LateMarket.open(MIDNIGHT - TEN_MINUTES);
  await market.trade();
  await market.done();
  expect(await market.days()).toEqual(["2031-05-31"]);
  market.itIs(MIDNIGHT - 300);
  await until("the market has traded on the next day", async () => {
    await market.trade();
    await market.done();
    return (await market.days()).length === 2;
  });
  expect(await market.days()).toEqual(["2031-05-31", "2031-06-01"]);
  await market.close();
});

test("a market continues when a clock that was ahead over midnight is set back, and match times never decrease", async () => {
  const market = await LateMarket.open(MIDNIGHT - TEN_MINUTES);
  await market.trade();
  await market.done();
  market.itIs(MIDNIGHT + TEN_MINUTES);
  await market.trader("somebody");
  market.itIs(MIDNIGHT - TEN_MINUTES);
  await market.trade();
  await market.done();
  expect(await market.days()).toEqual(["2031-05-31"]);
  market.itIs(MIDNIGHT + TEN_MINUTES);
  await market.trade();
  await market.done();
  market.itIs(MIDNIGHT - TEN_MINUTES);
  await market.trade();
  await market.done();
  expect(await market.days()).toEqual(["2031-05-31", "2031-06-01"]);
  await market.close();
});
