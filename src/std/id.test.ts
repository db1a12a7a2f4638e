import { expect, test } from "vitest";
import type { Clock, Instant } from "./clock.ts";
import { IdSource, instantOf, lowestId, parseUuid, siblingId, type Uuid } from "./id.ts";
import type { Random } from "./random.ts";

/** A clock that answers these times in turn, the last one for ever. */
function clockOf(...times: number[]): Clock {
  return { now: () => (times.length > 1 ? times.shift() : times[0]) as Instant };
}
const all = (byte: number): Random => ({ fill: (bytes) => void bytes.fill(byte) });

const NOW = 1_795_253_400_123;

test("an id is a UUID of version 7 that carries its time", () => {
  for (const byte of [0x00, 0xff]) {
    const id = new IdSource(clockOf(NOW), all(byte)).next();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(instantOf(id)).toBe(NOW);
    expect(parseUuid(id)).toBe(id);
  }
});

test("ids rise: within a millisecond, past the counter's end, and when the clock is set back by seconds", () => {
  const times = [...Array.from({ length: 10_000 }, () => NOW), NOW - 4_000, NOW - 3_999, NOW + 1_000];
  const source = new IdSource(clockOf(...times));
  const ids = times.map(() => source.next());
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  expect(instantOf(ids.at(-1) as Uuid)).toBe(NOW + 1_000);
});

test("an id that was made while the clock was far ahead dates none of those after it", () => {
  const YEARS_MS = 70 * 365 * 86_400_000;
  const source = new IdSource(clockOf(NOW, NOW + YEARS_MS, NOW, NOW + 1, NOW + 2));
  const ids = Array.from({ length: 5 }, () => source.next());
  expect(ids.map(instantOf)).toEqual([NOW, NOW + YEARS_MS, NOW, NOW + 1, NOW + 2]);
});

test("a clock that is set back by five seconds or less leaves the ids rising, one that is set back by more does not", () => {
  for (const [backMs, next] of [
    [4_999, NOW],
    [5_001, NOW - 5_001],
  ] as const) {
    const source = new IdSource(clockOf(NOW, NOW - backMs));
    expect([source.next(), source.next()].map(instantOf)).toEqual([NOW, next]);
  }
});

test("ids of repeated milliseconds differ from earlier ones", () => {
  const again = Array.from({ length: 1_000 }, (_, i) => [NOW + (i % 10), NOW + 3_600_000]).flat();
  const source = new IdSource(clockOf(...again));
  const ids = new Set(again.map(() => source.next()));
  expect(ids.size).toBe(again.length);
  // Their random bits alone tell them apart: where the counter starts is chance too, and may be the same.
  expect(new Set([...ids].map((id) => id.slice(19))).size).toBe(again.length);
});

test("every id is even, and its sibling is the odd one beside it and back", () => {
  const source = new IdSource();
  for (let i = 0; i < 100; i += 1) {
    const id = source.next();
    const sibling = siblingId(id);
    expect(BigInt(`0x${id.replaceAll("-", "")}`) + 1n).toBe(BigInt(`0x${sibling.replaceAll("-", "")}`));
    expect(siblingId(sibling)).toBe(id);
  }
});

test("the lowest id of a time is a bound on the ids that are made in it", () => {
  const source = new IdSource(clockOf(NOW), all(0x00));
  const id = source.next();
  expect(id >= lowestId(NOW as Instant)).toBe(true);
  expect(id < lowestId((NOW + 1) as Instant)).toBe(true);
  expect(lowestId(-5 as Instant)).toBe("00000000-0000-0000-0000-000000000000");
  expect(parseUuid(lowestId(Number.MAX_SAFE_INTEGER as Instant))).toBeDefined();
});

test("UUIDs of any version and case are read, and nothing else is", () => {
  expect(parseUuid("123E4567-E89B-12D3-A456-426614174000")).toBe("123e4567-e89b-12d3-a456-426614174000");
  for (const text of ["", "123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}", "default"]) {
    expect(parseUuid(text)).toBeUndefined();
  }
  expect(parseUuid("123e4567-e89b-12d3-a456-426614174000\n")).toBeUndefined();
});
