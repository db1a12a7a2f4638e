import pg from "pg";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import type { CommittedBatch, LaneEvent } from "../../ledger/writer/lane-options.ts";
import { DatabaseAway, DatabaseReadOnly } from "../../postgres/database.ts";
import { LedgerMetrics } from "./ledger.ts";

/** The lines of a metric, without its buckets, after this has happened. */
async function served(act: (metrics: LedgerMetrics) => void, name: RegExp): Promise<string[]> {
  const registry = new Registry();
  act(new LedgerMetrics(registry));
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => name.test(line) && !/^#|_bucket/.test(line));
}

test("the time of a commit is in seconds, and its commands are counted", async () => {
  const batch = { slot: 1, n: 1n, commands: [{}, {}, {}], ms: 250 } as unknown as CommittedBatch;
  const lines = await served((metrics) => metrics.onCommitted(batch), /^parbook_lane_(commit|batch)_/);
  expect(lines).toEqual([
    ...["parbook_lane_commit_seconds_sum 0.25", "parbook_lane_commit_seconds_count 1"],
    ...["parbook_lane_batch_commands_sum 3", "parbook_lane_batch_commands_count 1"],
  ]);
});

test("failed batches are counted by cause, and recoveries with the batches that they voided", async () => {
  const failed = (error: Error): LaneEvent => ({ kind: "batch_failed", slot: 1, n: 1n, error, isContention: false });
  const away = new DatabaseAway("the database cannot be reached");
  const lines = await served((metrics) => {
    const sent = Object.assign(new pg.DatabaseError("as the server words it", 0, "error"), { code: "23514" });
    const named = Object.assign(new pg.DatabaseError("the same", 0, "error"), { code: "23514", constraint: "in_time" });
    for (const error of [away, away, new DatabaseReadOnly(away), sent, named, new Error("a bug")])
      metrics.onLaneEvent(failed(error));
    metrics.onLaneEvent({ kind: "recovered", slot: 1, committed: 5, again: 3, voided: 2 });
    metrics.onLaneEvent({ kind: "command_failed", error: new Error("a bug") });
  }, /^parbook_lane_.*_total/);
  expect(lines).toEqual([
    'parbook_lane_batches_failed_total{cause="database_away"} 2',
    'parbook_lane_batches_failed_total{cause="read_only"} 1',
    'parbook_lane_batches_failed_total{cause="23514"} 1',
    'parbook_lane_batches_failed_total{cause="in_time"} 1',
    'parbook_lane_batches_failed_total{cause="other"} 1',
    "parbook_lane_recoveries_total 1",
    "parbook_lane_batches_void_total 2",
    "parbook_lane_commands_failed_total 1",
  ]);
});

test("what the lane and the shared connections do is served, each number under its name", async () => {
  const lane = { depth: 40, toLock: 3, inFlight: 2, slot: 17, state: "locking" } as const;
  const watched = (more: { databaseAway: boolean; clockFault: string | undefined }) =>
    served((metrics) => {
      const database = { report: () => ({ open: 12, idle: 5, waiting: 9 }) };
      metrics.watch({ report: () => ({ ...lane, ...more }) }, database);
    }, /^parbook_(lane_(commands_|batches_in|slot|database|clock|state)|database)/);
  const lines = await watched({ databaseAway: true, clockFault: undefined });
  expect(lines.filter((line) => !line.includes("_failed_"))).toEqual([
    "parbook_lane_commands_pending 40",
    "parbook_lane_commands_to_lock 3",
    "parbook_lane_batches_in_flight 2",
    "parbook_lane_slot 17",
    "parbook_lane_database_away 1",
    "parbook_lane_clock_wrong 0",
    'parbook_lane_state{state="closed"} 0',
    'parbook_lane_state{state="running"} 0',
    'parbook_lane_state{state="locking"} 1',
    'parbook_lane_state{state="recovering"} 0',
    'parbook_database_connections{state="busy"} 7',
    'parbook_database_connections{state="idle"} 5',
    "parbook_database_connections_waiting 9",
  ]);
  const wrong = await watched({ databaseAway: false, clockFault: "it is an hour ahead" });
  expect(wrong).toEqual(expect.arrayContaining(["parbook_lane_database_away 0", "parbook_lane_clock_wrong 1"]));
});
