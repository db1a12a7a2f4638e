import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type TestDatabase, testDatabase } from "../../../test/support/database.ts";
import { TESTER } from "../../../test/support/movements.ts";
import { countBlocked } from "../../../test/support/postgres/rows-in-the-way.ts";
import { ClockFault, type Instant } from "../../std/clock.ts";
import { KeyEncryption } from "./key-encryption.ts";
import { SigningKeys } from "./signing-keys.ts";
import { listKeys, retireCurrentKey } from "./store.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

let testing: TestDatabase;
let now = Date.parse("2026-11-21T09:30:00.000Z") as Instant;

beforeAll(async () => {
  testing = await testDatabase();
});

afterAll(() => testing.close());

beforeEach(() => testing.owner.rows("delete from signing_key"));

let fault: string | undefined;

const node = (database = testing.database, ...encryptionKeys: Uint8Array[]): SigningKeys =>
  new SigningKeys({
    database,
    clock: {
      now: () => now,
      get fault() {
        return fault;
      },
    },
    encryption: new KeyEncryption(encryptionKeys),
    replacedAfterMs: 90 * DAY,
  });

/** What a running node does every two seconds. */
async function follow(keys: SigningKeys): Promise<void> {
  await keys.read();
  await keys.renew();
}

async function startedNode(): Promise<SigningKeys> {
  const keys = node();
  await follow(keys);
  return keys;
}

function passTime(ms: number): void {
  now = (now + ms) as Instant;
}

const kidsOf = (keys: SigningKeys): (string | undefined)[] => keys.published().map((jwk) => jwk.kid);

test("nodes that start at the same moment agree on one key, which signs at once", async () => {
  const nodes = Array.from({ length: 8 }, () => node());
  await Promise.all(nodes.map((each) => follow(each)));
  expect(new Set(nodes.map((each) => each.signing().kid)).size).toBe(1);
  expect(await testing.database.rows("select 1 from signing_key")).toHaveLength(1);
});

test("while the clock is known to be wrong no key is renewed, erased or removed", async () => {
  const keys = await startedNode();
  await keys.rotate(TESTER);
  const before = await testing.database.rows("select * from signing_key order by kid");
  const right = now;
  passTime(365 * DAY);
  fault = "the clock of this node is off";
  await follow(keys);
  expect(kidsOf(keys)).toHaveLength(2);
  expect(await testing.database.rows("select * from signing_key order by kid")).toEqual(before);
  await expect(keys.rotate(TESTER)).rejects.toThrow(new ClockFault(fault));
  expect(await testing.database.rows("select * from signing_key order by kid")).toEqual(before);
  [now, fault] = [right, undefined];
});

test("a key is revoked whatever the clock says, and replaced when the time is known", async () => {
  const keys = await startedNode();
  const [kid = ""] = kidsOf(keys);
  fault = "the clock of this node is off";
  expect(await keys.revoke(kid, TESTER)).toBe("revoked");
  expect(kidsOf(keys)).toEqual([]);
  fault = undefined;
  await follow(keys);
  expect(kidsOf(keys)).toEqual([expect.not.stringMatching(kid)]);
});

test("a node that starts later takes the key that is there", async () => {
  const first = await startedNode();
  expect((await startedNode()).signing().kid).toBe(first.signing().kid);
});

