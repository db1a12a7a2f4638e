/** Many at once on the same accounts: through one lane and through two. */
import assert from "node:assert";
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { profileKey } from "../../src/customers/profiles/profiles.ts";
import { accountKey, entry, journal, type Part, type ProfileId } from "../../src/ledger/accounts.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { BOUNDS, LIMITS } from "../../src/ledger/writer/lane-options.ts";
import { type Amount, amountOf, formatAmount, negative } from "../../src/money/amount.ts";
import { USD } from "../../src/money/asset.ts";
import { must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { availableUsd, movement, newId, newProfiles, startLane, TESTER, type TestLane } from "../support/movements.ts";
import {
  insertProfile,
  openTransaction,
  standStillOnceLocked,
  untilBlocked,
} from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
let ours: TestLane;
let theirs: TestLane;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());
beforeEach(async () => {
  const bounds = { leastLockWaitMs: BOUNDS.leastLockWaitMs };
  ours = await startLane(db.database, { holder: "ours", bounds });
  theirs = await startLane(db.another(), { holder: "theirs", bounds });
});
afterEach(async () => {
  await ours.lane.stop();
  await theirs.lane.stop();
  await expectBooksBalance(db.owner);
});

test("of two commands that each would empty an account, one takes effect", async () => {
  for (const lanes of [
    [ours, ours],
    [ours, theirs],
  ]) {
    const [from, one, other] = newProfiles(3);
    await ours.fund([from], "10");
    const outcomes = await Promise.all(
      [one, other].map((to, i) => lanes[i]?.lane.execute(movement({ from, to, amount: "10" }))),
    );
    expect(outcomes.map((outcome) => outcome?.kind).sort()).toEqual(["done", "rejected"]);
    expect((await availableUsd(db.database, [from, one, other])).sort()).toEqual(["0", "0", "10"]);
  }
});

test("an account can be emptied to exactly zero, and one unit more is rejected", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from], "0.000000000000000003");
  const unit = formatAmount(1n as Amount);
  const send = (): Promise<{ kind: string }> => ours.lane.execute(movement({ from, to, amount: unit }));
  const outcomes = await Promise.all([send(), send(), send(), send()]);
  expect(outcomes.map(({ kind }) => kind)).toEqual(["done", "done", "done", "rejected"]);
  expect(await availableUsd(db.database, [from, to])).toEqual(["0", "0.000000000000000003"]);
});

test("transfers from A to B and from B to A at full speed through one lane all succeed", async () => {
  const [a, b] = newProfiles(2);
  await ours.fund([a, b], "1000");
  const outcomes = await Promise.all(
    Array.from({ length: 2_000 }, (_, i) =>
      ours.lane.execute(movement({ from: i % 2 === 0 ? a : b, to: i % 2 === 0 ? b : a, amount: "1" })),
    ),
  );
  expect(outcomes.filter(({ kind }) => kind !== "done")).toEqual([]);
  expect(await availableUsd(db.database, [a, b])).toEqual(["1000", "1000"]);
  expect(ours.events).toEqual([]);
});

const LOCK_ROW = "select 1 from account where owner_id = $1 and $2::uuid is not null for update";
const CLAIM_REF_ID = "insert into claim (customer_id, kind, ref_id, id) values ($2, 'order', 'held', $1)";

test.each([
  ["a row that is decided on as it is in memory", LOCK_ROW, {}],
  ["a row that is locked before it is decided on", LOCK_ROW, { lock: true }],
  ["a ref_id", CLAIM_REF_ID, {}],
  ["a ref_id of a command whose rows are locked first", CLAIM_REF_ID, { lock: true }],
] as const)("while another process holds %s, as with a large batch, others are decided", async (_, hold, asked) => {
  const [held, to, from, other] = newProfiles(4);
  const claim = { customerId: newId(), refId: "held" };
  await ours.fund([held, from], "100");
  const voids = () => db.owner.rows("select slot, n from batch where void order by slot, n");
  const before = await voids();
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query(hold, [held, claim.customerId]);
  const waiting = ours.lane.execute(movement({ from: held, to, amount: "1", claim, ...asked }));
  await untilBlocked(db);
  let longestMs = 0;
  for (let i = 0; i < 20; i += 1) {
    const startedMs = performance.now();
    expect((await ours.lane.execute(movement({ from, to: other, amount: "1" }))).kind).toBe("done");
    longestMs = Math.max(longestMs, performance.now() - startedMs);
  }
  // If they waited for it too, until the lane gave up, it would be three seconds.
  expect(longestMs).toBeLessThan(1_500);
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await waiting).kind).toBe("done");
  expect(await voids()).toEqual(before);
});

