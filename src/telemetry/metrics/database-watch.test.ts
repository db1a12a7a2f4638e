import { expect, test } from "vitest";
import { pause } from "../../std/pause.ts";
import { DatabaseWatch, type Seen } from "./database-watch.ts";

const SEEN: Seen = {
  backing: { reserve: "0", supply: [], gap: "0" },
  due: { count: 0, lagMs: 0 },
  markets: [],
  clockSkewMs: 0,
  archiveFailing: undefined,
};
const LONG_MS = 3_600_000;

/** Looks that are answered when the test says so. */
function looks() {
  const waiting: { resolve: (seen: Seen) => void; reject: (error: Error) => void }[] = [];
  return { waiting, look: () => new Promise<Seen>((resolve, reject) => waiting.push({ resolve, reject })) };
}

test("nothing is known before the first look, and what it saw is told to all who ask while it is fresh", async () => {
  let count = 0;
  const watch = new DatabaseWatch(async () => {
    count += 1;
    return SEEN;
  }, LONG_MS);
  expect(watch.seen).toBeUndefined();
  await Promise.all([watch.refresh(), watch.refresh(), watch.refresh()]);
  await watch.refresh();
  expect([watch.seen, count]).toEqual([SEEN, 1]);
});

test("a database that swallows the question keeps nobody waiting, and is not asked twice at once", async () => {
  const { waiting, look } = looks();
  const watch = new DatabaseWatch(look, LONG_MS);
  await watch.refresh();
  await watch.refresh();
  expect([watch.seen, waiting.length]).toEqual([undefined, 1]);
  // Late is better than never: the next who asks is told.
  waiting[0]?.resolve(SEEN);
  await watch.refresh();
  expect([watch.seen, waiting.length]).toEqual([SEEN, 1]);
});

test("when a look fails nothing is known, and the next who asks has it looked again", async () => {
  const { waiting, look } = looks();
  const watch = new DatabaseWatch(look, LONG_MS);
  const first = watch.refresh();
  waiting[0]?.reject(new Error("away"));
  await first;
  expect(watch.seen).toBeUndefined();
  const second = watch.refresh();
  waiting[1]?.resolve(SEEN);
  await second;
  expect([watch.seen, waiting.length]).toEqual([SEEN, 2]);
});

test("what was seen is not told when it is old", async () => {
  const { waiting, look } = looks();
  const watch = new DatabaseWatch(look, 20);
  const first = watch.refresh();
  waiting[0]?.resolve(SEEN);
  await first;
  await pause(40);
  await watch.refresh();
  expect([watch.seen, waiting.length]).toEqual([undefined, 2]);
});
