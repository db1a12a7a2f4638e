/**
 * Events: what happened to a customer's money and records, numbered without gaps, each with its object as it was then. They
 * follow from the hash chain (docs/decisions/0036-events.md); here they are read.
 */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { ExecutionId } from "../exchange/execution.ts";
import { executedAtOf } from "../exchange/execution-id.ts";
import type { Queryable, QueryableWithHistory } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { instantOf, parseUuid, type Uuid } from "../std/id.ts";
import { SharedReads } from "../std/shared-reads.ts";
import { textBytesOf } from "../std/text-bytes.ts";
import type { Transfers } from "../transfers/transfers.ts";
import { ConfirmedCuts } from "./confirmed-cuts.ts";
import { entriesOfProfile } from "./entries-of-profile.ts";
import { type Entry, type EventId, eventIdOf, numberIn, readEntries } from "./event-rows.ts";
import type { EventType } from "./event-types.ts";
import { News } from "./news.ts";
import { type EventObject, objectsOf } from "./objects.ts";
import type { PublisherEvent } from "./publishing/publisher.ts";
import type { RecentTransfers } from "./recent-transfers.ts";
import {
  findCutAt,
  findNumberFromCut,
  readFirstCut,
  readLastNumber,
  readRowsOfObject,
  readRowsWithin,
  type StoredRow,
} from "./store.ts";

export type { EventId } from "./event-rows.ts";
export { EVENT_TYPES, type EventType, OBJECT_TYPES } from "./event-types.ts";
export type { EventObject } from "./objects.ts";
export { hasEndsOfLog } from "./store.ts";

export interface CustomerEvent {
  readonly id: EventId;
  readonly number: bigint;
  readonly type: EventType;
  readonly createdAt: Instant;
  /** The version of the object; undefined for one that never changes. */
  readonly version: bigint | undefined;
  readonly object: EventObject;
}

/** Filters combine with AND; what is undefined does not filter. */
export interface EventFilter {
  readonly customerId: CustomerId;
  readonly types?: readonly EventType[] | undefined;
  /** Of a transfer, a conversion, an order, a profile or a webhook; the number of an execution; the code of a market. */
  readonly objectId?: string | undefined;
  readonly profileId?: string | undefined;
  readonly createdFrom?: Instant | undefined;
  readonly createdBefore?: Instant | undefined;
  /** Events behind this number. */
  readonly after: bigint;
  readonly limit: number;
  /** In bytes: the page ends before its objects, of up to ten kilobytes, have more text. It always has at least one event. */
  readonly mostBytes?: number | undefined;
}

export interface EventPage {
  readonly events: readonly CustomerEvent[];
  /** The number up to which was searched: the next page begins behind it. */
  readonly searchedTo: bigint;
  /** Whether there may be more by now. False also when a page was ended because so much did not match. */
  readonly isLast: boolean;
}

export interface Events {
  /** Names the history of the database that is read now: in another one a number may be that of another event. */
  readonly history: string;
  /**
   * Oldest first. A page may be short, or empty, and not be the last. Callers that ask for the same at the same time share it,
   * if there are no filters: one event wakes all that wait for the next.
   * @param isAwaited false once the reader has gone: then the search ends
   */
  list(filter: EventFilter, isAwaited?: () => boolean): Promise<EventPage>;
  find(customerId: CustomerId, id: Uuid): Promise<CustomerEvent | undefined>;
  /** The number of the customer's first event that is still listed, and of its last; 0 without any. */
  bounds(customerId: CustomerId): Promise<{ readonly first: bigint; readonly last: bigint }>;
  /** Calls the listener when there may be new events of the customer. @returns a function that removes it */
  onNews(customerId: CustomerId, listener: () => void): () => void;
  /** What the publisher of this process does. */
  onPublisher(event: PublisherEvent): void;
}

interface Options {
  readonly database: QueryableWithHistory;
  readonly catalogue: Pick<Catalogue, "learnMarkets">;
  readonly transfers: Pick<Transfers, "findRecords" | "list">;
  readonly recentTransfers: Pick<RecentTransfers, "find" | "follow">;
}

interface Parts extends Options {
  readonly confirmed: ConfirmedCuts;
}

export function createEvents(options: Options): Events {
  const news = new News(options.database);
  const confirmed = new ConfirmedCuts(options.database);
  const parts = { ...options, confirmed };
  const pages = new SharedReads((filter: EventFilter) => listEvents(parts, filter, () => true), pageName);
  const bounds = new SharedReads((customerId: CustomerId) => readBounds(parts, customerId));
  return {
    get history() {
      return options.database.history;
    },
    list: (filter, isAwaited = () => true) =>
      hasFilters(filter) ? listEvents(parts, filter, isAwaited) : pages.get(filter),
    find: (customerId, id) => findEvent(parts, customerId, id),
    bounds: (customerId) => bounds.get(customerId),
    onNews: (customerId, listener) => {
      const ends = [news.listen(customerId, listener), parts.recentTransfers.follow(customerId)];
      return () => {
        for (const end of ends) end();
      };
    },
    onPublisher: (event) => {
      if (event.kind === "leading" || event.kind === "ended") news.isPublishing = event.kind === "leading";
      if (event.kind !== "published") return;
      confirmed.published(event.cut.number);
      news.published(event.cut.number, event.cut.customers);
    },
  };
}

