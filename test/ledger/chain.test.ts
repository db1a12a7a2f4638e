/** What a batch rests on is checked when it is saved, and a batch that fails takes those behind it with it. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { profileTable } from "../../src/customers/profiles/store.ts";
import { accountKey, entry, journal, type ProfileId } from "../../src/ledger/accounts.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { change, keyOf, readKeys } from "../../src/ledger/tables.ts";
import { amountOf, negative } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import { must } from "../../src/std/assert.ts";
import type { Clock, Instant } from "../../src/std/clock.ts";
import { reject } from "../../src/std/result.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  ANY_TIME_MS,
  availableUsd,
  movement,
  newId,
  newProfile,
  newProfiles,
  startLane,
  TESTER,
  type TestLane,
} from "../support/movements.ts";
import { insertProfile, openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
let ours: TestLane;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());
beforeEach(async () => {
  ours = await startLane(db.database, { holder: "ours" });
});
afterEach(async () => {
  await ours.lane.stop();
  await expectBooksBalance(db.owner);
});

const profileOf = (id: ProfileId) => keyOf(profileTable, id);

/** Makes a profile that the lane remembers. */
async function knownProfile(): Promise<ProfileId> {
  const id = newProfile();
  await insertProfile(db.owner, id);
  await ours.lane.execute(movement({ from: "world", to: newProfile(), amount: "1", rests: [profileOf(id)] }));
  return id;
}

/** Runs `during` while the next batch of the lane waits for the profile's row, which is moved then. */
async function moveWhileSaving(profile: ProfileId, during: () => void): Promise<void> {
  const other = await openTransaction(db.owner);
  await other.query("select 1 from profile where id = $1 for update", [profile]);
  during();
  await untilBlocked(db);
  await other.query("update profile set version = version + 1 where id = $1", [profile]);
  await other.query("commit");
  await other.end();
}

test("a failed batch fails the next one in flight, even if it concerns other accounts", async () => {
  const profile = await knownProfile();
  const [a, b, c, d] = newProfiles(4);
  await ours.fund([a, b, c, d], "10");
  const outcomes: Promise<unknown>[] = [];
  const other = await openTransaction(db.owner);
  await other.query("select 1 from profile where id = $1 for update", [profile]);
  outcomes.push(ours.lane.execute(movement({ from: a, to: b, amount: "1", rests: [profileOf(profile)] })));
  await untilBlocked(db);
  outcomes.push(ours.lane.execute(movement({ from: c, to: d, amount: "1" })));
  // Sent behind the first on the same connection before the row is moved.
  await until("both are in flight", () => ours.lane.report().inFlight === 2);
  await other.query("update profile set version = version + 1 where id = $1", [profile]);
  await other.query("commit");
  await other.end();
  expect(await Promise.all(outcomes)).toMatchObject([{ kind: "done" }, { kind: "done" }]);
  await until("the lane has recovered", () => ours.events.some(({ kind }) => kind === "recovered"));
  expect(ours.events).toMatchObject([
    { kind: "batch_failed", error: { constraint: "rows_changed_meanwhile" } },
    { kind: "recovered", committed: 0, again: 2 },
  ]);
  expect(await availableUsd(db.database, [a, b, c, d])).toEqual(["9", "11", "9", "11"]);
});

test("a row that changes between decision and save makes the rule decide again", async () => {
  const profile = await knownProfile();
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10");
  const seen: bigint[] = [];
  const send = movement({ from: a, to: b, amount: "1", rests: [profileOf(profile)] });
  const looking: typeof send = {
    ...send,
    decide: (state, now) => {
      const version = state.get(profileTable, profile)?.version ?? 0n;
      seen.push(version);
      return version === 1n ? send.decide(state, now) : reject({ code: "insufficient_funds" });
    },
  };
  let outcome: Promise<unknown> | undefined;
  await moveWhileSaving(profile, () => {
    outcome = ours.lane.execute(looking);
  });
  expect(await outcome).toMatchObject({ kind: "rejected" });
  expect(seen).toEqual([1n, 2n]);
  expect(await availableUsd(db.database, [a, b])).toEqual(["10", "0"]);
});