test("published keys have no private half", async () => {
  const [jwk] = (await startedNode()).published();
  expect(Object.keys(jwk ?? {}).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
});

test("a new key is published first, signs after ten seconds, and the old one verifies until its last token has expired", async () => {
  const keys = await startedNode();
  const old = keys.signing().kid;
  passTime(MINUTE);
  const fresh = await keys.rotate(TESTER);
  const other = await startedNode();
  expect(kidsOf(other)).toEqual([old, fresh]);
  passTime(10 * SECOND - 1);
  expect([keys.signing().kid, other.signing().kid]).toEqual([old, old]);
  passTime(1);
  expect([keys.signing().kid, other.signing().kid]).toEqual([fresh, fresh]);
  passTime(3_600 * SECOND);
  await follow(keys);
  expect(keys.has(old)).toBe(true);
  passTime(10 * MINUTE);
  await follow(keys);
  expect(kidsOf(keys)).toEqual([fresh]);
});

test("a rotation in the first seconds leaves the first key signing until the new one is known", async () => {
  const keys = await startedNode();
  const first = keys.signing().kid;
  const second = await keys.rotate(TESTER);
  expect(keys.signing().kid).toBe(first);
  passTime(10 * SECOND);
  expect(keys.signing().kid).toBe(second);
});

test("a rotation removes keys whose last token has expired from the database, and no others", async () => {
  const keys = await startedNode();
  const first = keys.signing().kid;
  const second = await keys.rotate(TESTER);
  passTime(3_599 * SECOND + 10 * MINUTE);
  const third = await keys.rotate(TESTER);
  expect((await storedKeys()).map(({ kid }) => kid)).toEqual([first, second, third]);
  passTime(1);
  const fourth = await keys.rotate(TESTER);
  expect((await storedKeys()).map(({ kid }) => kid)).toEqual([second, third, fourth]);
});

test("a key is retired once, and listed among those of its algorithm only", async () => {
  const keys = await startedNode();
  const first = keys.signing().kid;
  await keys.rotate(TESTER);
  await testing.owner.rows(
    `insert into signing_key (kid, algorithm, private_jwk, public_jwk, created_at, retired_at)
     select 'other', 'EdDSA', private_jwk, public_jwk, created_at, retired_at from signing_key where kid = $1`,
    [first],
  );
  const before = await listKeys(testing.database, "ES256");
  expect(before.map(({ kid }) => kid)).toEqual(kidsOf(keys));
  expect((await listKeys(testing.database, "EdDSA")).map(({ kid }) => kid)).toEqual(["other"]);
  await retireCurrentKey(testing.database, first, (now + MINUTE) as Instant);
  expect(await listKeys(testing.database, "ES256")).toEqual(before);
});

test("rotations that meet make one new key together, and both say which", async () => {
  const [one, another] = [await startedNode(), await startedNode()];
  const { rotations } = await testing.owner.transaction(async (transaction) => {
    await transaction.rows("select 1 from signing_key for update");
    const rotations = Promise.all([one.rotate(TESTER), another.rotate(TESTER)]);
    await vi.waitFor(async () => expect(await countBlocked(testing)).toBe(2), { timeout: 10_000 });
    return { rotations };
  });
  const [first, second] = await rotations;
  expect(first).toBe(second);
  expect(await testing.database.rows("select 1 from signing_key")).toHaveLength(2);
});

test("a rotation replaces the key that is current by now, also on a node that has not read it", async () => {
  const [one, another] = [await startedNode(), await startedNode()];
  const second = await another.rotate(TESTER);
  const third = await one.rotate(TESTER);
  expect(third).not.toBe(second);
  expect(await testing.database.rows("select kid from signing_key where retired_at is null")).toEqual([{ kid: third }]);
});

test("a read that begins beside another one sees what was written since that one began", async () => {
  const database = testing.another();
  const keys = node(database);
  await follow(keys);
  const other = await startedNode();
  const rows = database.rows.bind(database);
  let goOn = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const reading = vi.spyOn(database, "rows").mockImplementationOnce(async (text, values) => {
    const earlier = await rows(text, values);
    await held;
    return earlier;
  });
  const found = keys.find("unknown");
  await vi.waitFor(() => expect(reading).toHaveBeenCalled());
  const fresh = await other.rotate(TESTER);
  const read = keys.read();
  goOn();
  await read;
  expect([await found, kidsOf(keys)]).toEqual([undefined, [expect.any(String), fresh]]);
});

test("the service's own role may rotate", async () => {
  expect(await node(testing.another()).rotate(TESTER)).toMatch(/^[\w-]{43}$/);
});

test("a key that another node made is found at once when tokens name it", async () => {
  const keys = await startedNode();
  const made = await (await startedNode()).rotate(TESTER);
  expect(keys.has(made)).toBe(false);
  const found = await Promise.all([keys.find(made), keys.find(made)]);
  expect(found.map((key) => key?.kid)).toEqual([made, made]);
});

test("tokens that name unknown keys make a node ask the database once a second at most", async () => {
  const database = testing.another();
  const keys = node(database);
  await follow(keys);
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

test("a revoked key is dropped by every node at its next read, and another signs at once", async () => {
  const keys = await startedNode();
  const other = await startedNode();
  const revoked = keys.signing().kid;
  expect(await keys.revoke(revoked, TESTER)).toBe("revoked");
  expect(await keys.revoke(revoked, TESTER)).toBe("key_not_found");
  await follow(other);
  for (const each of [keys, other]) {
    expect(each.has(revoked)).toBe(false);
    expect(kidsOf(each)).toEqual([each.signing().kid]);
  }
  expect(keys.signing().kid).toBe(other.signing().kid);
});

test("where all older keys are erased, the key that replaces a revoked one signs at once", async () => {
  const keys = await startedNode();
  await keys.rotate(TESTER);
  passTime(MINUTE);
  await follow(keys);
  await keys.revoke(keys.signing().kid, TESTER);
  const { kid } = keys.signing();
  expect(keys.list().map((key) => [key.kid === kid, key.signs !== undefined])).toEqual([
    [false, false],
    [true, true],
  ]);
});

test("a revoked key that was retired leaves the current one in place", async () => {
  const keys = await startedNode();
  const retired = keys.signing().kid;
  const current = await keys.rotate(TESTER);
  expect(await keys.revoke(retired, TESTER)).toBe("revoked");
  expect(kidsOf(keys)).toEqual([current]);
  expect(keys.signing().kid).toBe(current);
});

test("a key is replaced when it is of age, once by all nodes together, and its tokens stay valid", async () => {
  const [keys, other] = [await startedNode(), await startedNode()];
  const old = keys.signing().kid;
  passTime(90 * DAY - 1);
  await follow(keys);
  expect(kidsOf(keys)).toEqual([old]);
  passTime(1);
  await Promise.all([follow(keys), follow(other)]);
  const [, fresh = "", ...more] = kidsOf(keys);
  expect({ more, others: kidsOf(other) }).toEqual({ more: [], others: [old, fresh] });
  expect([keys.signing().kid, other.signing().kid]).toEqual([old, old]);
  passTime(10 * SECOND);
  expect([keys.signing().kid, other.signing().kid]).toEqual([fresh, fresh]);
  expect(keys.has(old)).toBe(true);
});

test("a node that slept past the life of its key is served by the key that others made meanwhile", async () => {
  const sleeper = await startedNode();
  const other = await startedNode();
  passTime(91 * DAY);
  await follow(other);
  passTime(DAY);
  await follow(sleeper);
  expect(kidsOf(sleeper)).toEqual([other.list().at(-1)?.kid]);
  expect(await storedKeys()).toHaveLength(2);
});

interface StoredRow {
  readonly kid: string;
  readonly text: string;
  readonly private_jwk: Record<string, unknown>;
}

const storedKeys = (): Promise<StoredRow[]> =>
  testing.database.rows(
    "select kid, private_jwk, private_jwk::text as text from signing_key order by created_at, retired_at nulls last",
  );

test("a minute after its retirement the private half of a key is erased, and its tokens stay valid", async () => {
  const keys = await startedNode();
  const old = keys.signing().kid;
  await keys.rotate(TESTER);
  passTime(MINUTE - 1);
  await follow(keys);
  expect((await storedKeys()).map(({ private_jwk }) => "d" in private_jwk)).toEqual([true, true]);
  passTime(1);
  await follow(keys);
  expect((await storedKeys()).map(({ private_jwk }) => "d" in private_jwk)).toEqual([false, true]);
  await follow(keys);
  const started = await startedNode();
  for (const each of [keys, started]) {
    expect(each.list().map(({ kid, signs }) => [kid === old, signs === undefined])).toEqual([
      [true, true],
      [false, false],
    ]);
    expect(each.has(old)).toBe(true);
  }
});

test("with the private half of an older key no other one is erased: nodes may still sign with it", async () => {
  const keys = await startedNode();
  await keys.rotate(TESTER);
  passTime(MINUTE - 1);
  await keys.rotate(TESTER);
  passTime(1);
  await follow(keys);
  expect((await storedKeys()).map(({ private_jwk }) => "d" in private_jwk)).toEqual([false, true, true]);
});

const CABINET = new Uint8Array(32).fill(7);
const NEXT_CABINET = new Uint8Array(32).fill(8);

test("with an encryption key no private half lies in the database, and every node with that key signs", async () => {
  const keys = node(testing.database, CABINET);
  await follow(keys);
  const [row] = await storedKeys();
  expect(Object.keys(row?.private_jwk ?? {}).sort()).toEqual(["ciphertext", "iv", "protected", "tag"]);
  const other = node(testing.another(), CABINET);
  await follow(other);
  expect(other.signing().kid).toBe(keys.signing().kid);
  expect(other.list()[0]?.encrypted).toBe(true);
});

test("without the encryption key, or with another one, a node says so and signs nothing", async () => {
  const keys = node(testing.database, CABINET);
  await follow(keys);
  const { kid } = keys.signing();
  await expect(node().read()).rejects.toThrow(
    `the signing key ${kid} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY is not set`,
  );
  await expect(node(testing.database, NEXT_CABINET).read()).rejects.toThrow(
    `the signing key ${kid} is encrypted, and PARBOOK_KEY_ENCRYPTION_KEY is not the key that it was encrypted with`,
  );
});

test("a key in clear is used until it is replaced by an encrypted one, and so is one under a former encryption key", async () => {
  await startedNode();
  const first = node(testing.database, CABINET);
  await follow(first);
  await first.rotate(TESTER);
  const second = node(testing.database, NEXT_CABINET, CABINET);
  await follow(second);
  expect(second.list().map(({ encrypted }) => encrypted)).toEqual([false, true]);
  await second.rotate(TESTER);
  passTime(MINUTE);
  await follow(second);
  // What is left of the former ones is public: the former encryption key can be forgotten.
  const last = node(testing.database, NEXT_CABINET);
  await follow(last);
  expect(last.list().map(({ encrypted, signs }) => [encrypted, signs !== undefined])).toEqual([
    [false, false],
    [false, false],
    [true, true],
  ]);
});

test("an encrypted key that was given the name of another one is not taken for it", async () => {
  const keys = node(testing.database, CABINET);
  await follow(keys);
  await testing.owner.rows("update signing_key set kid = 'another'");
  await expect(node(testing.database, CABINET).read()).rejects.toThrow("the signing key another is encrypted");
});
