/** What was stored of a webhook goes on under its new settings: with other types, or in another order. */
import { expect, test } from "vitest";
import { ACCEPTED, NOTHING_YET } from "../../../test/support/queue-world.ts";
import type { Instant } from "../../std/clock.ts";
import type { OpenRow, Outcome, Post, ReadEvent } from "./delivery-queue.ts";
import { ObjectQueue } from "./object-queue.ts";
import { StrictQueue } from "./strict-queue.ts";

const NOW = 1_000_000 as Instant;
const HOUR = 3_600_000;
const FAILED: Outcome = { kind: "failed", error: "answered 500" };
const COMMON = { deliveriesPerSecond: 100, now: NOW, random: () => 0.5 };

const row = (number: bigint, more: Partial<OpenRow> = {}): OpenRow => ({
  ...{ number, objectId: "object", status: "RETRYING", attempts: 1, nextAttemptAt: NOW, lastError: "answered 500" },
  ...more,
});
const blocked = (number: bigint): OpenRow =>
  row(number, { status: "BLOCKED", attempts: 0, nextAttemptAt: undefined, lastError: undefined });

const upTo = (last: number, first: number): bigint[] =>
  Array.from({ length: last - first + 1 }, (_, i) => BigInt(first + i));

/** A strict webhook that is trying the batch behind the event 4 again; of its new types are these events. */
function strictQueue(batchEnd: bigint, events: readonly bigint[], rows: readonly OpenRow[], mostOnPage = 100) {
  const queue = new StrictQueue<ReadEvent>({ ...COMMON, stored: { ...NOTHING_YET, readTo: 4n, batchEnd }, rows });
  const readAll = (): void => {
    for (let wanted = queue.wantedPage(); wanted !== undefined; wanted = queue.wantedPage()) {
      const { after, limit } = wanted;
      queue.onReading();
      const behind = events.filter((number) => number > after);
      const page = behind
        .slice(0, Math.min(limit, mostOnPage))
        .map((number) => ({ number, objectId: "object", bytes: 1 }));
      const isLast = page.length === behind.length;
      queue.addPage(after, { events: page, searchedTo: isLast ? 1_000n : (page.at(-1)?.number ?? after), isLast });
    }
  };
  const write = () => {
    const changes = queue.takeChanges();
    if (changes !== undefined) queue.onWritten(changes);
    return changes;
  };
  /** The numbers of what is posted, which is accepted. */
  const post = (): readonly bigint[] | undefined => {
    readAll();
    write();
    const taken = queue.take(NOW);
    if (taken !== undefined) queue.settle(taken, ACCEPTED, NOW);
    return taken?.numbers;
  };
  return { queue, readAll, write, post };
}

test("a strict webhook whose batch has none of its types any more goes on behind it", () => {
  const { readAll, write, queue, post } = strictQueue(7n, [9n], [row(5n), row(7n)]);
  readAll();
  expect(queue.take(NOW)).toBeUndefined();
  expect(write()).toEqual({
    progress: { ...NOTHING_YET, readTo: 8n, batchEnd: 9n },
    rows: new Map([
      [5n, undefined],
      [7n, undefined],
    ]),
  });
  expect([post(), post()]).toEqual([[9n], undefined]);
});

test.each([
  [300n, 100],
  [160n, 100],
  // The more a page's events have, the fewer they are.
  [110n, 60],
])("a strict webhook whose batch up to %d has more events now gets 100 at once, read by %d", (end, mostOnPage) => {
  const { post } = strictQueue(end, upTo(310, 5), [], mostOnPage);
  const [first = [], ...others] = Array.from({ length: 6 }, post).flatMap((numbers) => (numbers ? [numbers] : []));
  expect([first, others.flat()]).toEqual([upTo(104, 5), upTo(310, 105)]);
  expect(Math.max(...others.map(({ length }) => length))).toBeLessThanOrEqual(100);
});

test("a strict webhook gets 100 events at once, though more were read while the batch before was posted", () => {
  const queue = new StrictQueue<ReadEvent>({ ...COMMON, stored: NOTHING_YET, rows: [] });
  const read = (last: number, first: number): void => {
    const events = upTo(last, first).map((number) => ({ number, objectId: "object", bytes: 1 }));
    expect(queue.wantedPage()).toEqual({ after: BigInt(first - 1), limit: 100 });
    queue.onReading();
    queue.addPage(BigInt(first - 1), { events, searchedTo: BigInt(last), isLast: true });
    const changes = queue.takeChanges();
    if (changes !== undefined) queue.onWritten(changes);
    queue.onNews();
  };
  read(1, 1);
  const first = queue.take(NOW) as Post<ReadEvent>;
  read(99, 2);
  read(199, 100);
  queue.settle(first, ACCEPTED, NOW);
  const changes = queue.takeChanges();
  if (changes !== undefined) queue.onWritten(changes);
  expect([first.numbers, queue.take(NOW)?.numbers]).toEqual([[1n], upTo(101, 2)]);
});

/** A webhook that reads no further. */
function objectQueue(isOrdered: boolean, rows: readonly OpenRow[]) {
  const queue = new ObjectQueue<ReadEvent>(isOrdered, { ...COMMON, stored: { ...NOTHING_YET, readTo: 9n }, rows });
  /** What is in flight then. */
  const takeAll = (at: number = NOW): Post<ReadEvent>[] => {
    const taken: Post<ReadEvent>[] = [];
    for (let post = queue.take(at as Instant); post !== undefined; post = queue.take(at as Instant)) taken.push(post);
    return taken;
  };
  const numbersOf = (posts: readonly Post<ReadEvent>[]) => posts.flatMap(({ numbers }) => numbers);
  return { queue, takeAll, numbersOf };
}

test("what was tried again in any order waits for the first of its object, once there is an order", () => {
  const { queue, takeAll, numbersOf } = objectQueue(true, [row(4n), row(3n)]);
  const [first] = takeAll();
  expect(first).toEqual({ numbers: [3n], events: undefined });
  queue.settle(first as Post<ReadEvent>, FAILED, NOW);
  expect(takeAll()).toEqual([]);
  const [again] = takeAll(NOW + HOUR);
  expect(again).toEqual({ numbers: [3n], events: undefined });
  queue.settle(again as Post<ReadEvent>, ACCEPTED, (NOW + HOUR) as Instant);
  expect(numbersOf(takeAll(NOW + HOUR))).toEqual([4n]);
});

test("what was blocked is tried at once, when there is no order any more", () => {
  const { takeAll, numbersOf } = objectQueue(false, [row(3n, { nextAttemptAt: (NOW + HOUR) as Instant }), blocked(4n)]);
  expect(numbersOf(takeAll())).toEqual([4n]);
});

test("behind an event that is no longer kept the next one of its object is tried", () => {
  const { queue, takeAll, numbersOf } = objectQueue(true, [row(3n), blocked(4n)]);
  const [dropped] = takeAll();
  queue.drop(dropped as Post<ReadEvent>, NOW);
  expect(numbersOf(takeAll())).toEqual([4n]);
});

test("of what is tried again comes first what is due first", () => {
  const due = (number: bigint, ms: number): OpenRow =>
    row(number, { objectId: `object ${number}`, nextAttemptAt: (NOW + ms) as Instant });
  const { queue, takeAll, numbersOf } = objectQueue(true, [
    due(3n, HOUR),
    due(4n, 2_000),
    due(5n, 1_000),
    due(6n, 3_000),
  ]);
  expect(queue.nextDueAt(NOW)).toBe(NOW + 1_000);
  expect(numbersOf(takeAll(NOW + 2_500))).toEqual([5n]);
});
