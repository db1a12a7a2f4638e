/** What the publisher makes of the ledger: every fact once, in order, numbered without gaps. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { type CustomerEvent, createEvents, type Events } from "../../src/events/events.ts";
import { RecentTransfers } from "../../src/events/recent-transfers.ts";
import type { Instant } from "../../src/std/clock.ts";
import { createTransfers } from "../../src/transfers/transfers.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { ALL_MARKETS, eventsOf, openMaker, removeOldEvents } from "../support/events.ts";
import { startLane } from "../support/movements.ts";
import { makeSmallBooks, type SmallBooks } from "../verify/small-ledger.ts";

let db: TestDatabase;
let books: SmallBooks;
let events: Events;
let customerId: CustomerId;
beforeEach(async () => {
  db = await testDatabase();
  books = await makeSmallBooks(db.database);
  const { database } = db;
  events = eventsOf(database);
  const [customer] = await database.rows<{ id: CustomerId }>("select id from customer");
  customerId = customer?.id as CustomerId;
});
afterEach(async () => {
  const { checks } = await verifyAll(db.database);
  expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
  await expectBooksBalance(db.database);
  await books.close();
  await db.close();
});

async function all(): Promise<CustomerEvent[]> {
  const found: CustomerEvent[] = [];
  for (;;) {
    const page = await events.list({ customerId, after: BigInt(found.length), limit: 4 });
    found.push(...page.events);
    if (page.isLast) return found;
  }
}

/** An event by the names that the small ledger has for ids: "order.open bid". */
function named({ type, object: { value } }: CustomerEvent): string {
  const id = "orderId" in value ? value.orderId : "id" in value ? value.id : value.code;
  return `${type} ${books.names.get(id as string) ?? (type.startsWith("market.") ? id : "?")}`;
}

const STORY = [
  "profile.created ?",
  "profile.created treasury",
  "profile.created shop",
  "profile.created desk",
  "profile.created vault",
  "transfer.wire_deposit.completed wire",
  "transfer.wire_deposit.completed coins",
  "transfer.wire_deposit.completed bitcoin",
  "transfer.wire_withdrawal.completed payout",
  "transfer.platform_transfer_debit.completed rent",
  "transfer.platform_transfer_credit.completed rent+1",
  "conversion.created mint",
  "conversion.settled mint",
  "conversion.created undone",
  "conversion.cancelled undone",
  "conversion.created redeem",
  "order.created offer",
  "order.created bid",
  "execution.created offer",
  "execution.created bid",
  "order.open offer",
  "order.filled bid",
  "profile.created depot",
  "transfer.wire_deposit.completed stock",
  "transfer.wire_withdrawal.pending wired",
  "transfer.wire_withdrawal.updated wired",
  "transfer.wire_withdrawal.updated wired",
  "transfer.wire_withdrawal.completed wired",
  "transfer.wire_withdrawal.pending returned",
  "transfer.wire_withdrawal.updated returned",
  "transfer.wire_withdrawal.updated returned",
  "transfer.wire_withdrawal.failed returned",
  "transfer.wire_withdrawal.pending sent",
  "transfer.wire_withdrawal.updated sent",
  "transfer.wire_withdrawal.updated sent",
  "transfer.wire_deposit.pending arrived",
  "transfer.wire_deposit.completed arrived",
  "transfer.wire_deposit.pending announced",
  "order.created low",
  "market.halted BTCUSD",
  "market.resumed BTCUSD",
  "webhook.disabled hook",
  "webhook.disabled hook",
];

test("each fact is one event, in the order in which it happened, numbered without gaps", async () => {
  await books.publish();
  const received = await all();
  expect(received.map(named)).toEqual(STORY);
  expect(received.map(({ number }) => number)).toEqual(STORY.map((_, place) => BigInt(place + 1)));
  expect(new Set(received.map(({ id }) => id)).size).toBe(STORY.length);
});

