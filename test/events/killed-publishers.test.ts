/**
 * Publishers that are killed at any moment, two at once, while two slots are written and one of them changes hands: every
 * fact is one event, in order, without a gap.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import { readEventLag } from "../../src/events/event-lag.ts";
import type { CustomerEvent } from "../../src/events/events.ts";
import { Publisher } from "../../src/events/publishing/publisher.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { amountOf } from "../../src/money/amount.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { pause } from "../../src/std/pause.ts";
import { WakeSignal } from "../../src/std/wake-signal.ts";
import { createTransfers } from "../../src/transfers/transfers.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { eventsOf } from "../support/events.ts";
import { newId, startLane, TESTER } from "../support/movements.ts";
import { until } from "../support/until.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";

const KILLS = Number(process.env.TEST_PUBLISHER_KILLS ?? 25);

let db: TestDatabase;
let books: SmallBooks;
beforeEach(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
});
afterEach(async () => {
  await books.close();
  await db.close();
});

interface Running {
  readonly publisher: Publisher;
  kill(): void;
}

/** A publisher as a process of its own has it. Its lease ends soon after it was killed. */
function startPublisher(): Running {
  const database = db.another();
  const publisher = new Publisher({
    database,
    clock: systemClock,
    clockToleranceMs: 2_000,
    keptMs: 86_400_000,
    holder: newId(),
    committed: new WakeSignal(),
    log: () => undefined,
    leaseMs: 200,
  });
  publisher.start();
  const kill = (): void => {
    database.cutOff();
    void publisher.stop();
  };
  return { publisher, kill };
}

test("publishers are killed at any moment, and lose, double or mix up nothing", async () => {
  const { database } = db;
  const [customer] = await database.rows<{ id: CustomerId }>("select id from customer");
  const customerId = customer?.id as CustomerId;
  const idOf = (name: string) => [...books.names].find(([, known]) => known === name)?.[0] as ProfileId;
  const [treasury, shop, vault] = [idOf("treasury"), idOf("shop"), idOf("vault")];
  const catalogue = await loadCatalogue(database);
  let isMoving = true;
  const request = {
    customerId,
    kind: "internal",
    from: { profileId: treasury },
    to: { profileId: shop },
    asset: "USD",
    amount: amountOf("0.01"),
    refId: undefined,
  } as const;

  /** Writes in a slot of its own: transfers, and the next version of a profile that all of them change. */
  const move = async (): Promise<void> => {
    const { lane } = await startLane(db.another());
    const parts = { database, lane, catalogue, ids: new IdSource(), clock: systemClock };
    const [transfers, profiles] = [createTransfers(parts), createProfiles(parts)];
    for (let round = 0; isMoving; round += 1) {
      await Promise.all([
        transfers.move(request, TESTER),
        profiles.update(customerId, vault, { description: `round ${round}` }, TESTER),
      ]);
    }
    await lane.stop();
  };
  /** A slot that changes hands. */
  const moveInTurns = async (): Promise<void> => {
    while (isMoving) {
      const { lane } = await startLane(db.another());
      const transfers = createTransfers({ database, lane, catalogue, ids: new IdSource() });
      for (let round = 0; round < 10; round += 1) {
        await transfers.move(request, TESTER);
      }
      await lane.stop();
    }
  };
  const moving = [move(), move(), moveInTurns()];

  const running = [startPublisher(), startPublisher()];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await pause(20 + Math.random() * 80);
    running.shift()?.kill();
    running.push(startPublisher());
  }
  isMoving = false;
  await Promise.all(moving);
  await until("all is published", async () => (await readEventLag(database)) === 0, 60);
  for (const { publisher } of running) await publisher.stop();

  const events = eventsOf(database);
  const received: CustomerEvent[] = [];
  for (let after = 0n, isLast = false; !isLast; ) {
    const page = await events.list({ customerId, after, limit: 100 });
    received.push(...page.events);
    [after, isLast] = [page.searchedTo, page.isLast];
  }
  expect(received.map(({ number }) => Number(number))).toEqual(received.map((_, place) => place + 1));
  const versions = received.filter(({ type }) => type === "profile.updated").map(({ version }) => Number(version));
  expect(versions.length).toBeGreaterThan(4);
  expect(versions).toEqual(versions.map((_, place) => (versions[0] ?? 0) + place));
  const { checks } = await verifyAll(database);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  await expectBooksBalance(database);
  catalogue.close();
});
