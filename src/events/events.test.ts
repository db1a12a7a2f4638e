/** What a list searches and what it tells, without a database. */
import { expect, test } from "vitest";
import { ALL_MARKETS } from "../../test/support/events.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { Database } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { createEvents, type EventFilter } from "./events.ts";
import { RecentTransfers } from "./recent-transfers.ts";

const customerId = "acme" as CustomerId;
const ID = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

/** A customer with so many events, 500 in each row. The server is a primary, or a former one that is a standby by now. */
function eventsOf(last: number, isPrimary = true) {
  let examined = 0;
  const row = (first: number) => {
    const count = Math.min(500, last - first + 1);
    const entries = JSON.stringify(Array.from({ length: count }, (_, i) => ["execution.created", String(first + i)]));
    return { customer_id: customerId, first_number: String(first), cut: "1", at: 1, object_id: null, count, entries };
  };
  const rows = async (text: string, values: readonly unknown[] = []): Promise<unknown[]> => {
    if (text.includes("pg_is_in_recovery")) return isPrimary ? [{}] : [];
    if (text.includes("first_number + count - 1 as last")) return [{ last: String(last), cut: "1" }];
    if (text.includes("object_id = $2")) return [row(last)];
    if (!text.includes("first_number < $3")) return [];
    const [from, before] = [Number(values[1]), Number(values[2])];
    examined += before - from;
    const found = [];
    for (let first = from - ((from - 1) % 500); first < Math.min(before, last + 1); first += 500)
      found.push(row(first));
    return found;
  };
  const transfers = { findRecords: () => expect.fail(), list: () => expect.fail() };
  const recentTransfers = new RecentTransfers();
  const events = createEvents({
    catalogue: ALL_MARKETS,
    database: { rows, history: "" } as Database,
    transfers,
    recentTransfers,
  });
  return { events, examined: () => examined };
}

/** A customer with so many transfers in its log; `read` has how many were read at once. */
function transfersOf(last: number) {
  const read: number[] = [];
  const sizes = { of: (_: number): number => 10 };
  const idOf = (number: number): string => `0190d5a4-7e1b-7c3d-8a2f-${String(number).padStart(12, "0")}`;
  const entries = Array.from({ length: last }, (_, i) => ["transfer.completed", idOf(i + 1)]);
  const row = { customer_id: customerId, first_number: "1", cut: "1", at: 1, object_id: null, count: last };
  const rows = async (text: string): Promise<unknown[]> => {
    if (text.includes("pg_is_in_recovery")) return [{}];
    return text.includes("first_number < $3") ? [{ ...row, entries: JSON.stringify(entries) }] : [];
  };
  const findRecords = async (_: unknown, ids: readonly string[]) => {
    read.push(ids.length);
    return ids.map((id) => ({ id, customerId, memo: "x".repeat(sizes.of(Number(id.slice(-12)))) }));
  };
  const transfers = { findRecords: findRecords as never, list: () => expect.fail() };
  const options = {
    catalogue: ALL_MARKETS,
    database: { rows, history: "" } as Database,
    transfers,
    recentTransfers: new RecentTransfers(),
  };
  return { events: createEvents(options), read, sizes };
}

test("a page with filters examines 10,000 events, and says where to go on", async () => {
  const { events, examined } = eventsOf(10_700);
  const filter: EventFilter = { customerId, types: ["order.filled"], after: 0n, limit: 100 };
  const page = await events.list(filter);
  expect([page, examined()]).toEqual([{ events: [], searchedTo: 10_000n, isLast: false }, 10_000]);
  const { searchedTo: after } = page;
  expect(await events.list({ ...filter, after })).toEqual({ events: [], searchedTo: 10_700n, isLast: true });
});

test("a page of one object ends at its time, and looks at no number behind it", async () => {
  let statements = 0;
  const rowOf = (number: number, at: number) => ({
    ...{ customer_id: customerId, first_number: String(number), cut: "1", at, object_id: ID, count: 1 },
    entries: JSON.stringify([["profile.updated", ID, String(number), {}]]),
  });
  const stored = [rowOf(1_000, 5), rowOf(2_000, 5), rowOf(3_000, 5)];
  const rows = async (text: string, values: readonly unknown[] = []): Promise<unknown[]> => {
    statements += 1;
    if (text.includes("pg_is_in_recovery")) return [{}];
    if (!text.includes("object_id = $2")) return [];
    const [from, limit] = [Number(values[2]), Number(values[3])];
    return stored.filter(({ first_number }) => Number(first_number) + 1 > from).slice(0, limit);
  };
  const database = { rows, history: "" } as Database;
  const transfers = { findRecords: () => expect.fail(), list: () => expect.fail() };
  const events = createEvents({
    ...{ catalogue: ALL_MARKETS, database, transfers, recentTransfers: new RecentTransfers() },
  });
  const page = await events.list({
    ...{ customerId, objectId: ID, createdBefore: 5 as Instant, after: 0n, limit: 1 },
  });
  expect(page).toEqual({ events: [], searchedTo: 0n, isLast: true });
  expect(statements).toBeLessThan(10);
});

