/**
 * Events: the cuts are numbered without gaps, and each made the events that the chain says. Those that are still listed stand
 * in the rows of `event`, word by word, and a customer's numbers have no gap. Cuts, rows and batches never change, so they
 * may be read one after the other while new ones come. But rows that are old enough are removed, together with the cuts'
 * being listed: whatever is said of the rows of some cuts is read in one snapshot.
 */

import type { CustomerId } from "../../customers/customer-id.ts";
import { digestOfFacts, type EventRow, rowsOf } from "../../events/event-rows.ts";
import { readBatches } from "../../events/publishing/chain-store.ts";
import { changedMarkets, contentOf, rangesBetween } from "../../events/publishing/cut-content.ts";
import { type AddedBatch, type Heads, NO_HEADS } from "../../events/publishing/event-batch.ts";
import { RememberedStates } from "../../events/publishing/remembered-states.ts";
import {
  type Cut,
  findRowsWithoutCut,
  readCuts,
  readFirstCut,
  readRowsBefore,
  readRowsOfCuts,
  type StoredRow,
} from "../../events/store.ts";
import type { Queryable } from "../../postgres/database.ts";
import { rangesOfTable } from "../../postgres/physical-order.ts";
import type { Examination, Tally } from "../check.ts";

const EVENTS = "events";

/** Cuts that are read at once, and the events at which a group of them ends. */
const CUTS = 200;
const EVENTS_IN_GROUP = 5_000;

export const eventsExamination: Examination = {
  checks: [EVENTS],
  reads: ["batch", "event"],
  run: async (database, tally) => {
    const remembered = new RememberedStates();
    let before: Pick<Cut, "number" | "at" | "heads"> = { number: 0n, at: 0 as Cut["at"], heads: NO_HEADS };
    for (;;) {
      const cuts = await readCuts(database, before.number + 1n, CUTS);
      for (const group of groupsOf(cuts)) {
        await database.transaction(async (snapshot) => {
          await snapshot.rows("set transaction isolation level repeatable read read only");
          // A machine that was suspended for a moment goes on.
          await snapshot.rows("set local idle_in_transaction_session_timeout = '5min'");
          await compareGroup(snapshot, before, group, remembered, tally(EVENTS));
        }, "any time");
        before = group.at(-1) ?? before;
      }
      if (cuts.length < CUTS) break;
    }
    for await (const places of rangesOfTable(database, "event")) {
      for (const row of await findRowsWithoutCut(database, places))
        tally(EVENTS).broken(rowName(row), "belongs to no cut");
    }
  },
};

const cutName = (number: bigint): string => `event_cut ${number}`;
const rowName = ({ customerId, firstNumber }: Pick<EventRow, "customerId" | "firstNumber">): string =>
  `event ${customerId}/${firstNumber}`;

function groupsOf(cuts: readonly Cut[]): Cut[][] {
  const groups: Cut[][] = [];
  let events = Number.POSITIVE_INFINITY;
  for (const cut of cuts) {
    if (events >= EVENTS_IN_GROUP) {
      groups.push([]);
      events = 0;
    }
    groups.at(-1)?.push(cut);
    events += cut.events;
  }
  return groups;
}

