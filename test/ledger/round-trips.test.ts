/** How often the database is asked while rows are locked: nothing else is decided meanwhile, so each round trip is everybody's. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Database } from "../../src/postgres/database.ts";
import type { Uuid } from "../../src/std/id.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  availableUsd,
  movement,
  newId,
  newProfile,
  newProfiles,
  startLane,
  type TestLane,
} from "../support/movements.ts";
import { type Relay, startRelay } from "../support/postgres/relay.ts";

const TIMES = 5;

let db: TestDatabase;
let relay: Relay;
let database: Database;
let ours: TestLane;
beforeAll(async () => {
  db = await testDatabase();
  relay = await startRelay(db.connection);
  database = new Database({ connection: relay.connection, maxConnections: 4, onIdleError: () => undefined });
  ours = await startLane(database);
});
afterEach(() => expectBooksBalance(db.owner));
afterAll(async () => {
  await ours.lane.stop();
  await database.close();
  await relay.close();
  await db.close();
});

/** The fewest of a few times, because the lane also looks after its lease and its clock. */
async function fewestRoundTrips(work: () => Promise<unknown>): Promise<number> {
  const found: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    const before = relay.roundTrips();
    await work();
    found.push(relay.roundTrips() - before);
  }
  return Math.min(...found);
}

const claim = () => ({ customerId: newId() as Uuid, refId: newId() });

test("what is decided under lock takes two round trips: to lock its rows, and to commit", async () => {
  const [ann, bob] = newProfiles(2);
  await ours.fund([ann, bob], "100");
  const pay = () => ours.lane.execute(movement({ from: ann, to: bob, amount: "1", lock: true, claim: claim() }));
  expect(await fewestRoundTrips(pay)).toBe(2);
  expect(await availableUsd(db.database, [ann, bob])).toEqual(["95", "105"]);
});

test("no more, when one of the rows does not exist yet", async () => {
  const ann = newProfile();
  await ours.fund([ann], "100");
  const pay = () => ours.lane.execute(movement({ from: ann, to: newProfile(), amount: "1", lock: true }));
  expect(await fewestRoundTrips(pay)).toBe(2);
  expect(await availableUsd(db.database, [ann])).toEqual(["95"]);
});
