import { expect, test } from "vitest";
import { matchJournalId, NO_EXECUTION, nextMatchId } from "../exchange/execution-id.ts";
import type { StoredBatch } from "../ledger/stored-batches.ts";
import type { Instant } from "../std/clock.ts";
import { IdSource, siblingId, type Uuid } from "../std/id.ts";
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
  ["legal_hold_placed", id, ["legal-hold", id]],
  ["legal_hold_lifted", siblingId(id), ["legal-hold", id]],
  ["withdrawal_held", id, ["transfer", id]],
  ["withdrawal_released", siblingId(id), ["transfer", id]],
] as const)("a journal %s belongs to the record whose id follows from its own", (cause, journal, record) => {
  expect(recordOf(journal, cause)).toEqual(record);
});

test("the journals of a batch are in id order, in whatever order they were read", () => {
  const ids = new IdSource();
  const [first, second, third] = [ids.next(), ids.next(), ids.next()];
  const batch: Pick<StoredBatch, "journals"> = { journals: new Map([second, third, first].map((each) => [each, []])) };
  expect(journalsOf(batch as StoredBatch).map((journal) => journal.id)).toEqual([first, second, third]);
});

test("the postings of a journal are in the order of each account's versions, in whatever order they were read", () => {
  const [one, other] = ["0190d5a4-7e1b-7c3d-8a2f-00000000000a", "0190d5a4-7e1b-7c3d-8a2f-00000000000b"] as Uuid[];
  const of = (ownerId: Uuid | undefined, asset: string, version: bigint) => ({ ownerId, asset, version });
  const inOrder = [
    of(one, "BTC", 7n),
    of(one, "USD", 9n),
    of(one, "USD", 10n),
    of(one, "USD", 100n),
    of(other, "USD", 2n),
  ];
  const read = [3, 1, 4, 0, 2].map((place) => inOrder[place]);
  const batch = { journals: new Map([[id, read]]) } as unknown as StoredBatch;
  expect(journalsOf(batch)).toEqual([{ id, batch, postings: inOrder }]);
});
