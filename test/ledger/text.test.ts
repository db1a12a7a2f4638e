/** Text goes into the database through array literals of the lane's own making, and into the hash of its batch. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { findProfile, type Profile, profileTable } from "../../src/customers/profiles/store.ts";
import { postingTable } from "../../src/ledger/accounts.ts";
import { accept, type Command } from "../../src/ledger/decision.ts";
import { change, columnsOf, digestOf } from "../../src/ledger/tables.ts";
import { addedRows, contentDigest, linkHash } from "../../src/ledger/writer/batch.ts";
import type { Instant } from "../../src/std/clock.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { movement, newId, newProfile, newProfiles, startLane, TESTER, type TestLane } from "../support/movements.ts";

let db: TestDatabase;
let ours: TestLane;
let customerId: CustomerId;
beforeAll(async () => {
  db = await testDatabase();
  ours = await startLane(db.database);
  customerId = newId() as unknown as CustomerId;
  await db.owner.rows("insert into customer (id, name, created_at) values ($1, 'Acme', now())", [customerId]);
});
afterAll(async () => {
  await ours.lane.stop();
  await expectBooksBalance(db.owner);
  await db.close();
});

const NASTY = [
  "",
  " ",
  "plain",
  'a "quoted" word',
  "back\\slash \\\\ \\n",
  "{braces},{and,commas}",
  "NULL",
  "null",
  "line\nbreak\r\n\ttab",
  "😀 é 漢字 \u{10FFFF} e\u0301",
  "'; drop table posting; --",
  "$1 %s $x",
  "\u0001\u001f\u007f",
];

function opening(description: string | undefined): { profile: Profile; command: Command<Profile, never> } {
  const now = Date.now() as Instant;
  const profile: Profile = {
    id: newProfile(),
    customerId,
    kind: "NORMAL",
    nickname: description ?? "none",
    description,
    status: "ACTIVE",
    incomingCount: 0,
    lastDeactivation: 0n,
    createdAt: now,
    updatedAt: now,
    version: 0n,
  };
  const command: Command<Profile, never> = {
    queueKey: newId(),
    caller: TESTER,
    dependsOn: [],
    decide: () => accept(profile, { states: [change(profileTable, profile)] }),
  };
  return { profile, command };
}

test("every text comes back as it was sent, all in one batch, and absent is not empty", async () => {
  const openings = [...NASTY, undefined].map(opening);
  await Promise.all(openings.map(({ command }) => ours.lane.execute(command)));
  for (const { profile } of openings) {
    const found = await findProfile(db.database, customerId, profile.id);
    expect(found).toEqual({ ...profile, version: 1n });
    // And so the digest of the row can be made again from what is stored.
    expect(found && digestOf(profileTable, found)).toBe(digestOf(profileTable, { ...profile, version: 1n }));
  }
  const [row] = await db.database.rows<{ batches: string }>(
    "select count(distinct (slot, batch)) as batches from profile",
  );
  expect(row?.batches).toBe("1");
});

test("a ref_id of any text is found again, and another text is another ref_id", async () => {
  const customer = newId();
  const send = (refId: string): Promise<{ kind: string }> =>
    ours.lane.execute(
      movement({ from: "world", to: newProfile(), amount: "1", claim: { customerId: customer, refId } }),
    );
  const first = await Promise.all(NASTY.map(send));
  expect(first.map(({ kind }) => kind)).toEqual(NASTY.map(() => "done"));
  // A lane that remembers nothing has to ask the database.
  const other = await startLane(db.another());
  const again = await Promise.all(
    NASTY.map((refId) =>
      other.lane.execute(
        movement({ from: "world", to: newProfile(), amount: "1", claim: { customerId: customer, refId } }),
      ),
    ),
  );
  expect(again.map(({ kind }) => kind)).toEqual(NASTY.map(() => "exists"));
  await other.lane.stop();
});

test("the hash of a batch can be recomputed from the rows that it stored", async () => {
  const [a, b] = newProfiles(2);
  await ours.fund([a], "10.5");
  await ours.lane.execute(movement({ from: a, to: b, amount: "0.000000000000000001" }));
  const [last] = await db.database.rows<{ slot: number; n: string; hash: Buffer; at: Instant; previous: Buffer }>(
    `select b.slot, b.n, b.hash, b.at, p.hash as previous
       from batch b join batch p on (p.slot, p.n) = (b.slot, b.n - 1) order by b.at desc, b.n desc limit 1`,
  );
  const stored = await db.database.rows<Record<string, unknown>>(
    `select ${columnsOf(postingTable)} from posting where (slot, batch) = ($1, $2) order by owner_id, asset, version`,
    [last?.slot, last?.n],
  );
  expect(stored).toHaveLength(2);
  const rows = stored.map((record) => ({ row: postingTable.read(record), caller: undefined }));
  const digest = contentDigest({
    at: last?.at as Instant,
    records: [addedRows(postingTable, rows)],
    changes: undefined,
    callers: JSON.stringify([TESTER]),
  });
  expect(linkHash(last?.previous as Buffer, last?.slot as number, BigInt(last?.n as string), digest)).toEqual(
    last?.hash,
  );
});
