/**
 * With a synchronous standby an answer means that the standby has it. PostgreSQL commits a transaction whose wait for the
 * standby is interrupted, and says so in a warning at most: such a commit is not answered before a later one has reached
 * the standby.
 */
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { expectBooksBalance } from "../support/books.ts";
import { availableUsd, movement, newId, newProfiles, startLane } from "../support/movements.ts";
import { BLOWS, needsStandby, type Pair, startPair } from "../support/standby.ts";
import { until } from "../support/until.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let pair: Pair | undefined;
const thePair = (): Pair => {
  if (pair === undefined) throw new Error("there is no pair of servers");
  return pair;
};
beforeEach(async (context) => {
  await needsStandby(context);
  pair ??= await startPair();
  await pair.startStandby();
});
afterAll(async () => pair?.close());

/** What a promise has come to by now. */
function watched<Value>(promise: Promise<Value>) {
  const seen: { value?: Value; error?: unknown; isOver: boolean } = { isOver: false };
  promise.then(
    (value) => Object.assign(seen, { value, isOver: true }),
    (error: unknown) => Object.assign(seen, { error, isOver: true }),
  );
  return seen;
}

test.each(BLOWS)("a batch that the standby lacks after a %s is answered when the standby has it", async (blow) => {
  const servers = thePair();
  const database = servers.database();
  const { lane, fund } = await startLane(database);
  const [from, to] = newProfiles(2) as [never, never];
  await fund([from, to], "10");
  await servers.stopStandby();
  const claim = { customerId: newId(), refId: "1" };
  const outcome = lane.execute(movement({ from, to, amount: "4", claim }));
  const seen = watched(outcome);
  const batch = await servers.untilWaiting();
  await servers.strike(blow);
  // Either it is answered, or something else waits for the standby before it can be.
  await until("the lane has gone on", async () => {
    const waits = await servers.waiting().catch(() => []);
    return seen.isOver || waits.some((pid) => !batch.includes(pid));
  });
  expect(seen).toEqual({ isOver: false });
  await servers.startStandby();
  expect(await outcome).toMatchObject({ kind: "done" });
  expect(await availableUsd(servers.owner("standby"), [from, to])).toEqual(["6", "14"]);
  await lane.stop();
  await expectBooksBalance(servers.owner());
});