/** As two nodes with one large batch after the other do: one always waits, and it has waited before. @returns what ends it */
function holdAllTheTime(owners: readonly ProfileId[], holdMs: number): () => Promise<unknown> {
  let goOn = true;
  const hog = async (owner: ProfileId): Promise<void> => {
    while (goOn) {
      const inTheWay = await openTransaction(db.owner);
      await inTheWay.query("select from account where owner_id = $1 for update", [owner]);
      await pause(holdMs);
      await inTheWay.query("rollback");
      await inTheWay.end();
    }
  };
  const hogs = owners.flatMap((owner) => [hog(owner), hog(owner)]);
  return () => {
    goOn = false;
    return Promise.all(hogs);
  };
}

test("a row that others hold all the time, one behind the other, is had in its turn, and others are decided meanwhile", async () => {
  const [held, to, from, other] = newProfiles(4);
  await ours.fund([held, from], "100");
  const letGo = holdAllTheTime([held], 300);
  await untilBlocked(db);
  const outcomes = Array.from({ length: 10 }, () => ours.lane.execute(movement({ from: held, to, amount: "1" })));
  let areDone = false;
  const all = Promise.all(outcomes).finally(() => {
    areDone = true;
  });
  const startedMs = performance.now();
  let longestMs = 0;
  while (!areDone) {
    const sentMs = performance.now();
    expect((await ours.lane.execute(movement({ from, to: other, amount: "0.01" }))).kind).toBe("done");
    longestMs = Math.max(longestMs, performance.now() - sentMs);
  }
  const tookMs = performance.now() - startedMs;
  await letGo();
  expect((await all).map(({ kind }) => kind)).toEqual(Array(10).fill("done"));
  expect(tookMs).toBeLessThan(5_000);
  expect(longestMs).toBeLessThan(1_500);
});

test("what others only read, as the row of a market in a batch in flight, is not waited for by who reads it too", async () => {
  const [read, from, to] = newProfiles(3);
  await ours.fund([from], "11");
  await insertProfile(db.owner, read);
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from profile where id = $1 for share", [read]);
  const rests = [{ ...profileKey(read), reads: "all of it" as const }];
  for (const more of [{}, { lock: true as const }]) {
    const outcomes = Array.from({ length: 5 }, () =>
      ours.lane.execute(movement({ from, to, amount: "1", rests, ...more })),
    );
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(Array(5).fill("done"));
  }
  // A batch that waits for another row, and is refused, does not take it for a row that is held.
  const held = await openTransaction(db.owner);
  await held.query("select from account where owner_id = $1 for update", [from]);
  const waiting = ours.lane.execute(movement({ from, to: read, amount: "1", rests }));
  await untilBlocked(db);
  const other = ours.lane.execute(movement({ from: "world", to: read, amount: "1", rests }));
  expect((await other).kind).toBe("done");
  await held.query("rollback");
  await held.end();
  expect((await waiting).kind).toBe("done");
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect(await availableUsd(db.database, [from, to, read])).toEqual(["0", "10", "2"]);
});

test("what only has to be as it was when it was decided on, as the market of an order, is not locked, but compared", async () => {
  const [read, from, to] = newProfiles(3);
  await ours.fund([from], "10");
  await insertProfile(db.owner, read);
  const rests = [{ ...profileKey(read), reads: "as it was" as const }];
  for (const more of [{}, { lock: true as const }]) {
    const inTheWay = await openTransaction(db.owner);
    await inTheWay.query("select from account where owner_id = $1 for update", [from]);
    const waiting = ours.lane.execute(movement({ from, to, amount: "1", rests, ...more }));
    await untilBlocked(db);
    // At once, and also when each has been decided on what was there before.
    await db.owner.rows("update profile set version = version + 1 where id = $1", [read]);
    await inTheWay.query("rollback");
    await inTheWay.end();
    expect((await waiting).kind).toBe("done");
  }
  const refused = () => ours.events.filter((event) => event.kind === "batch_failed" && event.isContention).length;
  const before = refused();
  await db.owner.rows("update profile set version = version + 1 where id = $1", [read]);
  expect((await ours.lane.execute(movement({ from: "world", to, amount: "1", rests }))).kind).toBe("done");
  expect(refused()).toBe(before + 1);
});

