import { expect, test } from "vitest";
import { Progress } from "./progress.ts";

/** What it writes while a hundred are done every ten seconds. */
function written(isTTY: boolean): string[] {
  const texts: string[] = [];
  let now = 0;
  const stream = { isTTY, write: (text: string) => texts.push(text) > 0 };
  const progress = new Progress(1_000, stream, () => now);
  for (let i = 0; i < 10; i += 1) {
    now += 10_000;
    progress.add(100);
  }
  progress.end();
  return texts;
}

test("a terminal has a bar with the rate and the time left", () => {
  const bar = (text: string) => `\r${text}\u001b[K`;
  const texts = written(true);
  expect([texts[0], texts[4], ...texts.slice(-2)]).toEqual([
    bar("[###---------------------------] 100 of 1,000, 10 a second, 1 min 30 s left"),
    bar("[###############---------------] 500 of 1,000, 10 a second, 50 s left"),
    bar("[##############################] 1,000 of 1,000, 10 a second, 0 s left"),
    "\n",
  ]);
});

test("without a terminal there is a line every half a minute", () => {
  expect(written(false)).toEqual([
    "300 of 1,000, 10 a second, 1 min 10 s left\n",
    "600 of 1,000, 10 a second, 40 s left\n",
    "900 of 1,000, 10 a second, 10 s left\n",
  ]);
});
