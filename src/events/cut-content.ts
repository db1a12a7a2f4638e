/** Reads what lies between two cuts, and which cut can come next. */
import { readHeads } from "../ledger/stored-batches.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { type Range, readBatches, readCustomersOf, readOrderedBatches, replayState } from "./chain-store.ts";
import { type EventBatch, type Heads, inOrder, type OrderedBatch, safeBeginning } from "./event-batch.ts";
import {
  customerOf,
  type Fact,
  factsOf,
  hasEvent,
  type Known,
  type ObjectVersion,
  objectKey,
  versionsIn,
} from "./facts.ts";
import { type Before, readLastStates } from "./store.ts";

/** The batches between two cuts, by slot. */
export function rangesBetween(after: Heads, until: Heads): Range[] {
  return [...until].flatMap(([slot, n]) => {
    const last = after.get(slot) ?? -1n;
    return n > last ? [{ slot, after: last, until: n }] : [];
  });
}

export interface CutContent {
  readonly facts: readonly Fact[];
  /** The time of the latest batch. */
  readonly lastAt: Instant | undefined;
}

/** @param cut the number of the cut that ends with `until` */
export async function readContent(database: Queryable, after: Heads, until: Heads, cut: bigint): Promise<CutContent> {
  const batches: EventBatch[] = [];
  for (const range of rangesBetween(after, until)) batches.push(...(await readBatches(database, range)));
  return contentOf(database, batches, cut);
}

/** @param batches in any order: all between a cut and the one before it */
export async function contentOf(database: Queryable, batches: readonly EventBatch[], cut: bigint): Promise<CutContent> {
  const ordered = inOrder(batches);
  const facts = factsOf(ordered, await readKnown(database, ordered, cut));
  const lastAt = ordered.reduce((latest, { at }) => Math.max(latest, at), 0) as Instant;
  return { facts, lastAt: ordered.length === 0 ? undefined : lastAt };
}

async function readKnown(database: Queryable, ordered: readonly EventBatch[], cut: bigint): Promise<Known> {
  const versions = ordered.flatMap(versionsIn);
  if (versions.length === 0) return { customers: new Map(), states: new Map() };
  const profiles = new Set(versions.flatMap(({ profileId }) => profileId ?? []));
  const customers = await readCustomersOf(database, [...profiles]);
  const before = firstVersions(versions).flatMap((version): Before[] => {
    const customerId = customerOf(version, customers);
    return customerId === undefined ? [] : [{ customerId, version }];
  });
  if (before.length === 0) return { customers, states: new Map() };
  const states = await readLastStates(database, before, cut);
  for (const { version } of before) {
    const key = objectKey(version);
    if (!states.has(key)) states.set(key, await replayState(database, version));
  }
  return { customers, states };
}

/** Of each object that existed before and has an event here, its first version. */
function firstVersions(versions: readonly ObjectVersion[]): ObjectVersion[] {
  const withEvents = new Set(versions.filter(hasEvent).map(objectKey));
  const first = new Map<string, ObjectVersion>();
  for (const version of versions) {
    const key = objectKey(version);
    if (withEvents.has(key) && !first.has(key)) first.set(key, version);
  }
  return [...first.values()].filter(({ change }) => change.version > 1n);
}

/** The most batches in one cut: what is read at once. */
const MOST_BATCHES = 200;

/**
 * The heads of the next cut. Up to date, they are the heads of all slots as one statement sees them: whatever a batch rests
 * on has committed before it, so it is among them. Far behind, they are the end of a part that is as complete.
 *
 * @param skewMs how far the clocks of nodes may be apart
 * @returns undefined if there is nothing new
 */
export async function findNextHeads(database: Queryable, after: Heads, skewMs: number): Promise<Heads | undefined> {
  const heads = new Map((await readHeads(database)).map(({ slot, n }) => [slot, n]));
  const ranges = rangesBetween(after, heads);
  const count = ranges.reduce((sum, range) => sum + range.until - range.after, 0n);
  if (count === 0n) return undefined;
  return count <= MOST_BATCHES ? heads : findPartialHeads(database, after, ranges, skewMs);
}

async function findPartialHeads(
  database: Queryable,
  after: Heads,
  ranges: readonly Range[],
  skewMs: number,
): Promise<Heads> {
  // Reading more always ends with some that are safe: at the latest with everything.
  for (let most = BigInt(MOST_BATCHES); ; most *= 2n) {
    const batches: OrderedBatch[] = [];
    const unread = new Set<number>();
    for (const { slot, after: last, until } of ranges) {
      const isCutShort = last + most < until;
      if (isCutShort) unread.add(slot);
      const range = { slot, after: last, until: isCutShort ? last + most : until };
      batches.push(...(await readOrderedBatches(database, range)));
    }
    const safe = safeBeginning(batches, unread, skewMs).slice(0, MOST_BATCHES);
    if (safe.length > 0) return headsAfter(after, safe);
  }
}

function headsAfter(after: Heads, batches: readonly OrderedBatch[]): Heads {
  const heads = new Map(after);
  for (const { slot, n } of batches) heads.set(slot, n);
  return heads;
}