const hasFilters = ({ types, objectId, profileId, createdFrom, createdBefore }: EventFilter): boolean =>
  (types ?? objectId ?? profileId ?? createdFrom ?? createdBefore) !== undefined;

const pageName = ({ customerId, after, limit, mostBytes }: EventFilter): string =>
  `${customerId}/${after}/${limit}/${mostBytes}`;

/** Events that one page with filters examines at most, and how many are read at once. */
const MOST_EXAMINED = 10_000;
const EXAMINED_AT_ONCE = 200;
/** Of a page with a bound in bytes, objects that are read at once: those that have no room were read for nothing. */
const OBJECTS_AT_ONCE = 40;

/** An event with the time of its row. */
interface Dated {
  readonly entry: Entry;
  readonly at: Instant;
}

async function listEvents(parts: Parts, filter: EventFilter, isAwaited: () => boolean): Promise<EventPage> {
  const source = await sourceOf(parts, filter);
  const { limit, mostBytes = Number.POSITIVE_INFINITY } = filter;
  const found: CustomerEvent[] = [];
  let bytes = 0;
  let searchedTo = filter.after;
  for (let examined = 0; examined < MOST_EXAMINED && isAwaited(); ) {
    const { entries, isLast } = await source.next();
    for await (const event of matchingEvents(parts, filter, entries)) {
      if (filter.mostBytes !== undefined) bytes += textBytesOf(event.object.value);
      if (found.length === limit || (found.length > 0 && bytes > mostBytes))
        return { events: found, searchedTo: found.at(-1)?.number ?? searchedTo, isLast: false };
      found.push(event);
    }
    examined += entries.length;
    searchedTo = entries.at(-1)?.entry.number ?? searchedTo;
    if (isLast) return { events: found, searchedTo, isLast };
  }
  return { events: found, searchedTo, isLast: false };
}

async function* matchingEvents(
  parts: Parts,
  { customerId, types, objectId, profileId, limit, mostBytes }: EventFilter,
  entries: readonly Dated[],
): AsyncGenerator<CustomerEvent> {
  const some = entries.filter(
    ({ entry }) => (types?.includes(entry.type) ?? true) && (objectId === undefined || entry.objectId === objectId),
  );
  const matching = profileId === undefined ? some : await entriesOfProfile(parts, customerId, profileId, some);
  const atOnce = mostBytes === undefined ? limit + 1 : Math.min(limit + 1, OBJECTS_AT_ONCE);
  for (let begin = 0; begin < matching.length; begin += atOnce)
    yield* await withObjects(parts, customerId, matching.slice(begin, begin + atOnce));
}

async function withObjects(parts: Parts, customerId: CustomerId, entries: readonly Dated[]): Promise<CustomerEvent[]> {
  const objects = await objectsOf(
    parts,
    customerId,
    entries.map(({ entry }) => entry),
  );
  await parts.catalogue.learnMarkets(objects.flatMap(marketsIn));
  return entries.map(({ entry, at }, place) => ({
    id: eventIdOf(customerId, entry),
    number: entry.number,
    type: entry.type,
    createdAt: at,
    version: entry.version,
    object: objects[place] as EventObject,
  }));
}

function marketsIn({ type, value }: EventObject): string[] {
  return type === "execution" || type === "order" ? [value.market] : [];
}

// Where events are looked for ----------------------------------------------------------------------------------------

interface Source {
  /** The next events in order; `isLast` if there are none behind them by now. */
  next(): Promise<{ readonly entries: readonly Dated[]; readonly isLast: boolean }>;
}

async function sourceOf(parts: Parts, filter: EventFilter): Promise<Source> {
  const { database } = parts;
  const { customerId, objectId, createdFrom, after } = filter;
  // Nearly always the next one is listed, and nothing has to be looked for.
  if (objectId === undefined && createdFrom === undefined) return sourceOfNumbers(parts, filter, after + 1n);
  const from = await firstNumberOf(database, filter);
  if (objectId === undefined) return sourceOfNumbers(parts, filter, from);
  const id = parseUuid(objectId);
  if (id !== undefined && (await readRowsOfObject(database, customerId, id, 0n, 1)).length > 0)
    return sourceOfObject(parts, filter, id, from);
  const madeAt = madeAtOf(objectId);
  if (madeAt === undefined) return sourceOfNumbers(parts, filter, from);
  const cut = await findCutAt(database, Math.max(0, Math.min(madeAt, LATEST) - MOST_AHEAD_MS) as Instant);
  const first = (await findNumberFromCut(database, customerId, cut)) ?? NEVER;
  return untilFound(sourceOfNumbers(parts, filter, first > from ? first : from), objectId);
}

