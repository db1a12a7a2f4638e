import { expect, test } from "vitest";
import { executionTable } from "../../exchange/execution.ts";
import type { CommittedBatch } from "../../ledger/writer/lane-options.ts";
import type { Instant } from "../../std/clock.ts";
import { transferTable } from "../../transfers/transfer.ts";
import { RecentBatches } from "./recent-batches.ts";

const hashOf = (n: bigint): Buffer => Buffer.from(`hash of ${n}`);

/** A batch with so many transfers of the customer "acme". */
function committed(n: bigint, transfers = 1, slot = 3): CommittedBatch {
  const columns = ["id", "type", "customer_id", "from_profile_id", "to_customer_id", "has_steps"];
  const rows = Array.from({ length: transfers }, (_, i) => [
    `${n}-${i}`,
    "PLATFORM_TRANSFER",
    "acme",
    "p",
    "shop",
    null,
  ]);
  const records = [{ table: transferTable, columns: columns.map((name) => ({ name, type: "text" })), rows }];
  const content = { at: Number(n) as Instant, records, changes: undefined, callers: undefined };
  return { slot, n, hash: hashOf(n), content, commands: [], ms: 1 };
}

function collecting(bounds?: { batches: number; rows: number; characters: number }, until = 4n): RecentBatches {
  const recent = new RecentBatches(bounds);
  recent.collect(true);
  for (let n = 0n; n <= until; n += 1n) recent.add(committed(n));
  return recent;
}

const range = (after: bigint, until: bigint, slot = 3) => ({ slot, after, until });

test("has the batches that were committed, each with its transfers, as the database would return them", () => {
  expect(collecting().within(range(1n, 2n), hashOf(2n))).toEqual([
    {
      slot: 3,
      n: 2n,
      at: 2,
      written: new Map(),
      transfers: [{ id: "2-0", type: "PLATFORM_TRANSFER", from: "acme", to: "shop" }],
      executions: [],
    },
  ]);
});

test("has executions and changes, and of transfers only those without steps", () => {
  const recent = collecting(undefined, 0n);
  const changes =
    '{"market":[{"key":{"code":"BTCUSD"},"version":2,"values":{"status":"HALTED"},"digest":"d","callers":[0]}]}';
  const batch = committed(1n);
  const columns = ["id", "customer_id"].map((name) => ({ name, type: "text" }));
  const [transfers] = batch.content.records;
  const steps = { ...transfers, rows: [["1-0", "WIRE_DEPOSIT", "acme", null, "acme", "true"]] } as typeof transfers;
  const records = [{ table: executionTable, columns, rows: [["42", "acme"]] }, steps as NonNullable<typeof steps>];
  recent.add({ ...batch, content: { ...batch.content, records, changes } });
  const [found] = recent.within(range(0n, 1n), hashOf(1n)) ?? [];
  expect([found?.transfers, found?.executions]).toEqual([[], [{ id: 42n, customerId: "acme" }]]);
  expect([...(found?.written.get("market")?.keys() ?? [])]).toEqual(["BTCUSD"]);
});

test("batches are read from the database when the chain there has another hash, or more or earlier batches", () => {
  const recent = collecting();
  expect(recent.within(range(1n, 4n), hashOf(4n))).toHaveLength(3);
  expect(recent.within(range(1n, 4n), Buffer.from("of another batch"))).toBeUndefined();
  expect(recent.within(range(1n, 4n), undefined)).toBeUndefined();
  expect(recent.within(range(1n, 5n), hashOf(5n))).toBeUndefined();
  expect(recent.within(range(1n, 4n, 2), hashOf(4n))).toBeUndefined();
  recent.forget(new Map([[3, 2n]]));
  expect(recent.within(range(1n, 4n), hashOf(4n))).toBeUndefined();
  expect(recent.within(range(2n, 4n), hashOf(4n))).toHaveLength(2);
});

test("a gap, as a void batch leaves it, and another slot begin anew", () => {
  const recent = collecting();
  recent.add(committed(6n));
  expect(recent.within(range(3n, 6n), hashOf(6n))).toBeUndefined();
  expect(recent.within(range(5n, 6n), hashOf(6n))).toHaveLength(1);
  recent.add(committed(7n, 1, 4));
  expect(recent.within(range(5n, 6n), hashOf(6n))).toBeUndefined();
  expect(recent.within(range(6n, 7n, 4), hashOf(7n))).toHaveLength(1);
});

test("the oldest are dropped beyond a number of batches, rows or characters, and nothing is kept without a publisher", () => {
  const few = collecting({ batches: 2, rows: 100, characters: 1_000 });
  expect(few.within(range(2n, 4n), hashOf(4n))).toHaveLength(2);
  expect(few.within(range(1n, 4n), hashOf(4n))).toBeUndefined();
  const small = collecting({ batches: 100, rows: 3, characters: 1_000 });
  expect(small.within(range(1n, 4n), hashOf(4n))).toHaveLength(3);
  expect(small.within(range(0n, 4n), hashOf(4n))).toBeUndefined();
  const changes = JSON.stringify({ market: [], note: "n".repeat(450) });
  const long = collecting({ batches: 100, rows: 100, characters: 1_000 }, 0n);
  for (let n = 1n; n <= 5n; n += 1n) {
    const batch = committed(n);
    long.add({ ...batch, content: { ...batch.content, changes } });
    if (n === 3n) long.forget(new Map([[3, 2n]]));
  }
  expect(long.within(range(3n, 5n), hashOf(5n))).toHaveLength(2);
  expect(long.within(range(2n, 5n), hashOf(5n))).toBeUndefined();
  small.collect(false);
  small.add(committed(5n));
  expect(small.within(range(4n, 5n), hashOf(5n))).toBeUndefined();
});
