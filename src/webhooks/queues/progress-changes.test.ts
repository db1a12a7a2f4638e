import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import type { OpenRow, Progress } from "./delivery-queue.ts";
import { OpenRows } from "./open-rows.ts";
import { ProgressChanges } from "./progress-changes.ts";

const at = (time: number) => time as Instant;
const WRITTEN: Progress = {
  ...{ readTo: 5n, accepted: [7n, 9n], batchEnd: 12n },
  ...{ failingSince: at(1), lastFailureAt: at(2), lastSuccessAt: at(3) },
};

test.each<Partial<Progress>>([
  { readTo: 6n },
  { accepted: [7n] },
  { accepted: [7n, 10n] },
  { batchEnd: undefined },
  { failingSince: undefined },
  { lastFailureAt: at(4) },
  { lastSuccessAt: at(4) },
])("what has changed in %o is written, once", (change) => {
  const [changes, rows] = [new ProgressChanges(WRITTEN), new OpenRows([])];
  expect(changes.take({ ...WRITTEN, accepted: [7n, 9n] }, rows)).toBeUndefined();
  const taken = { progress: { ...WRITTEN, ...change }, rows: new Map() };
  expect(changes.take(taken.progress, rows)).toEqual(taken);
  changes.onWritten(taken);
  expect(changes.take({ ...taken.progress }, rows)).toBeUndefined();
});

test("of a row that has changed again since a write that failed the newer state is written", () => {
  const row = (attempts: number, number = 6n): OpenRow => ({
    ...{ number, objectId: "object", status: "RETRYING", attempts },
    ...{ nextAttemptAt: at(9), lastError: "answered 500" },
  });
  const rows = new OpenRows([]);
  for (const one of [row(1), row(1, 8n)]) rows.set(one);
  const failed = rows.takeChanges();
  rows.set(row(2));
  rows.restoreChanges(failed);
  expect(rows.takeChanges()).toEqual(
    new Map([
      [6n, row(2)],
      [8n, row(1, 8n)],
    ]),
  );
  expect(rows.hasChanges).toBe(false);
});
