/** Reads what lies between two cuts, and which cut can come next. */
import { setImmediate as otherWork } from "node:timers/promises";
import { readHeads } from "../../ledger/stored-batches.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import {
  customerOf,
  type Fact,
  factsOf,
  hasEvent,
  type Known,
  type MarketReaders,
  marketChangesIn,
  type ObjectVersion,
  objectKey,
  type State,
  versionsIn,
} from "../facts.ts";
import { type Before, type Cut, readLastStates } from "../store.ts";
import {
  findMarketReaders,
  type Range,
  readBatches,
  readCustomersOf,
  readOrderedBatches,
  replayStates,
  withSteppedTypes,
} from "./chain-store.ts";
import {
  type AddedBatch,
  type EventBatch,
  type Heads,
  inOrder,
  type OrderedBatch,
  safeBeginning,
} from "./event-batch.ts";
import type { RecentBatches } from "./recent-batches.ts";
import type { RememberedStates } from "./remembered-states.ts";

/** The batches between two cuts, by slot. */
export function rangesBetween(after: Heads, until: Heads): Range[] {
  return [...until].flatMap(([slot, n]) => {
    const last = after.get(slot) ?? -1n;
    return n > last ? [{ slot, after: last, until: n }] : [];
  });
}

export interface CutContent {
  readonly facts: readonly Fact[];
  /** Of each market that was halted or resumed. */
  readonly marketReaders: MarketReaders;
  /** The time of the latest batch. */
  readonly lastAt: Instant | undefined;
}

/** A cut: one that is being made does not know its `marketReaders` yet, which are then read. */
export type NumberedCut = Pick<Cut, "number"> & Partial<Pick<Cut, "marketReaders">>;

/**
 * @param cut the one that ends with `until`
 * @param recent of some slots, all batches between the cuts: they are not read
 */
export async function readContent(
  database: Queryable,
  after: Heads,
  until: Heads,
  cut: NumberedCut,
  recent: RecentOfSlots = new Map(),
): Promise<CutContent> {
  const batches: AddedBatch[] = [];
  for (const range of rangesBetween(after, until))
    batches.push(...(recent.get(range.slot) ?? (await readBatches(database, range))));
  return contentOf(database, batches, cut);
}

/**
 * @param batches in any order: all between a cut and the one before it
 * @param remembered the states that earlier cuts left, if events of these cuts were removed: then no event is read
 */
export async function contentOf(
  database: Queryable,
  batches: readonly AddedBatch[],
  cut: NumberedCut,
  remembered?: RememberedStates,
): Promise<CutContent> {
  const ordered = inOrder(await withSteppedTypes(database, batches));
  const { marketReaders = await findMarketReaders(database, changedMarkets(ordered)) } = cut;
  const known = await readKnown(database, ordered, cut.number, remembered);
  const facts = await inSlices(factsOf(ordered, { ...known, marketReaders }));
  const lastAt = ordered.reduce((latest, { at }) => Math.max(latest, at), 0) as Instant;
  return { facts, marketReaders, lastAt: ordered.length === 0 ? undefined : lastAt };
}

/** Some milliseconds of work. A cut of a busy second has more than a thousand facts. */
const SLICE = 50;

/** Others' requests have their turn between the slices. */
async function inSlices(parts: Iterable<readonly Fact[]>): Promise<Fact[]> {
  const all: Fact[] = [];
  let sliceEnd = SLICE;
  for (const facts of parts) {
    for (const fact of facts) all.push(fact);
    if (all.length < sliceEnd) continue;
    sliceEnd = all.length + SLICE;
    await otherWork();
  }
  return all;
}

/** The codes of the markets that these batches halted or resumed, in order. */
export function changedMarkets(batches: readonly Pick<EventBatch, "written">[]): string[] {
  return [...new Set(batches.flatMap(marketChangesIn).map(([market]) => market))].sort();
}

type KnownOfObjects = Omit<Known, "marketReaders">;

async function readKnown(
  database: Queryable,
  ordered: readonly EventBatch[],
  cut: bigint,
  remembered?: RememberedStates,
): Promise<KnownOfObjects> {
  const versions = ordered.flatMap(versionsIn);
  if (versions.length === 0) return { customers: new Map(), states: new Map() };
  const profiles = new Set(versions.flatMap(({ profileId }) => profileId ?? []));
  const customers = await readCustomersOf(database, [...profiles]);
  const before = firstVersions(versions).flatMap((version): Before[] => {
    const customerId = customerOf(version, customers);
    return customerId === undefined ? [] : [{ customerId, version }];
  });
  const states = new Map<string, State>();
  for (const { version } of before) {
    const state = remembered?.find(version.objectId);
    if (state !== undefined) states.set(objectKey(version), state);
  }
  const unknown = before.filter(({ version }) => !states.has(objectKey(version)));
  if (unknown.length === 0) return { customers, states };
  // Of an object's removed events an earlier one than the last may have stayed, so what is left is not its state.
  if (remembered === undefined)
    for (const [key, state] of await readLastStates(database, unknown, cut)) states.set(key, state);
  const unread = unknown.flatMap(({ version }) => (states.has(objectKey(version)) ? [] : [version]));
  if (unread.length > 0) for (const [key, state] of await replayStates(database, unread)) states.set(key, state);
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

/** The most batches in one cut that are read at once. */
const MOST_BATCHES = 200;

/**
 * The heads of the next cut. Up to date, they are the heads of all slots as one statement sees them: whatever a batch rests
 * on has committed before it, so it is among them. Far behind, they are the end of a part that is as complete.
 *
 * @param skewMs how far the clocks of nodes may be apart
 * @param recent what this process has committed
 * @returns undefined if there is nothing new
 */
export async function findNext(
  database: Queryable,
  after: Heads,
  skewMs: number,
  recent: RecentBatches | undefined,
): Promise<NextCut | undefined> {
  const found = await readHeads(database);
  const heads = new Map(found.map(({ slot, n }) => [slot, n]));
  const ranges = rangesBetween(after, heads);
  if (ranges.length === 0) return undefined;
  const known: RecentOfSlots = new Map(
    ranges.flatMap((range): [number, AddedBatch[]][] => {
      const hash = found.find(({ slot }) => slot === range.slot)?.hash;
      const batches = recent?.within(range, hash);
      return batches === undefined ? [] : [[range.slot, batches]];
    }),
  );
  const unread = ranges.filter(({ slot }) => !known.has(slot));
  if (countOf(unread) <= MOST_BATCHES) return { heads, recent: known };
  return { heads: await findPartialHeads(database, after, ranges, skewMs), recent: new Map() };
}

const countOf = (ranges: readonly Range[]): bigint =>
  ranges.reduce((sum, range) => sum + range.until - range.after, 0n);

/** By slot: the batches behind the last cut that this process has just committed. */
export type RecentOfSlots = ReadonlyMap<number, readonly AddedBatch[]>;

export interface NextCut {
  readonly heads: Heads;
  readonly recent: RecentOfSlots;
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