test("events do not depend on how many cuts they came in, but for their times", async () => {
  const next = await openMaker(db.database);
  await books.publish();
  const first = await all();
  await db.owner.rows("delete from event; delete from event_cut");
  // Each batch in a cut of its own.
  const batches = await db.owner.rows<{ n: string }>("select n from batch order by n");
  await db.owner.rows("create table kept as table batch");
  await db.owner.rows("delete from batch");
  for (const { n } of batches) {
    await db.owner.rows("insert into batch select * from kept where n = $1", [n]);
    await books.publish();
  }
  const timeless = (received: readonly CustomerEvent[]) => received.map(({ createdAt: _, ...event }) => event);
  expect(timeless(await all())).toEqual(timeless(first));
  expect(await next()).toBe("lost");
});

test("an event has its object as it was then, and not as it became", async () => {
  await books.publish();
  const received = await all();
  const statusOf = (name: string) =>
    received.flatMap((event) =>
      named(event).endsWith(` ${name}`) && "status" in event.object.value ? event.object.value.status : [],
    );
  expect(statusOf("mint")).toEqual(["CREATED", "SETTLED"]);
  expect(statusOf("bid")).toEqual(["PENDING_SUBMISSION", "FILLED"]);
  const settled = received.find((event) => named(event) === "conversion.settled mint")?.object.value;
  const [row] = await db.database.rows<{ settled_at: Instant }>(
    "select settled_at from conversion where status = 'SETTLED'",
  );
  expect(settled).toMatchObject({ settledAt: row?.settled_at, version: 2n });
});

test("filters find what matches, page by page, and an event is found by its id", async () => {
  await books.publish();
  const received = await all();
  const list = async (filter: object) => {
    const page = await events.list({ customerId, after: 0n, limit: 100, ...filter });
    return page.events.map(named);
  };
  expect(await list({ types: ["conversion.settled", "order.filled"] })).toEqual([
    "conversion.settled mint",
    "order.filled bid",
  ]);
  const idOf = (name: string) => [...books.names].find(([, known]) => known === name)?.[0];
  expect(await list({ objectId: idOf("bid") })).toEqual(["order.created bid", "order.filled bid"]);
  expect(await list({ objectId: idOf("rent") })).toEqual(["transfer.platform_transfer_debit.completed rent"]);
  expect(await list({ objectId: idOf("bid"), after: received.at(-2)?.number })).toEqual([]);
  expect(await list({ profileId: idOf("shop") })).toEqual([
    "profile.created shop",
    "transfer.platform_transfer_credit.completed rent+1",
  ]);
  for (const event of received) expect(await events.find(customerId, event.id)).toEqual(event);
  const stranger = "0190d5a4-1111-7000-8000-000000000004" as CustomerId;
  expect(await events.find(stranger, received[0]?.id as never)).toBeUndefined();
  expect((await events.list({ customerId: stranger, after: 0n, limit: 10 })).events).toEqual([]);
});

test("what never changes has one event, and nothing behind it is searched", async () => {
  await Promise.all(Array.from({ length: 120 }, () => books.transfer("1")));
  await books.publish();
  const [id] = [...books.names].find(([, name]) => name === "rent") ?? [];
  const found = await events.list({ customerId, objectId: id, after: 0n, limit: 10 });
  expect(found).toMatchObject({ events: [{ object: { value: { id } } }], isLast: true });
  const { last } = await events.bounds(customerId);
  expect(last - found.searchedTo).toBeGreaterThan(50n);
  // Ids may be from a clock that was ahead of the publisher's.
  const publishedEarlier = (by: string) =>
    db.owner.rows(`update event_cut set at = at - interval '${by}'; update event set at = at - interval '${by}'`);
  await publishedEarlier("50 s");
  expect((await events.list({ customerId, objectId: id, after: 0n, limit: 10 })).events).toHaveLength(1);
  await publishedEarlier("-50 s");
  // Of a time that no clock has, in the year 10889.
  const never = { customerId, objectId: "ffffffff-ffff-7fff-bfff-ffffffffffff", after: 0n, limit: 10 };
  expect(await events.list(never)).toMatchObject({ events: [], isLast: true });
});

