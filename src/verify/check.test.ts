import { expect, test } from "vitest";
import { gate } from "../../test/support/gate.ts";
import type { Database } from "../postgres/database.ts";
import { type Examination, examine, type Finding, type ProgressListener } from "./check.ts";

const DATABASE = {} as Database;

const examining = (checks: string[], run: Examination["run"]): Examination => ({ checks, reads: [], run });
const run = (examinations: Examination[], watcher: ProgressListener = {}) => examine(DATABASE, examinations, watcher);

test("two examinations run at the same time, and their results are in their order", async () => {
  const [second, third] = [gate(), gate()];
  const found: Finding[] = [];
  const first = examining(["one", "shared"], async (_, tally) => {
    tally("one").examined(2);
    // Only if the others run meanwhile.
    await third.opened;
    tally("shared").examined(1);
    tally("shared").broken("record 1", "is wrong");
  });
  const other = examining(["two"], async (_, tally) => {
    tally("two").examined(3);
    tally("shared").examined(1);
    tally("shared").broken("record 2", "is wrong too");
    tally("one").broken("record 3", "is missing");
    second.open();
  });
  const last = examining(["three"], async () => {
    await second.opened;
    third.open();
  });
  const results = await run([first, other, last], { found: (finding) => found.push(finding) });
  const record1 = { check: "shared", record: "record 1", message: "is wrong" };
  const record2 = { check: "shared", record: "record 2", message: "is wrong too" };
  const record3 = { check: "one", record: "record 3", message: "is missing" };
  expect(results).toEqual([
    { check: "one", examined: 2, broken: 1, first: record3 },
    { check: "shared", examined: 2, broken: 2, first: record1 },
    { check: "two", examined: 3, broken: 0, first: undefined },
    { check: "three", examined: 0, broken: 0, first: undefined },
  ]);
  // As they are found.
  expect(found).toEqual([record2, record3, record1]);
});

test("when one fails, the other ends at its next page, no other begins, and the failure is thrown", async () => {
  const fault = new Error("the database cannot be reached");
  const failed = gate();
  let pages = 0;
  const endless = examining(["endless"], async (_, tally) => {
    await failed.opened;
    for (; pages < 1_000; pages += 1) {
      // Lets the other one's failure arrive.
      await new Promise((resolve) => setImmediate(resolve));
      tally("endless").read(1);
    }
  });
  const failing = examining(["failing"], async () => {
    failed.open();
    throw fault;
  });
  const never = examining(["never"], async () => expect.unreachable("nothing begins after a failure"));
  await expect(run([endless, failing, never])).rejects.toBe(fault);
  expect(pages).toBeLessThan(2);
});
