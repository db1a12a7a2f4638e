import { expect, test } from "vitest";
import type { Instant } from "../std/clock.ts";
import { parseUuid } from "../std/id.ts";
import type { ExecutionId } from "./execution.ts";
import {
  executedAtOf,
  HIGHEST_EXECUTION,
  idSpan,
  lowestId,
  makerIdOf,
  matchJournalId,
  NO_EXECUTION,
  nextMatchId,
  takerId,
} from "./execution-id.ts";

const NOW = Date.parse("2026-11-21T09:30:00.123Z") as Instant;
const later = (instant: Instant, ms: number): Instant => (instant + ms) as Instant;

/** The taker's id of the next match. */
const nextTakerId = (last: ExecutionId, market: number, now: Instant): ExecutionId =>
  takerId(nextMatchId(last, market, now));

test("an id contains its time, and the maker's is even", () => {
  const id = nextMatchId(NO_EXECUTION, 7, NOW);
  expect(executedAtOf(id)).toBe(NOW);
  expect(id).toBe((BigInt(NOW - Date.UTC(2020, 0, 1)) << 22n) | (7n << 14n));
  expect(takerId(id)).toBe(id + 1n);
});

test("ids increase by two within a millisecond, and the counter restarts in the next", () => {
  const first = nextMatchId(NO_EXECUTION, 7, NOW);
  const second = nextMatchId(takerId(first), 7, NOW);
  expect(second).toBe(first + 2n);
  expect(nextMatchId(takerId(second), 7, later(NOW, 1))).toBe(first + (1n << 22n));
});

test("ids do not decrease when the clock steps back", () => {
  const first = nextTakerId(NO_EXECUTION, 7, NOW);
  const second = nextMatchId(first, 7, later(NOW, -5_000));
  expect(second).toBe(first + 1n);
  expect(executedAtOf(second)).toBe(NOW);
});

test("when a millisecond is full the next begins early, without overflow into the market's number", () => {
  const taken: ExecutionId[] = [NO_EXECUTION];
  for (let match = 0; match < 8_193; match += 1) taken.push(nextTakerId(taken.at(-1) as ExecutionId, 255, NOW));
  const given = taken.slice(1);
  expect(given.every((id, i) => id > (taken[i] as ExecutionId))).toBe(true);
  expect(given.every((id) => ((id >> 14n) & 255n) === 255n)).toBe(true);
  expect(executedAtOf(given.at(-2) as ExecutionId)).toBe(NOW);
  expect(executedAtOf(given.at(-1) as ExecutionId)).toBe(later(NOW, 1));
});

test("ids of all markets are in time order", () => {
  const early = nextTakerId(NO_EXECUTION, 255, NOW);
  const late = nextMatchId(NO_EXECUTION, 1, later(NOW, 1));
  expect(early < late).toBe(true);
});

test("no year stops a market: beyond the range, ids continue from the last one", () => {
  const years = ["0001-01-01", "2019-12-31", "2026-11-21", "2096-11-21", "2026-11-21", "2200-01-01", "9999-12-31"];
  const ids = [NO_EXECUTION];
  for (const year of years) ids.push(nextTakerId(ids.at(-1) as ExecutionId, 255, Date.parse(year) as Instant));
  expect(ids.slice(1).every((id, i) => id > (ids[i] as ExecutionId))).toBe(true);
  const received = ids.slice(1).map((id) => new Date(executedAtOf(id)).toISOString().slice(0, 10));
  expect(received).toEqual([
    ...["2020-01-01", "2020-01-01", "2026-11-21"],
    ...["2088-08-04", "2088-08-04", "2088-08-04", "2088-08-04"],
  ]);
});

test("after the last time there is room for 10^14 matches", () => {
  const last = nextTakerId(NO_EXECUTION, 255, Date.parse("2096-11-21") as Instant);
  expect(2n ** 63n - last > 10n ** 17n).toBe(true);
  const endOfMilli = (last | ((1n << 14n) - 1n)) as ExecutionId;
  const next = nextMatchId(endOfMilli, 255, Date.parse("2096-11-21") as Instant);
  expect([executedAtOf(next) - executedAtOf(last), (next >> 14n) & 255n]).toEqual([1, 255n]);
});

test("a match's journal id is a version 8 UUID that encodes the maker's id", () => {
  const id = 0x7edcba9876543210n as ExecutionId;
  expect(matchJournalId(id)).toBe("7edcba98-7654-8321-8000-000000000000");
  expect(matchJournalId(0x7edcba987654321en as ExecutionId)).toBe("7edcba98-7654-8321-8000-00000000000e");
  expect(parseUuid(matchJournalId(id))).toBe(matchJournalId(id));
});

test("the maker's id can be derived from a match's journal id", () => {
  for (const id of [2n, nextMatchId(NO_EXECUTION, 255, NOW), 2n ** 63n - 2n] as ExecutionId[])
    expect(makerIdOf(matchJournalId(id))).toBe(id);
});

test("the lowest id of a time is above all ids of earlier times, and not above any of its own", () => {
  const lowest = lowestId(NOW);
  expect(executedAtOf(lowest)).toBe(NOW);
  expect(lowest).toBe(nextMatchId(NO_EXECUTION, 1, NOW));
  expect(nextTakerId(NO_EXECUTION, 255, later(NOW, -1)) < lowest).toBe(true);
  expect(lowestId(later(NOW, 60_000)) - lowest).toBe(idSpan(60_000));
});

test("times before 2020 and after the last one have the lowest and the highest id, so ranges of them are valid", () => {
  const [first, last] = [NO_EXECUTION, HIGHEST_EXECUTION].map(executedAtOf) as [Instant, Instant];
  expect([first, last]).toEqual([Date.UTC(2020, 0, 1), Date.UTC(2020, 0, 1) + 2 ** 41 - 1]);
  for (const time of [0 as Instant, first]) expect(lowestId(time)).toBe(NO_EXECUTION);
  expect(lowestId(later(first, 1))).toBe(nextMatchId(NO_EXECUTION, 1, later(first, 1)));
  expect(executedAtOf(lowestId(last))).toBe(last);
  expect(lowestId(last)).toBeLessThan(HIGHEST_EXECUTION);
  expect(lowestId(later(last, 1))).toBe(HIGHEST_EXECUTION);
});

test.each([0, 256, 1.5])("there is no market number %d", (market) => {
  expect(() => nextMatchId(NO_EXECUTION, market, NOW)).toThrow("a market's number has 8 bits");
});

test("the taker's id is made from the maker's only", () => {
  expect(() => takerId(nextTakerId(NO_EXECUTION, 7, NOW))).toThrow("the maker's id of a match is even");
});