test("a filter by profile reads no objects of others, and a search ends when its reader has gone", async () => {
  await books.publish();
  const { database } = db;
  const transfers = createTransfers({ database } as never);
  const read: number[] = [];
  const count = <Record>(records: readonly Record[]): Record[] => {
    read.push(records.length);
    return [...records];
  };
  const counting: Pick<typeof transfers, "list" | "findRecords"> = {
    list: async (filter) => count(await transfers.list(filter)),
    findRecords: async (customer, ids) => count(await transfers.findRecords(customer, ids)),
  };
  const counted = createEvents({
    database,
    catalogue: ALL_MARKETS,
    transfers: counting,
    recentTransfers: new RecentTransfers(),
  });
  const [shop] = [...books.names].find(([, known]) => known === "shop") ?? [];
  const filter = { customerId, after: 0n, limit: 1, profileId: shop };
  expect((await counted.list({ ...filter, limit: 100 })).events.map(named)).toEqual([
    "profile.created shop",
    "transfer.platform_transfer_credit.completed rent+1",
  ]);
  // Once to find it, and once for the event.
  expect(read).toEqual([1, 1]);
  expect((await counted.list({ ...filter, profileId: "0190d5a4-1111-7000-8000-000000000004" })).events).toEqual([]);
  expect(read).toEqual([1, 1, 0]);
  expect(await counted.list(filter, () => false)).toEqual({ events: [], searchedTo: 0n, isLast: false });
  expect(read).toEqual([1, 1, 0]);
});

test("a list begins at a time, and ends before one", async () => {
  await books.publish();
  await books.transfer("1");
  await books.publish();
  const received = await all();
  const [early, late] = [received[0]?.createdAt, received.at(-1)?.createdAt] as [Instant, Instant];
  expect(late).toBeGreaterThan(early);
  const numbers = async (filter: object) => {
    const page = await events.list({ customerId, after: 0n, limit: 100, ...filter });
    return page.events.map(({ number }) => Number(number));
  };
  const count = STORY.length;
  expect(await numbers({ createdFrom: late })).toEqual([count + 1, count + 2]);
  expect(await numbers({ createdFrom: late + 1 })).toEqual([]);
  expect(await numbers({ createdBefore: late })).toHaveLength(count);
  expect(await numbers({ createdFrom: early, createdBefore: early })).toEqual([]);
});

test("a publisher that was replaced writes nothing, and what it missed is published by the next", async () => {
  const [first, second] = [await openMaker(db.database, "one"), await openMaker(db.another(), "one")];
  expect(await first()).toBe("lost");
  expect(await second()).toMatchObject({ number: 1n, events: STORY.length });
  // It does not know of that cut: the number is taken.
  await db.owner.rows("update lease set fence = 1 where name = 'events'");
  await books.transfer("1");
  expect(await first()).toBe("lost");
  await db.owner.rows("update lease set holder = 'test' where name = 'events'");
  await books.publish();
  expect(await all()).toHaveLength(STORY.length + 2);
});

test("far behind, events come in several cuts, none with more than 200 batches", async () => {
  for (let i = 0; i < 450; i += 1) await books.transfer("0.01");
  const next = await openMaker(db.database);
  const cuts = [];
  for (let cut = await next(); cut !== undefined && cut !== "lost"; cut = await next()) cuts.push(cut);
  expect(cuts.map(({ events: count }) => count).reduce((a, b) => a + b)).toBe(STORY.length + 900);
  expect(cuts).toHaveLength(3);
});