test("a rejection is returned only if the rows that it depends on are as it saw them, and waits for nobody", async () => {
  const profile = await knownProfile();
  const look: Command<string, { code: "not_yet" }> = {
    queueKey: newId(),
    caller: TESTER,
    dependsOn: [profileOf(profile)],
    decide: (state) =>
      state.get(profileTable, profile)?.version === 2n ? accept("now it is", {}) : reject({ code: "not_yet" }),
  };
  const other = await openTransaction(db.owner);
  await other.query("update profile set version = version + 1 where id = $1", [profile]);
  expect(await ours.lane.execute(look)).toEqual({ kind: "rejected", rejection: { code: "not_yet" } });
  await other.query("commit");
  await other.end();
  expect(await ours.lane.execute(look)).toEqual({ kind: "done", value: "now it is" });
});

test("rows that a batch changes and rows that it checks are locked in one order", async () => {
  const [low, high] = [await knownProfile(), await knownProfile()].sort();
  const both: Command<string, never> = {
    queueKey: newId(),
    caller: TESTER,
    dependsOn: [profileOf(low as ProfileId), profileOf(high as ProfileId)],
    decide: (state) => {
      const row = must(state.get(profileTable, high as string), "it is known");
      return accept("renamed", { states: [change(profileTable, { ...row, description: "changed" })] });
    },
  };
  const other = await openTransaction(db.owner);
  await other.query("select 1 from profile where id = $1 for update", [low]);
  const outcome = ours.lane.execute(both);
  await untilBlocked(db);
  // It holds nothing yet that comes behind what it waits for.
  const { rows } = await other.query("select 1 from profile where id = $1 for update nowait", [high]);
  expect(rows).toHaveLength(1);
  await other.query("commit");
  await other.end();
  expect(await outcome).toEqual({ kind: "done", value: "renamed" });
});