test("who waits in line for a row holds none that was free", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from account where owner_id = $1 for update", [to]);
  const waiting = ours.lane.execute(movement({ from, to, amount: "1", lock: true }));
  await untilBlocked(db);
  await db.owner.rows("select from account where owner_id = $1 for update nowait", [from]);
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await waiting).kind).toBe("done");
});

test("a command that needs many rows, each of which is held again and again, gets them all", async () => {
  const profiles = newProfiles(6);
  const [to] = newProfiles(1);
  await ours.fund(profiles, "10");
  const letGo = holdAllTheTime(profiles, 150);
  await untilBlocked(db, 4);
  const rests = profiles.map((owner) => accountKey(owner, USD));
  const from = must(profiles[0], "six profiles");
  const startedMs = performance.now();
  const outcome = await ours.lane.execute(movement({ from, to, amount: "1", lock: true, rests }));
  const tookMs = performance.now() - startedMs;
  await letGo();
  expect(outcome.kind).toBe("done");
  expect(tookMs).toBeLessThan(5_000);
});

test("two lanes that contend for the same accounts fail no command", async () => {
  const profiles = newProfiles(6);
  await ours.fund(profiles, "1000");
  /** Each client sends one after the other, as clients do. */
  const client = async (number: number): Promise<string[]> => {
    const kinds: string[] = [];
    for (let i = 0; i < 20; i += 1) {
      const from = must(profiles[(number + i) % 6], "a profile each");
      const to = must(profiles[(number + 3 * i + 1 + (i % 2)) % 6], "a profile each");
      if (from === to) continue;
      const { lane } = number % 2 === 0 ? ours : theirs;
      kinds.push((await lane.execute(movement({ from, to, amount: "1" }))).kind);
    }
    return kinds;
  };
  const kinds = (await Promise.all(Array.from({ length: 20 }, (_, number) => client(number)))).flat();
  expect(new Set(kinds)).toEqual(new Set(["done"]));
  const sum = (await availableUsd(db.database, profiles)).reduce((total, amount) => total + Number(amount), 0);
  expect(sum).toBe(6_000);
  expect([...ours.events, ...theirs.events].some(({ kind }) => kind === "command_failed")).toBe(false);
});

test("a batch that is refused because another lane was first costs no session, and its number is used again", async () => {
  const [[one, other], [to, apart, aside]] = [newProfiles(2), newProfiles(3)];
  await ours.fund([one, other, apart], "10");
  const sessions = async () =>
    (
      await db.owner.rows<{ pid: number }>(
        `select pid from pg_stat_activity where datname = current_database() and application_name = 'parbook lane'`,
      )
    )
      .map(({ pid }) => pid)
      .sort();
  const voids = () => db.owner.rows("select slot, n from batch where void order by slot, n");
  await until("those of the lanes before are gone", async () => (await sessions()).length === 2);
  const before = [await sessions(), await voids()];
  // Each is refused once: then its rows are locked before they are decided on.
  for (const from of [one, other]) {
    await ours.lane.execute(movement({ from, to: aside, amount: "1" }));
    await theirs.lane.execute(movement({ from, to, amount: "1" }));
    // Decided on what it had before, and the one behind it on a batch that never was.
    const first = ours.lane.execute(movement({ from, to: aside, amount: "1" }));
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const second = ours.lane.execute(movement({ from: apart, to: aside, amount: "1" }));
    expect([(await first).kind, (await second).kind]).toEqual(["done", "done"]);
  }
  const recovered = () => ours.events.filter(({ kind }) => kind === "recovered");
  await until("both are noted", () => recovered().length === 2);
  expect(recovered()).toEqual(
    Array(2).fill({ kind: "recovered", slot: expect.any(Number), committed: 0, again: expect.any(Number), voided: 0 }),
  );
  expect([await sessions(), await voids()]).toEqual(before);
  expect(await availableUsd(db.database, [one, other, to, apart, aside])).toEqual(["7", "7", "2", "8", "6"]);
});

