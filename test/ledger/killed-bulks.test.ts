/**
 * Bulks whose process is killed while they are executed, and which are sent again until they are answered: each item takes
 * effect once, and an atomic bulk as a whole or not at all.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Catalogue, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { amountOf } from "../../src/money/amount.ts";
import { IdSource } from "../../src/std/id.ts";
import { pause } from "../../src/std/pause.ts";
import { type BulkRequest, createTransfers, type Transfers } from "../../src/transfers/transfers.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { startLane, TESTER } from "../support/movements.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";

const KILLS = Number(process.env.TEST_BULK_KILLS ?? 10);
const ITEMS = 20;

let db: TestDatabase;
let books: SmallBooks;
let catalogue: Catalogue;
/** Killed lanes, which give up what was in flight. */
let stopping: Promise<void>[];
beforeEach(async () => {
  stopping = [];
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  catalogue = await loadCatalogue(db.database);
});
afterEach(async () => {
  await Promise.all(stopping);
  catalogue.close();
  await books.close();
  await db.close();
});

interface Node {
  readonly transfers: Transfers;
  /** Ends its connections, and never answers again. */
  kill(): void;
}

/** A node as a process of its own has it. */
async function startNode(): Promise<Node> {
  const database = db.another();
  const { lane } = await startLane(database, { bounds: { leaseMs: 300 } });
  return {
    transfers: createTransfers({ database, lane, catalogue, ids: new IdSource() }),
    kill: () => {
      database.cutOff();
      stopping.push(lane.stop());
    },
  };
}

test("each item of a bulk whose process is killed takes effect once", { timeout: 60_000 + KILLS * 2_000 }, async () => {
  const [customer] = await db.database.rows<{ id: CustomerId }>("select id from customer");
  const customerId = customer?.id as CustomerId;
  const idOf = (name: string) => [...books.names].find(([, known]) => known === name)?.[0] as ProfileId;
  const [from, to] = [idOf("treasury"), idOf("shop")];
  const bulkOf = (name: string): BulkRequest => ({
    customerId,
    items: Array.from({ length: ITEMS }, (_, i) => ({
      ...{ customerId, kind: "internal", asset: "USD", amount: amountOf("0.01"), refId: `${name}/${i}` },
      ...{ from: { profileId: from }, to: { profileId: to } },
    })),
  });

  let [node, cut, midway] = [await startNode(), 0, 0];
  /** How many transfers there are of a bulk. */
  const countOf = async (name: string): Promise<number> => {
    const [row] = await db.database.rows<{ count: number }>(
      "select count(*)::int as count from transfer where ref_id like $1",
      [`${name}/%`],
    );
    return row?.count ?? 0;
  };
  const execute = async (
    { transfers }: Node,
    { items }: BulkRequest,
    isAtomic: boolean,
  ): Promise<readonly string[]> => {
    const outcomes = isAtomic
      ? await transfers.moveAll({ customerId, items }, TESTER)
      : await Promise.all(items.map((item) => transfers.move(item, TESTER)));
    return outcomes.map(({ kind }) => kind);
  };

  // The first one takes several times as long as those that follow: most kills would come after the end.
  await execute(node, bulkOf("cold"), false);
  const begun = performance.now();
  await execute(node, bulkOf("whole"), false);
  const takesMs = performance.now() - begun;
  const names = ["cold", "whole"];
  for (let kill = 0; kill < KILLS || (cut <= KILLS / 10 && kill < 5 * KILLS); kill += 1) {
    const isAtomic = kill % 2 === 0;
    const name = `bulk ${kill}`;
    names.push(name);
    const killed = node;
    const answer = execute(killed, bulkOf(name), isAtomic).catch(() => "unknown");
    await pause(Math.random() * takesMs);
    killed.kill();
    const first = await answer;
    node = await startNode();
    const count = await countOf(name);
    if (isAtomic) expect([0, ITEMS]).toContain(count);
    if (first === "unknown") cut += 1;
    if (first === "unknown" && count > 0) midway += 1;
    const kinds = await execute(node, bulkOf(name), isAtomic);
    const existing = kinds.filter((kind) => kind === "exists").length;
    // What was sent before the kill may have been committed only now.
    expect(existing).toBeGreaterThanOrEqual(count);
    expect(existing + kinds.filter((kind) => kind === "done").length).toBe(ITEMS);
    if (isAtomic) expect([0, ITEMS]).toContain(existing);
  }
  node.kill();
  expect(cut, "bulks whose answer was lost").toBeGreaterThan(KILLS / 10);
  for (const name of names) expect([name, await countOf(name)]).toEqual([name, ITEMS]);
  const { checks } = await verifyAll(db.database);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  await expectBooksBalance(db.database);
  if (KILLS >= 100) expect(midway, "bulks that took effect unanswered").toBeGreaterThan(0);
});