/** @param database a snapshot */
async function compareGroup(
  database: Queryable,
  before: Pick<Cut, "number" | "at" | "heads">,
  cuts: readonly Cut[],
  remembered: RememberedStates,
  tally: Tally,
): Promise<void> {
  const [first, last] = [cuts[0], cuts.at(-1)];
  if (first === undefined || last === undefined) return;
  const firstKept = await readFirstCut(database);
  const batches: AddedBatch[] = [];
  for (const range of rangesBetween(before.heads, furthest(cuts)))
    batches.push(...(await readBatches(database, range)));
  const firstListed = cuts.find(({ number }) => number >= firstKept);
  const stored = firstListed === undefined ? [] : await readRowsOfCuts(database, firstListed.number, last.number);
  tally.read(batches.length + stored.length);
  const numbers = await numbersBefore(database, stored, firstKept);
  let previous = before;
  for (const cut of cuts) {
    tally.examined(Math.max(1, cut.events));
    comparePlace(previous, cut, tally);
    const own = between(batches, previous.heads, cut.heads);
    const { facts } = await contentOf(database, own, cut, cut.number < firstKept ? remembered : undefined);
    // Its rows may be removed before the next cuts are read.
    remembered.note(facts);
    if ([...cut.marketReaders.keys()].sort().join() !== changedMarkets(own).join())
      tally.broken(cutName(cut.number), "has not the readers of the markets that were halted or resumed in it");
    if (facts.length !== cut.events || !digestOfFacts(facts).equals(cut.digest))
      tally.broken(cutName(cut.number), "did not make the events that the chain says");
    if (cut.number >= firstKept) {
      const rows = rowsOf(facts, numbers);
      const rowsOfCut = stored.filter((row) => row.cut === cut.number);
      compareRows(cut, rows, rowsOfCut, tally);
      for (const { customerId, firstNumber, count } of rows) numbers.set(customerId, firstNumber + BigInt(count) - 1n);
    }
    previous = cut;
  }
}

/** Of each slot, the last batch in any of these cuts: in sound ones, those of the last cut. */
function furthest(cuts: readonly Cut[]): Heads {
  const heads = new Map<number, bigint>();
  for (const [slot, n] of cuts.flatMap((cut) => [...cut.heads])) if (n > (heads.get(slot) ?? -1n)) heads.set(slot, n);
  return heads;
}

function comparePlace(previous: Pick<Cut, "number" | "at" | "heads">, cut: Cut, tally: Tally): void {
  if (cut.number !== previous.number + 1n)
    tally.broken(cutName(previous.number + 1n), `is missing: the next one is ${cutName(cut.number)}`);
  if (cut.at < previous.at) tally.broken(cutName(cut.number), "is earlier than the one before");
  const isBack = [...previous.heads].some(([slot, n]) => (cut.heads.get(slot) ?? -1n) < n);
  if (isBack) tally.broken(cutName(cut.number), "ends before the one before it");
}

function between(batches: readonly AddedBatch[], after: Heads, until: Heads): AddedBatch[] {
  return batches.filter(({ slot, n }) => n > (after.get(slot) ?? -1n) && n <= (until.get(slot) ?? -1n));
}

/** The number of each customer's last event before these rows. Of a customer whose earlier rows were removed it is taken as it is. */
async function numbersBefore(
  database: Queryable,
  rows: readonly StoredRow[],
  firstKept: bigint,
): Promise<Map<CustomerId, bigint>> {
  const first = new Map<CustomerId, StoredRow>();
  for (const row of rows) {
    const known = first.get(row.customerId);
    if (known === undefined || row.firstNumber < known.firstNumber) first.set(row.customerId, row);
  }
  const earlier = await readRowsBefore(database, [...first.values()]);
  const numbers = new Map<CustomerId, bigint>();
  for (const [customerId, { firstNumber }] of first) {
    const row = earlier.get(customerId);
    const isRemoved = firstKept > 1n && (row === undefined || row.cut < firstKept);
    numbers.set(customerId, isRemoved ? firstNumber - 1n : (row?.lastNumber ?? 0n));
  }
  return numbers;
}

function compareRows(cut: Cut, expected: readonly EventRow[], stored: readonly StoredRow[], tally: Tally): void {
  const left = new Map(stored.map((row) => [rowName(row), row]));
  for (const row of expected) {
    const name = rowName(row);
    const found = left.get(name);
    left.delete(name);
    if (found === undefined) tally.broken(name, `is missing, but ${cutName(cut.number)} made it`);
    else if (!isSame(row, found)) tally.broken(name, "is not what the chain says");
    else if (found.at !== cut.at) tally.broken(name, `has not the time of ${cutName(cut.number)}`);
  }
  for (const name of left.keys()) tally.broken(name, `was not made by ${cutName(cut.number)}, to which it refers`);
}

function isSame(one: EventRow, other: EventRow): boolean {
  return one.count === other.count && one.objectId === other.objectId && one.entries === other.entries;
}
