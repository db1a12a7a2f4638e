import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../../test/support/database.ts";
import type { Instant } from "../std/clock.ts";
import { SigningKeys } from "./signing-keys.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

let testing: TestDatabase;
let now = Date.parse("2026-11-21T09:30:00.000Z") as Instant;

beforeAll(async () => {
  testing = await testDatabase();
});

afterAll(() => testing.close());

beforeEach(() => testing.owner.rows("delete from signing_key"));

const node = (database = testing.database): SigningKeys => new SigningKeys({ database, clock: { now: () => now } });

async function startedNode(): Promise<SigningKeys> {
  const keys = node();
  await keys.follow();
  return keys;
}

function passTime(ms: number): void {
  now = (now + ms) as Instant;
}

const kidsOf = (keys: SigningKeys): (string | undefined)[] => keys.published().map((jwk) => jwk.kid);

test("nodes that start at the same moment agree on one key, which signs at once", async () => {
  const nodes = Array.from({ length: 8 }, () => node());
  await Promise.all(nodes.map((each) => each.follow()));
  expect(new Set(nodes.map((each) => each.signing().kid)).size).toBe(1);
  expect(await testing.database.rows("select 1 from signing_key")).toHaveLength(1);
});

test("a node that starts later takes the key that is there", async () => {
  const first = await startedNode();
  expect((await startedNode()).signing().kid).toBe(first.signing().kid);
});

test("what is published has no private half", async () => {
  const [jwk] = (await startedNode()).published();
  expect(Object.keys(jwk ?? {}).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
});

test("a new key is published first, signs after ten seconds, and the old one verifies until its last token is gone", async () => {
  const keys = await startedNode();
  const old = keys.signing().kid;
  passTime(MINUTE);
  const fresh = await keys.rotate();
  const other = await startedNode();
  expect(kidsOf(other)).toEqual([old, fresh]);
  passTime(10 * SECOND - 1);
  expect([keys.signing().kid, other.signing().kid]).toEqual([old, old]);
  passTime(1);
  expect([keys.signing().kid, other.signing().kid]).toEqual([fresh, fresh]);
  passTime(3_600 * SECOND);
  await keys.follow();
  expect(keys.has(old)).toBe(true);
  passTime(10 * MINUTE);
  await keys.follow();
  expect(kidsOf(keys)).toEqual([fresh]);
});

test("a rotation in the first seconds leaves the first key signing until the new one is known", async () => {
  const keys = await startedNode();
  const first = keys.signing().kid;
  const second = await keys.rotate();
  expect(keys.signing().kid).toBe(first);
  passTime(10 * SECOND);
  expect(keys.signing().kid).toBe(second);
});

test("a rotation removes the keys whose last token is gone from the database", async () => {
  const keys = await startedNode();
  const second = await keys.rotate();
  passTime(3_600 * SECOND + 10 * MINUTE);
  const third = await keys.rotate();
  const rows = await testing.database.rows<{ kid: string }>("select kid from signing_key order by created_at");
  expect(rows.map((row) => row.kid)).toEqual([second, third]);
});

test("rotations that meet make one new key together, and both say which", async () => {
  const [one, another] = [await startedNode(), await startedNode()];
  const { rotations } = await testing.owner.transaction(async (transaction) => {
    await transaction.rows("select 1 from signing_key for update");
    const rotations = Promise.all([one.rotate(), another.rotate()]);
    await vi.waitFor(async () => expect(await waitingForLocks()).toBe(2), { timeout: 10_000 });
    return { rotations };
  });
  const [first, second] = await rotations;
  expect(first).toBe(second);
  expect(await testing.database.rows("select 1 from signing_key")).toHaveLength(2);
});

async function waitingForLocks(): Promise<number> {
  const rows = await testing.owner.rows(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length;
}

test("the service's own role may rotate", async () => {
  expect(await node(testing.another()).rotate()).toMatch(/^[\w-]{43}$/);
});

test("a key that another node made is found at once when a token names it", async () => {
  const keys = await startedNode();
  const made = await (await startedNode()).rotate();
  expect(keys.has(made)).toBe(false);
  expect((await keys.find(made))?.kid).toBe(made);
});

test("tokens that name unknown keys make a node ask the database once a second at most", async () => {
  const database = testing.another();
  const keys = node(database);
  await keys.follow();
  const rows = vi.spyOn(database, "rows");
  const sinceStart = vi.spyOn(performance, "now");
  for (const at of [5_000, 5_001, 5_999]) {
    sinceStart.mockReturnValue(at);
    expect(await keys.find("unknown")).toBeUndefined();
  }
  expect(rows).toHaveBeenCalledTimes(1);
  sinceStart.mockReturnValue(6_000);
  await keys.find("unknown");
  expect(rows).toHaveBeenCalledTimes(2);
  sinceStart.mockRestore();
});

test("a key whose row is deleted is revoked: the next reading forgets it and makes another", async () => {
  const keys = await startedNode();
  const revoked = keys.signing().kid;
  await testing.owner.rows("delete from signing_key");
  await keys.follow();
  expect(keys.has(revoked)).toBe(false);
  expect(keys.signing().kid).not.toBe(revoked);
});