/** Ids of transfers and executions have their time. */
function madeAtOf(objectId: string): Instant | undefined {
  const id = parseUuid(objectId);
  if (id !== undefined) return instantOf(id);
  return /^[0-9]+$/.test(objectId) ? executedAtOf(BigInt(objectId) as ExecutionId) : undefined;
}

/** Ids of objects may be ahead of the clocks. */
const MOST_AHEAD_MS = 60_000;
/** The last time that SQL's text can express: an id may contain a later one. */
const LATEST = Date.UTC(9999, 11, 31);
const NEVER = 2n ** 48n;

/** The number from which on events may match. */
async function firstNumberOf(
  database: Queryable,
  { customerId, after, createdFrom }: Pick<EventFilter, "customerId" | "after" | "createdFrom">,
): Promise<bigint> {
  const kept = await readFirstCut(database);
  const created = createdFrom === undefined ? 1n : await findCutAt(database, createdFrom);
  const cut = kept > created ? kept : created;
  if (cut === 1n) return after + 1n;
  const first = (await findNumberFromCut(database, customerId, cut)) ?? NEVER;
  return first > after ? first : after + 1n;
}

/** What was read, once the synchronous standby has it too. @param cutOf the last cut of it */
async function onStandby<Value>(
  parts: Parts,
  read: () => Promise<Value>,
  cutOf: (value: Value) => bigint,
): Promise<Value> {
  const { history } = parts.database;
  const value = await read();
  // By a session of the former history, or of the new one: it is not known which.
  if (parts.database.history !== history) return onStandby(parts, read, cutOf);
  await parts.confirmed.confirm(cutOf(value), history);
  return value;
}

/** Of rows in the order of numbers. */
const lastCutOf = (rows: readonly StoredRow[]): bigint => rows.at(-1)?.cut ?? 0n;

function sourceOfNumbers(parts: Parts, filter: EventFilter, from: bigint): Source {
  const { database } = parts;
  const { customerId, types, objectId, profileId, limit } = filter;
  const isFiltered = types !== undefined || objectId !== undefined || profileId !== undefined;
  const size = BigInt(isFiltered ? EXAMINED_AT_ONCE : limit + 1);
  let next = from;
  const read = (): Promise<StoredRow[]> =>
    onStandby(parts, () => readRowsWithin(database, customerId, next, next + size), lastCutOf);
  return {
    next: async () => {
      let rows = await read();
      if (rows[0] === undefined || rows[0].firstNumber > next) {
        const first = await firstNumberOf(database, { ...filter, after: next - 1n });
        if (first > next) {
          next = first;
          rows = await read();
        }
      }
      const before = next + size;
      const dated = datedEntries(rows, filter).filter(({ entry }) => entry.number >= next && entry.number < before);
      const isLast = dated.at(-1)?.entry.number !== before - 1n;
      next = before;
      return { entries: dated, isLast };
    },
  };
}

/** What never changes has one event: behind it there is nothing to look for. */
function untilFound(source: Source, objectId: string): Source {
  return {
    next: async () => {
      const { entries, isLast } = await source.next();
      const isFound = entries.some(({ entry }) => entry.objectId === objectId && entry.version === undefined);
      return { entries, isLast: isLast || isFound };
    },
  };
}

function sourceOfObject(parts: Parts, filter: EventFilter, objectId: Uuid, from: bigint): Source {
  let next = from;
  return {
    next: async () => {
      const read = () => readRowsOfObject(parts.database, filter.customerId, objectId, next, filter.limit + 1);
      const rows = await onStandby(parts, read, lastCutOf);
      const entries = datedEntries(rows, filter).filter(({ entry }) => entry.number >= next);
      next = (entries.at(-1)?.entry.number ?? next) + 1n;
      return { entries, isLast: rows.length <= filter.limit || rows.some((row) => isTooLate(row, filter)) };
    },
  };
}

/** Without those that are too late for the filter: then none behind them is earlier. */
function datedEntries(rows: readonly StoredRow[], filter: EventFilter): Dated[] {
  const early = rows.filter((row) => !isTooLate(row, filter));
  return early.flatMap((row) => readEntries(row).map((entry) => ({ entry, at: row.at })));
}

const isTooLate = ({ at }: StoredRow, { createdBefore }: EventFilter): boolean =>
  createdBefore !== undefined && at >= createdBefore;

// One event ----------------------------------------------------------------------------------------------------------

async function findEvent(parts: Parts, customerId: CustomerId, id: Uuid): Promise<CustomerEvent | undefined> {
  const number = numberIn(id);
  const { events } = await listEvents(parts, { customerId, after: number - 1n, limit: 1 }, () => true);
  const [event] = events;
  return event?.id === id ? event : undefined;
}

async function readBounds(parts: Parts, customerId: CustomerId): Promise<{ first: bigint; last: bigint }> {
  const { database } = parts;
  const { last } = await onStandby(
    parts,
    () => readLastNumber(database, customerId),
    ({ cut }) => cut,
  );
  const first = await firstNumberOf(database, { customerId, after: 0n });
  return { first: last === 0n || first > last ? 0n : first, last };
}