test("old events are removed; the list says where it begins, and numbers go on", async () => {
  await books.publish();
  await books.transfer("1");
  await books.publish();
  const [before] = (await all()).slice(-1);
  const clock = { now: () => ((before?.createdAt ?? 0) + 1_000) as Instant };
  await removeOldEvents(db.database, { clock, keptMs: 1_000 });
  expect(await events.bounds(customerId)).toEqual({ first: BigInt(STORY.length + 1), last: BigInt(STORY.length + 2) });
  const { events: left } = await events.list({ customerId, after: 0n, limit: 100 });
  expect(left.map(({ type }) => type)).toEqual([
    "transfer.platform_transfer_debit.completed",
    "transfer.platform_transfer_credit.completed",
  ]);
  const from = (createdFrom: number) =>
    events.list({ customerId, createdFrom: createdFrom as Instant, after: 0n, limit: 2 });
  expect((await from(1)).events).toEqual(left);
  expect((await from(before?.createdAt ?? 0)).events).toEqual(left);
  expect(await events.find(customerId, before?.id as never)).toBeDefined();
  // What may still change keeps its state: every profile, the conversion that waits, the orders and external transfers that are open, the webhook.
  const rows = await db.database.rows<{ kept: string }>(
    "select entries -> -1 ->> 0 as kept from event where cut = 1 order by first_number",
  );
  expect(rows.map(({ kept }) => kept)).toEqual([
    ...Array.from({ length: 5 }, () => "profile.created"),
    ...["conversion.created", "order.open", "profile.created", "transfer.wire_withdrawal.updated"],
    ...["transfer.wire_deposit.pending", "order.created", "webhook.disabled"],
  ]);
  await books.convert();
  await books.publish();
  const { events: next } = await events.list({ customerId, after: BigInt(STORY.length + 2), limit: 100 });
  expect(next.map(({ number, type }) => `${number} ${type}`)).toEqual([
    `${STORY.length + 3} conversion.created`,
    `${STORY.length + 4} conversion.settled`,
  ]);
  const later = { now: () => (Date.now() + 60_000) as Instant };
  await removeOldEvents(db.database, { clock: later, keptMs: 1_000 });
  expect(await events.bounds(customerId)).toEqual({ first: 0n, last: BigInt(STORY.length + 4) });
});

test("no event is earlier than the one before it, though the clock of one publisher was ahead of the next one's", async () => {
  const ahead = { now: () => (Date.now() + 60_000) as Instant };
  await (await openMaker(db.database, "test", ahead))();
  await books.transfer("1");
  await books.publish();
  const times = (await all()).map(({ createdAt }) => createdAt);
  expect(times).toHaveLength(STORY.length + 2);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test("a cut without events, as of a void number, makes later events no later, though its publisher's clock is ahead", async () => {
  await books.publish();
  const ahead = { now: () => (Date.now() + 60_000) as Instant };
  const cut = await openMaker(db.database, "test", ahead);
  const { lane } = await startLane(db.another());
  await lane.stop();
  expect(await cut()).toMatchObject({ events: 0 });
  await books.transfer("1");
  await books.publish();
  const [last] = (await all()).slice(-1);
  expect(last?.createdAt).toBeLessThanOrEqual(Date.now());
});

test("no event is earlier than the change that it reports, though its publisher's clock is behind", async () => {
  const behind = { now: () => (Date.now() - 60_000) as Instant };
  await (await openMaker(db.database, "test", behind))();
  const [batch] = await db.database.rows<{ at: Instant }>("select max(at) as at from batch");
  const times = new Set((await all()).map(({ createdAt }) => createdAt));
  expect([...times]).toEqual([batch?.at]);
});

test("an object whose events were removed has its state from the chain", async () => {
  await books.publish();
  await books.transfer("1");
  await books.publish();
  await db.owner.rows(
    "delete from event where cut = 1 and object_id is not null; update event_retention set first_cut = 2",
  );
  await books.convert();
  await books.publish();
  const received = await events.list({ customerId, after: BigInt(STORY.length), limit: 100 });
  expect(received.events.map(({ type }) => type).slice(2)).toEqual(["conversion.created", "conversion.settled"]);
});