test("a page with a bound in bytes ends before it, and reads few objects that it has no room for", async () => {
  const { events, read, sizes } = transfersOf(1_000);
  const list = async (mostBytes: number, after: number, limit = 500): Promise<number[]> => {
    read.length = 0;
    const page = await events.list({ customerId, after: BigInt(after), limit, mostBytes });
    expect(page).toMatchObject({ searchedTo: page.events.at(-1)?.number, isLast: false });
    return page.events.map(({ number }) => Number(number));
  };
  const upTo = (last: number, first: number): number[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);
  sizes.of = (number) => (number <= 100 ? 10 : 10_000);
  // 100 small ones, and then 52 of ten kilobytes.
  expect(await list(530_000, 0)).toEqual(upTo(152, 1));
  expect([Math.max(...read), read.reduce((sum, each) => sum + each)]).toEqual([40, 160]);
  expect(await list(530_000, 152)).toEqual(upTo(204, 153));
  // One it has always, and of small ones as many as it may.
  expect(await list(100, 300)).toEqual([301]);
  sizes.of = () => 10;
  expect(await list(530_000, 300, 70)).toEqual(upTo(370, 301));
});

test("callers that ask for the same page at the same time share it, if it has no filters", async () => {
  const { events, examined } = eventsOf(600);
  const list = (more: Partial<EventFilter>) => events.list({ customerId, after: 600n, limit: 100, ...more });
  await list({});
  const one = examined();
  const pages = await Promise.all(Array.from({ length: 50 }, () => list({})));
  expect([new Set(pages).size, examined()]).toEqual([2, 3 * one]);
  for (const more of [{ limit: 99 }, { mostBytes: 1 }, { after: 601n }, { customerId: "other" as CustomerId }])
    expect(await Promise.all([list({}), list(more)]).then(([page, other]) => page === other)).toBe(false);
  const filters: Partial<EventFilter>[] = [
    { types: ["order.filled"] },
    { objectId: ID },
    { profileId: ID as never },
    { createdFrom: 0 as Instant },
    { createdBefore: 1 as Instant },
  ];
  for (const filter of filters) {
    const filtered = await Promise.all([filter, filter, {}].map(list));
    expect(new Set(filtered).size, JSON.stringify(filter)).toBe(3);
  }
});

test("no event is published from a server that is not the primary any more", async () => {
  const { events } = eventsOf(600, false);
  const told = [
    () => events.list({ customerId, types: ["order.filled"], after: 0n, limit: 1 }),
    () => events.list({ customerId, objectId: ID, after: 0n, limit: 1 }),
    () => events.find(customerId, `00000000-0001${ID.slice(13)}` as never),
    () => events.bounds(customerId),
  ];
  for (const tell of told) await expect(tell()).rejects.toThrow("the database is read-only");
});

test("the market of an execution or an order is known before the page is returned", async () => {
  const amounts = { amount: "1", price: "1", commission: "0", rebate: "0" };
  const execution = {
    id: "7",
    customer_id: customerId,
    market: "NEWUSD",
    ...amounts,
    executed_at: "2026-11-21T09:30:00.000Z",
  };
  const entries = JSON.stringify([["execution.created", "7"]]);
  const row = { customer_id: customerId, first_number: "1", cut: "1", at: 1, object_id: null, count: 1, entries };
  const rows = async (text: string): Promise<unknown[]> => {
    if (text.includes("pg_is_in_recovery")) return [{}];
    if (text.includes("from execution")) return [execution];
    return text.includes("first_number < $3") ? [row] : [];
  };
  const learnt: unknown[] = [];
  const events = createEvents({
    catalogue: { learnMarkets: async (codes) => void learnt.push(...codes) },
    database: { rows, history: "" } as Database,
    transfers: { findRecords: () => expect.fail(), list: () => expect.fail() },
    recentTransfers: new RecentTransfers(),
  });
  await events.list({ customerId, after: 0n, limit: 1 });
  expect(learnt).toEqual(["NEWUSD"]);
});