test("a row that another lane has changed once is soon decided on as it is in memory again", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from], "100");
  await ours.lane.execute(movement({ from, to, amount: "1" }));
  await theirs.lane.execute(movement({ from: "world", to: from, amount: "1" }));
  const locking = vi.spyOn(db.database, "transaction");
  onTestFinished(() => locking.mockRestore());
  for (let i = 0; i < 20; i += 1) await ours.lane.execute(movement({ from, to, amount: "1" }));
  expect(locking.mock.calls.length).toBeGreaterThanOrEqual(1);
  expect(locking.mock.calls.length).toBeLessThanOrEqual(2 + LIMITS.timesUnchanged);
  // For as long as it goes on, each is locked first, so that none is refused.
  locking.mockClear();
  for (let i = 0; i < 10; i += 1) {
    await theirs.lane.execute(movement({ from: "world", to: from, amount: "1" }));
    await ours.lane.execute(movement({ from, to, amount: "1" }));
  }
  expect(locking.mock.calls.length).toBeGreaterThanOrEqual(10);
  expect(ours.events.filter(({ kind }) => kind === "recovered")).toHaveLength(2);
});

test("a rule that throws on what was in memory, in line, is tried once more with all locked, and fails alone then", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from, to], "10");
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from account where owner_id = $1 for update", [from]);
  const good = ours.lane.execute(movement({ from, to, amount: "1", lock: true }));
  const bad = { ...movement({ from, to, amount: "1" }), decide: vi.fn(() => assert.fail("a bug")) };
  await untilBlocked(db);
  const failing = expect(ours.lane.execute(bad)).rejects.toThrow("a bug");
  await inTheWay.query("rollback");
  await inTheWay.end();
  expect((await good).kind).toBe("done");
  await failing;
  expect(bad.decide.mock.calls.length).toBe(2);
  expect(await availableUsd(db.database, [from, to])).toEqual(["9", "11"]);
});

test("what another lane has done while a command waited for its locks is found before it is decided, and refuses no batch", async () => {
  const [[from, other], [to]] = [newProfiles(2), newProfiles(1)];
  await ours.fund([from, other], "10");
  const claim = { customerId: newId(), refId: "twin" };
  const inTheWay = await openTransaction(db.owner);
  await inTheWay.query("select from account where owner_id = $1 for update", [from]);
  const voids = () => db.owner.rows("select slot, n from batch where void order by slot, n");
  const before = await voids();
  const waiting = ours.lane.execute(movement({ from, to, amount: "1", claim, lock: true }));
  await untilBlocked(db);
  const first = await theirs.lane.execute(movement({ from: other, to, amount: "2", claim }));
  await inTheWay.query("commit");
  await inTheWay.end();
  expect(await waiting).toEqual({ kind: "exists", id: (first as { value?: unknown }).value });
  expect(await voids()).toEqual(before);
  expect(await availableUsd(db.database, [from, other, to])).toEqual(["10", "8", "2"]);
});

test("a lane that stands still while its rows are locked holds up another for little more than a second", async () => {
  const [from, to] = newProfiles(2);
  await ours.fund([from], "10");
  await theirs.lane.stop();
  const database = db.another();
  const { stopped, goOn } = standStillOnceLocked(database);
  theirs = await startLane(database, { holder: "theirs" });
  const late = theirs.lane.execute(movement({ from, to, amount: "1", lock: true }));
  await stopped;
  const began = performance.now();
  const [mine] = await Promise.allSettled([ours.lane.execute(movement({ from, to, amount: "1" }))]);
  goOn();
  expect(mine).toMatchObject({ value: { kind: "done" } });
  expect(performance.now() - began).toBeLessThan(2_500);
  expect((await late).kind).toBe("done");
  expect(await availableUsd(db.database, [from, to])).toEqual(["8", "2"]);
});

test("a hold of another lane can be released here, although the cached rows lack it", async () => {
  const [profile] = newProfiles(1);
  await ours.fund([profile], "10");
  const shift = (from: Part, to: Part): Command<string, never> => ({
    queueKey: "house",
    caller: TESTER,
    dependsOn: [accountKey(profile, USD)],
    decide: () => {
      const amount = amountOf("4");
      const entries = [entry(profile, USD, negative(amount), from), entry(profile, USD, amount, to)];
      return accept("shifted", { journals: [journal(newId(), "order_held", entries)] });
    },
  });
  await theirs.lane.execute(shift("available", "trading"));
  expect(await ours.lane.execute(shift("trading", "available"))).toEqual({ kind: "done", value: "shifted" });
  // What is not there on locked rows either is a bug, and is reported as one.
  await expect(ours.lane.execute(shift("trading", "available"))).rejects.toThrow("trading of");
  expect(ours.events.map(({ kind }) => kind)).toEqual(["command_failed"]);
  expect(await availableUsd(db.database, [profile])).toEqual(["10"]);
});
