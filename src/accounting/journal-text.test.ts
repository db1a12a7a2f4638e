import { expect, test } from "vitest";
import { matchJournalId, NO_EXECUTION, nextMatchId } from "../exchange/execution-id.ts";
import type { StoredBatch } from "../ledger/stored-batches.ts";
import type { Instant } from "../std/clock.ts";
import { IdSource, siblingId } from "../std/id.ts";
import { journalsOf, recordOf } from "./journal-text.ts";

const id = new IdSource().next();
const match = nextMatchId(NO_EXECUTION, 7, Date.parse("2026-11-21T09:30:00Z") as Instant);

/** docs/schema.md#ids-carry-the-links */
test.each([
  ["deposit", id, ["transfer", id]],
  ["withdrawal", id, ["transfer", id]],
  ["transfer", id, ["transfer", id]],
  ["conversion_created", id, ["conversion", id]],
  ["conversion_settled", siblingId(id), ["conversion", id]],
  ["conversion_cancelled", siblingId(id), ["conversion", id]],
  ["order_held", id, ["order", id]],
  ["order_released", siblingId(id), ["order", id]],
  ["order_filled", matchJournalId(match), ["execution", `${match}`]],
] as const)("a journal %s belongs to the record whose id follows from its own", (cause, journal, record) => {
  expect(recordOf(journal, cause)).toEqual(record);
});

test("the journals of a batch are in id order, in whatever order they were read", () => {
  const ids = new IdSource();
  const [first, second, third] = [ids.next(), ids.next(), ids.next()];
  const batch: Pick<StoredBatch, "journals"> = { journals: new Map([second, third, first].map((each) => [each, []])) };
  expect(journalsOf(batch as StoredBatch).map((journal) => journal.id)).toEqual([first, second, third]);
});
