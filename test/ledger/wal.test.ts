/** What a transfer makes PostgreSQL write, counted in records of its log: those do not depend on how busy the machine is. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { activeProfile, activeProfileKey, profileKey } from "../../src/customers/profiles/profiles.ts";
import { accountKey, type ProfileId } from "../../src/ledger/accounts.ts";
import type { State } from "../../src/ledger/decision.ts";
import { readKeys } from "../../src/ledger/tables.ts";
import { Batch, linkHash, NO_HASH } from "../../src/ledger/writer/batch.ts";
import { RowCache } from "../../src/ledger/writer/reading/row-cache.ts";
import { Statements } from "../../src/ledger/writer/statement.ts";
import { amountOf } from "../../src/money/amount.ts";
import { type Asset, USD } from "../../src/money/asset.ts";
import { must } from "../../src/std/assert.ts";
import type { Instant } from "../../src/std/clock.ts";
import { decideTransfer } from "../../src/transfers/rules.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, newProfiles, startLane, TESTER } from "../support/movements.ts";
import { insertProfile } from "../support/postgres/rows-in-the-way.ts";

const TRANSFERS = 64;
/** Of no lane: the batch is undone again. */
const SLOT = 64;
/**
 * Two accounts changed, which stand in for their profiles; two postings with an index entry each; and the transfer with five:
 * by id, by ref_id, by both profiles, and as what another customer received.
 */
const RECORDS_OF_A_TRANSFER = 12;
/** The batch with its index entry, and pages of indexes that were full. */
const RECORDS_OF_A_BATCH = 30;
const DOLLAR: Asset = { code: USD, kind: "fiat", precision: 2 };

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.close());

test("a transfer writes twelve records to PostgreSQL's log", async () => {
  const profiles = newProfiles(2 * TRANSFERS);
  for (const profile of profiles) await insertProfile(db.owner, profile);
  const { lane, fund } = await startLane(db.database);
  await fund(profiles, "10");
  await lane.stop();
  const { text, values } = await batchOfTransfers(profiles);

  const records = await recordsOf(text, values);
  const least = TRANSFERS * RECORDS_OF_A_TRANSFER;
  expect(records).toBeGreaterThanOrEqual(least);
  expect(records).toBeLessThanOrEqual(least + RECORDS_OF_A_BATCH);
  await expectBooksBalance(db.owner);
});

async function batchOfTransfers(profiles: readonly ProfileId[]) {
  const memory = new RowCache(1_000_000);
  const keys = profiles.flatMap((profile) => [profileKey(profile), accountKey(profile, USD)]);
  for (const { table, key, row } of await readKeys(db.database, keys, SLOT, "none")) memory.set(table, key, row);
  const state: State = { get: (table, key) => memory.get(table, key) };
  const batch = new Batch(memory, SLOT);
  for (let i = 0; i < TRANSFERS; i += 1) {
    const [from, to] = profiles.slice(2 * i) as [ProfileId, ProfileId];
    const customerId = must(activeProfile(state, from), "the profile is there").customerId as CustomerId;
    const sides = { from: { profileId: from, annotations: { metadata: { purpose: "rent" } } }, to: { profileId: to } };
    const [id, refId, amount] = [newId(), newId(), amountOf("1")];
    const request = { customerId, kind: "platform", ...sides, amount, asset: USD, refId } as const;
    const decision = decideTransfer(request, id, DOLLAR, state);
    if (decision.kind === "rejected") throw new Error(`the transfer was rejected: ${decision.rejection.code}`);
    batch.dependOn([activeProfileKey(from), activeProfileKey(to), accountKey(from, USD), accountKey(to, USD)]);
    batch.add(decision.changes, TESTER);
  }
  const content = batch.close(Date.now() as Instant);
  const link = { slot: SLOT, n: 0n, previous: NO_HASH, hash: linkHash(NO_HASH, SLOT, 0n, content.digest) };
  return new Statements().batch(content, link, { notBefore: 0 as Instant, deadline: (Date.now() + 60_000) as Instant });
}

interface PlanNode {
  readonly "Subplan Name"?: string;
  readonly "WAL Records": number;
  readonly Plans: readonly PlanNode[];
}

/** Carries a statement out, counts what its own process writes, and undoes it. */
async function recordsOf(text: string, values: readonly unknown[]): Promise<number> {
  const session = await db.database.connect({});
  try {
    await session.query("begin");
    const { rows } = await session.query(`explain (analyze, wal, timing off, format json) ${text}`, [...values]);
    await session.query("rollback");
    const top: PlanNode = rows[0]["QUERY PLAN"][0].Plan;
    // What is counted for the batch's row is in its records; postings are written behind it.
    const behind = top.Plans.filter((node) => node["Subplan Name"] === "CTE posting_added");
    return [top, ...behind].reduce((sum, node) => sum + node["WAL Records"], 0);
  } finally {
    await session.end();
  }
}
