import pg from "pg";
import { pino } from "pino";
import { expect, test } from "vitest";
import type { LaneEvent } from "../ledger/writer/lane-options.ts";
import { DatabaseAway, DatabaseReadOnly } from "../postgres/database.ts";
import { CountsPerSecond } from "../web/limits/counts-per-second.ts";
import { createLaneLog } from "./lane-log.ts";

test("of conflicts and what follows them ten lines a second each are written, and all else", () => {
  const clock = { now: 0 };
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) });
  const write = createLaneLog(log, new CountsPerSecond(() => clock.now));
  const failed = (isContention: boolean): LaneEvent => ({
    ...{ kind: "batch_failed", slot: 1, n: 7n, isContention },
    error: new Error("could not be locked"),
  });
  const recovered: LaneEvent = { kind: "recovered", slot: 1, committed: 0, again: 3, voided: 0 };
  for (let i = 0; i < 50; i += 1) for (const event of [failed(true), recovered]) write(event);
  expect(lines.map(({ kind }) => kind)).toEqual(Array(10).fill(["batch_failed", "recovered"]).flat());
  lines.length = 0;
  for (let i = 0; i < 20; i += 1) write(failed(false));
  expect(lines.map(({ msg, left_out }) => [msg, left_out])).toEqual(Array(20).fill(["batch failed", undefined]));
  lines.length = 0;
  clock.now += 1_000;
  write(failed(true));
  write(recovered);
  expect(lines.map(({ kind, left_out }) => [kind, left_out])).toEqual([
    ["batch_failed", 80],
    ["recovered", undefined],
  ]);
});

test("each event is a line of its level: what ends by itself is told, what an operator has to look at is a warning or an error", () => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  const write = createLaneLog(log);
  const violated = Object.assign(new pg.DatabaseError("violated", 0, "error"), {
    code: "23514",
    constraint: "in_time",
  });
  const failed = (error: Error, isContention: boolean): LaneEvent => ({
    ...{ kind: "batch_failed", slot: 1, n: 7n, isContention, error },
  });
  const events: LaneEvent[] = [
    failed(violated, true),
    failed(new Error("could not be locked"), true),
    failed(violated, false),
    { kind: "recovered", slot: 1, committed: 0, again: 3, voided: 0 },
    { kind: "clock_wrong", fault: "the clock is 5 s ahead" },
    { kind: "clock_right" },
    { kind: "database_away", error: new DatabaseAway("it is away") },
    { kind: "database_away", error: new DatabaseReadOnly(violated) },
  ];
  for (const event of events) write(event);
  expect(lines.map(({ level, msg }) => [log.levels.labels[Number(level)], msg])).toEqual([
    ["info", "batch conflicted; retrying"],
    ["warn", "batch conflicted; retrying"],
    ["warn", "batch failed"],
    ["info", "lane recovered"],
    ["error", "the clock is 5 s ahead: commands are suspended"],
    ["info", "clock is correct again"],
    ["warn", "database unreachable"],
    ["warn", "database is read-only"],
  ]);
  expect(lines[0]).toMatchObject({ slot: 1, constraint: "in_time" });
  expect(lines[1]).toMatchObject({ slot: 1, reason: "could not be locked" });
});