test("a command that the database rejects fails alone, and the others of its batch take effect once", async () => {
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10");
  const id = newId();
  const send = movement({ from: a, to: b, amount: "1" });
  // The rule is content, the database is not: more than it holds of anything.
  const poison: typeof send = {
    ...movement({ from: "world", to: newProfile(), amount: "1" }),
    decide: () => {
      const amount = amountOf(`${10n ** 29n}`);
      return accept(id, {
        journals: [journal(id, "deposit", [entry("world", USD, negative(amount)), entry(a, USD, amount)])],
      });
    },
    dependsOn: [accountKey("world", USD), accountKey(a, USD)],
  };
  const outcomes = await Promise.allSettled(
    [send, send, poison, send].map((command) => ours.lane.execute({ ...command, queueKey: newId() })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[2]).toMatchObject({ reason: { code: "23514" } });
  expect(await availableUsd(db.database, [a, b])).toEqual(["7", "3"]);
});

test("a command whose rule throws fails alone, and leaves nothing in the cache", async () => {
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10");
  const send = movement({ from: a, to: b, amount: "1" });
  const id = newId();
  // The first entry is taken in before the second one overdraws.
  const overdraws: typeof send = {
    ...send,
    decide: () => {
      const amount = amountOf("100");
      return accept(id, {
        journals: [journal(id, "transfer", [entry(b, USD, amount), entry(a, USD, negative(amount))])],
      });
    },
  };
  const outcomes = await Promise.allSettled(
    [send, overdraws, send].map((command) => ours.lane.execute({ ...command, queueKey: newId() })),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(outcomes[1]).toMatchObject({ reason: { name: "AssertionFailed" } });
  expect(await availableUsd(db.database, [a, b])).toEqual(["8", "2"]);
});

test("a row that another process has changed is locked before decisions for a while", async () => {
  const profile = await knownProfile();
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10");
  const send = (): Promise<unknown> =>
    ours.lane.execute(movement({ from: a, to: b, amount: "1", rests: [profileOf(profile)] }));
  let first: Promise<unknown> | undefined;
  await moveWhileSaving(profile, () => {
    first = send();
  });
  await first;
  const failures = ours.events.filter(({ kind }) => kind === "batch_failed").length;
  let second: Promise<unknown> | undefined;
  await moveWhileSaving(profile, () => {
    second = send();
  });
  expect(await second).toMatchObject({ kind: "done" });
  expect(ours.events.filter(({ kind }) => kind === "batch_failed").length).toBe(failures);
});

test("ten seconds after another process has changed it, a row is not locked before decisions any more", async () => {
  let aheadMs = 0;
  const clock: Clock = { now: () => (Date.now() + aheadMs) as Instant };
  const database = db.another();
  const { lane, fund } = await startLane(database, { clock, toleranceMs: ANY_TIME_MS });
  const profile = await knownProfile();
  const [a, b] = newProfiles(2);
  await fund([a, b], "1000");
  const send = () => lane.execute(movement({ from: a, to: b, amount: "1", rests: [profileOf(profile)] }));
  await send();
  let moved: Promise<unknown> | undefined;
  await moveWhileSaving(profile, () => {
    moved = send();
  });
  await moved;
  const transactions = vi.spyOn(database, "transaction");
  const isLocked = async (): Promise<boolean> => {
    transactions.mockClear();
    await send();
    return transactions.mock.calls.length > 0;
  };
  expect(await isLocked()).toBe(true);
  aheadMs = 10_000;
  await until("it is not locked any more", async () => !(await isLocked()));
  await lane.stop();
});

test("rows read under lock replace rows read earlier without one", async () => {
  const profile = await knownProfile();
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10");
  const send = movement({ from: a, to: b, amount: "1", rests: [profileOf(profile)], lock: true });
  const seen: (bigint | undefined)[] = [];
  let outcome: Promise<unknown> | undefined;
  await moveWhileSaving(profile, () => {
    outcome = ours.lane.execute({
      ...send,
      decide: (state, now) => {
        seen.push(state.get(profileTable, profile)?.version);
        return send.decide(state, now);
      },
    });
  });
  expect(await outcome).toMatchObject({ kind: "done" });
  expect(seen).toEqual([2n]);
});

/*
 * Without the order of locks this fails: a statement that locks tables by name locks accounts first. It holds the account
 * while it waits for the profile, and the holder of the profile's lock waits for the account.
 */
test("a batch locks accounts last, as commands that lock rows first do", async () => {
  const profile = await knownProfile();
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10");
  const other = await openTransaction(db.owner);
  await other.query("select 1 from profile where id = $1 for update", [profile]);
  const outcome = ours.lane.execute(movement({ from: a, to: b, amount: "1", rests: [profileOf(profile)] }));
  await untilBlocked(db);
  const locked = await other.query("select 1 from account where owner_id = $1 for update nowait", [a]);
  expect(locked.rowCount).toBe(1);
  await other.query("commit");
  await other.end();
  expect(await outcome).toMatchObject({ kind: "done" });
});

test("rows of one table are locked in the order of their keys, whatever order they are named and stored in", async () => {
  const [first, second, third] = newProfiles(3);
  for (const profile of [third, second, first]) await ours.fund([profile], "1");
  const other = await openTransaction(db.owner);
  await other.query("select 1 from account where owner_id = $1 for update", [second]);
  const keys = [third, first, second].map((profile) => accountKey(profile, USD));
  const locking = db.database.transaction((transaction) => readKeys(transaction, keys, 1, "locked"));
  await untilBlocked(db);
  const free = await other.query("select owner_id from account where owner_id = any($1) for update skip locked", [
    [first, third],
  ]);
  expect(free.rows).toEqual([{ owner_id: third }]);
  await other.query("commit");
  await other.end();
  expect((await locking).map(({ key }) => key)).toEqual([first, second, third].map((profile) => `${profile}/USD`));
});
