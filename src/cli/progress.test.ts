import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Progress, type ProgressOptions } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] }));
afterEach(() => void vi.useRealTimers());

/** What it writes while a hundred are done about every ten seconds. */
function written(isTTY: boolean, more: Partial<ProgressOptions> = {}, columns = 100): string[] {
  const texts: string[] = [];
  const stream = { isTTY, columns, write: (text: string) => texts.push(text) > 0 };
  const progress = new Progress({ what: "paying", unit: "lines", total: 1_000, stream, ...more });
  for (let i = 0; i < 10; i += 1) {
    vi.advanceTimersByTime(9_900);
    progress.add(100);
  }
  progress.end();
  return texts;
}

const bar = (text: string): string => `\r${text}\u001b[K`;

test("a terminal has a bar with the rate and the time left", () => {
  const texts = written(true);
  expect(texts).toContain(
    bar("[###---------------------------] paying: 100 of 1,000 lines, 10 a second, 1 min 30 s left"),
  );
  expect(texts).toContain(bar("[###############---------------] paying: 500 of 1,000 lines, 10 a second, 50 s left"));
  expect(texts.slice(-2)).toEqual([
    bar("[##############################] paying: 1,000 of 1,000 lines, 10 a second, 0 s left"),
    "\n",
  ]);
});

test("a line never wraps, however narrow the terminal is", () => {
  // From fewer columns than the text has to more than the bar needs, and a terminal that does not know its size.
  for (const columns of [...Array.from({ length: 90 }, (_, least) => least + 2), 0]) {
    const lines = written(true, {}, columns).map((text) => stripVTControlCharacters(text).trim());
    expect(Math.max(...lines.map(({ length }) => length)), `${columns}`).toBeLessThan(columns || 80);
  }
  expect(written(true, {}, 0)).toEqual(written(true, {}, 80));
});

test("without a terminal there is a line every half a minute", () => {
  expect(written(false)).toEqual([
    "paying: 300 of 1,000 lines, 10 a second, 1 min 10 s left\n",
    "paying: 600 of 1,000 lines, 10 a second, 40 s left\n",
    "paying: 900 of 1,000 lines, 10 a second, 10 s left\n",
  ]);
});

test("the bar goes on while nothing is reported, and shows the time if there is no total", () => {
  const texts: string[] = [];
  const stream = { isTTY: true, columns: 80, write: (text: string) => texts.push(text) > 0 };
  const progress = new Progress({ what: "replaying", stream });
  vi.advanceTimersByTime(2_000);
  progress.end();
  vi.advanceTimersByTime(2_000);
  expect(texts).toEqual([bar("replaying: 1 s"), bar("replaying: 2 s"), bar("replaying: 2 s"), "\n"]);
});

test("an estimated total may be too low or too high", () => {
  const texts: string[] = [];
  const stream = { isTTY: true, columns: 80, write: (text: string) => texts.push(text) > 0 };
  const progress = new Progress({ what: "v", stream });
  progress.expect(10);
  vi.advanceTimersByTime(500);
  progress.add(20);
  expect(texts.at(-1)).toBe(bar("[##############################] v: 20 of 20, 40 a second, 0 s left"));
  progress.expect(80);
  progress.complete();
  progress.end();
  expect(texts.at(-2)).toBe(bar("[##############################] v: 20 of 20, 40 a second, 0 s left"));
});

test("of work that has nothing to do all is done", () => {
  expect(written(true, { total: 0, unit: "rows" }).length).toBeGreaterThan(0);
  const texts: string[] = [];
  const stream = { isTTY: true, columns: 80, write: (text: string) => texts.push(text) > 0 };
  new Progress({ what: "v", total: 0, stream }).end();
  expect(texts).toEqual([bar("[##############################] v: 0 of 0"), "\n"]);
});

test.each([
  [2, "1 of 2, 30 a minute, 2 s left"],
  [60, "1 of 2, 1 a minute, 1 min 0 s left"],
  [100, "1 of 2, 36 an hour, 1 min 40 s left"],
  [3_599, "1 of 2, 1 an hour, 59 min 59 s left"],
  [3_600, "1 of 2, 1 an hour, 1 h 0 min left"],
])("a slow step of %d s shows its rate in a longer time", (seconds, text) => {
  const texts: string[] = [];
  const stream = { isTTY: true, columns: 80, write: (line: string) => texts.push(line) > 0 };
  const progress = new Progress({ what: "s", total: 2, stream });
  vi.advanceTimersByTime(seconds * 1_000 - 1);
  progress.add(1);
  progress.end();
  expect(texts.at(-2)).toContain(text);
});

test("it can show nothing, and is where work is interrupted", () => {
  expect([written(true, { quiet: true }), written(false, { quiet: true })]).toEqual([[], []]);
  const stopping = new AbortController();
  const progress = new Progress({ what: "work", total: 3, quiet: true, stopping: stopping.signal });
  progress.add(1);
  stopping.abort(new Error("enough"));
  expect(() => progress.add(1)).toThrow("enough");
  expect(() => progress.step("the next step")).toThrow("enough");
});
