/** Seeded runs: many orders and cancels at once, with an engine that loses answers and lanes that meet. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Engine, type EngineEvent } from "../../src/exchange/engine/engine.ts";
import type { RoundEffect } from "../../src/exchange/engine/round-changes.ts";
import type { OrderId } from "../../src/exchange/order.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { Unavailable } from "../../src/ledger/decision.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { systemClock } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectOrdersAddUp, TestExchange, type Trader } from "../support/exchange/orders.ts";
import { someOrder } from "../support/exchange/some-orders.ts";
import { startLane } from "../support/movements.ts";
import { type Random, seeded } from "../support/random.ts";
import { until } from "../support/until.ts";

const MARKETS = ["ETHUSD", "LTCUSD"] as const;

let exchange: TestExchange;
/** The engines' lane is another process's: intake and fills meet on the same accounts. */
let otherLane: Lane;

beforeAll(async () => {
  exchange = await TestExchange.open();
  ({ lane: otherLane } = await startLane(exchange.db.another(), { holder: "engines" }));
});

afterEach(async () => {
  await expectBooksBalance(exchange.db.database);
  await expectOrdersAddUp(exchange.db.database);
});

afterAll(async () => {
  await otherLane.stop();
  await exchange.close();
});

interface Storm {
  readonly random: Random;
  /** Percent of the rounds. */
  readonly loses: number;
  readonly maxMetAtOnce: number;
}

function startEngines({ random, loses, maxMetAtOnce }: Storm) {
  const events: EngineEvent[] = [];
  const effects: RoundEffect[] = [];
  let rounds = 0;
  const execute: Lane["execute"] = async (command) => {
    rounds += 1;
    // The third in any case: on a busy machine a round has many orders, and there are few.
    const isThird = rounds === 3;
    if (loses > 0 && random(100) < loses) throw new Unavailable("not taken in");
    const outcome = await otherLane.execute(command);
    if (loses > 0 && (isThird || random(100) < loses)) throw new Unavailable("the answer is lost");
    return outcome;
  };
  const engines = MARKETS.map(
    (market) =>
      new Engine(() => exchange.market(market), {
        database: exchange.db.database,
        lane: { execute },
        clock: systemClock,
        holder: "engines",
        leaseMs: 15_000,
        bounds: maxMetAtOnce === 1 ? { maxMetAtOnce, maxExpired: 1, maxExpiredBeside: 0 } : {},
        log: (event) => events.push(event),
        publish: (round) => effects.push(...round.effects),
      }),
  );
  for (const engine of engines) engine.start();
  return { engines, events, effects };
}

const hashes = (engines: readonly Engine[]): (string | undefined)[] => engines.map((engine) => engine.stateHash());

/** A busy machine has been seen to take longer than others' waits. */
const PATIENCE_S = 60;

const serve = (engines: readonly Engine[]) =>
  until("the markets are served", () => engines.every(({ state }) => state === "serving"), PATIENCE_S);

test.each([
  { seed: 1, loses: 0, maxMetAtOnce: 1 },
  { seed: 2, loses: 5, maxMetAtOnce: 100 },
  { seed: 3, loses: 10, maxMetAtOnce: 1 },
])(
  "a storm of orders leaves a ledger that balances, and a book like the one that is built anew: seed $seed",
  async ({ seed, loses, maxMetAtOnce }) => {
    const random = seeded(seed);
    const traders: Trader[] = [];
    const vaults: ProfileId[] = [];
    for (let i = 0; i < 5; i += 1) {
      const trader = await exchange.trader(`trader ${i}`, "1000000 USD, 1000 ETH, 1000 LTC");
      vaults.push(await exchange.profile(trader.customerId, "NORMAL"));
      traders.push(trader);
    }
    const place = (): Promise<OrderId> => {
      const who = random(5);
      // Every second order pays into another profile of its customer.
      const recipient = random(2) === 0 ? {} : { recipientProfileId: vaults[who] as ProfileId };
      return exchange.place(traders[who] as Trader, { ...someOrder(MARKETS, random), ...recipient });
    };
    const { engines, events, effects } = startEngines({ random, loses, maxMetAtOnce });
    const looking = setInterval(() => {
      for (const engine of engines) engine.wake();
    }, 20);
    const placed: OrderId[] = [];
    for (let batch = 0; batch < 40; batch += 1) {
      placed.push(...(await Promise.all(Array.from({ length: 10 }, place))));
      for (let i = 0; i < 2; i += 1) await exchange.askToCancel(placed[random(placed.length)] as OrderId);
    }
    await exchange.untilDone();
    // No order is left that will expire while the books are compared.
    const open = "select from orders where time_in_force = 'GTT' and closed_at is null limit 1";
    const hasExpired = async () => (await exchange.db.database.rows(open)).length === 0;
    await until("what expires has expired", hasExpired, PATIENCE_S);
    await serve(engines);
    const live = hashes(engines);
    clearInterval(looking);
    for (const engine of engines) await engine.stop();
    const rebuilt = startEngines({ random, loses: 0, maxMetAtOnce }).engines;
    await serve(rebuilt);
    expect(hashes(rebuilt)).toEqual(live);
    for (const engine of rebuilt) await engine.stop();
    const failures = events.filter((event) => event.kind === "market_failed");
    if (loses === 0) expect(failures.map(({ error }) => error.message)).toEqual([]);
    else expect(failures.length).toBeGreaterThan(0);
    const pauses = effects.filter(({ kind }) => kind === "paused").length;
    if (maxMetAtOnce === 1) expect(pauses).toBeGreaterThan(20);
    else expect(pauses).toBe(0);
    const [row] = await exchange.db.database.rows<{ matches: string }>("select count(*) as matches from execution");
    expect(Number(row?.matches)).toBeGreaterThan(100);
  },
);
