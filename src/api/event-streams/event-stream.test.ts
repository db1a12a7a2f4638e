/** Streams of made-up events: what a slow reader costs, what streams share, and when they end. */
import { get as httpGet } from "node:http";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { GRANT, startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { CustomerEvent, EventFilter, EventPage, Events } from "../../events/events.ts";
import type { Grant } from "../../oauth/tokens/grant.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import type { Instant } from "../../std/clock.ts";
import { pause } from "../../std/pause.ts";
import type { Verify } from "../access/guard.ts";
import { eventStreamRoute, type StreamBounds } from "./event-stream.ts";

const READER: Grant = { ...GRANT, scopes: new Set(["events:read_event"]) };

function eventOf(number: bigint, customerId: string, nickname = "n".repeat(200)): CustomerEvent {
  const value = { id: `of ${customerId}`, nickname, createdAt: 0, updatedAt: 0 };
  const object = { type: "profile", value } as unknown as CustomerEvent["object"];
  return {
    id: `event ${number}` as never,
    number,
    type: "profile.created",
    createdAt: 0 as Instant,
    version: 1n,
    object,
  };
}

/** A log of each customer's events that grows when it is told to. Reading it waits while `isHeld`. */
class Log {
  last = 0n;
  reads = 0;
  isHeld = false;
  delayMs = 0;
  /** Of an event with this number. */
  nickname = (_: bigint): string => "n".repeat(200);
  readonly asked: EventFilter[] = [];
  readonly #listeners = new Set<() => void>();
  /** Of the thread. */
  readonly load = { utilization: 0 };
  readonly #held: (() => void)[] = [];

  readonly events: { -readonly [Name in "list" | "bounds" | "onNews"]: Events[Name] } = {
    list: (filter) => this.#list(filter),
    bounds: async () => ({ first: 1n, last: this.last }),
    onNews: (_, listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  grow(count: number): void {
    this.last += BigInt(count);
    for (const listener of this.#listeners) listener();
  }

  release(): void {
    this.isHeld = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }

  async #list(filter: EventFilter): Promise<EventPage> {
    const { after, limit, customerId, mostBytes = 0 } = filter;
    this.reads += 1;
    this.asked.push(filter);
    const events: CustomerEvent[] = [];
    for (let [number, bytes] = [after + 1n, 0]; number <= this.last && events.length < limit; number += 1n) {
      const nickname = this.nickname(number);
      bytes += nickname.length;
      if (events.length > 0 && bytes > mostBytes) break;
      events.push(eventOf(number, customerId, nickname));
    }
    const searchedTo = events.at(-1)?.number ?? after;
    const page = { events, searchedTo, isLast: searchedTo === this.last };
    if (this.isHeld) await new Promise<void>((resolve) => this.#held.push(resolve));
    if (this.delayMs > 0) await pause(this.delayMs);
    return page;
  }
}

async function start(log: Log, bounds: Partial<StreamBounds> = {}, verify: Verify = async () => READER): Promise<URL> {
  const deliveries = { countUndelivered: async () => new Map<bigint, number>() };
  const { events, load } = log;
  const options = { events: events as Events, deliveries, exchange: {} as never, isTest: true, bounds, load };
  const toy = await startToyApi((api) => eventStreamRoute(api, options), { verify });
  onTestFinished(() => toy.close());
  return new URL(`${toy.url}/v2/events/stream`);
}

interface Reader {
  text: string;
  hasEnded: boolean;
}

function read(url: URL, after = 0, token = "good"): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "last-event-id": String(after) };
    const sent = httpGet(url, { headers }, (response) => {
      const reader = { text: "", hasEnded: false };
      response.setEncoding("utf8").on("data", (part: string) => (reader.text += part));
      response.once("close", () => (reader.hasEnded = true));
      resolve(reader);
    }).once("error", reject);
    onTestFinished(() => void sent.destroy());
  });
}

const numbersIn = ({ text }: Reader): number[] =>
  [...text.matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number));

async function untilNoMoreIsRead(log: Log): Promise<number> {
  let reads = -1;
  await until("no more is read", async () => {
    const before = reads;
    reads = log.reads;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return reads > 0 && before === reads;
  });
  return reads;
}

test("a reader that takes nothing holds one page, is disconnected, and goes on behind what it took", async () => {
  const log = new Log();
  log.grow(1_000_000);
  const url = await start(log, { checkMs: 20, stalledMs: 300 });
  const socket = connect(Number(url.port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let hasEnded = false;
  socket.once("close", () => (hasEnded = true)).on("error", () => undefined);
  socket.pause().write(`GET ${url.pathname}?after_number=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n`);
  const reads = await untilNoMoreIsRead(log);
  // What lies in the buffers of the operating system, and a page.
  expect(reads).toBeLessThan(300);
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => (text += part));
  await new Promise((resolve) => setTimeout(resolve, 400));
  socket.resume();
  await until("it is disconnected", () => hasEnded);
  expect(log.reads).toBeLessThan(reads + 300);
  const taken = Number([...text.matchAll(/^id: (\d+)\n.*\n\n/gm)].at(-1)?.[1] ?? 0);
  const again = await read(url, taken);
  await until("it has the next one", () => numbersIn(again).length > 0);
  expect(numbersIn(again)[0]).toBe(taken + 1);
});

test("a stream ends when its token does", async () => {
  let isValid = true;
  const url = await start(new Log(), { checkMs: 20 }, async () => (isValid ? READER : undefined));
  const reader = await read(url);
  isValid = false;
  await until("the stream has ended", () => reader.hasEnded);
});

test("a stream goes on while nobody can say whether its token is valid, because the database is away", async () => {
  const log = new Log();
  let asked = 0;
  const url = await start(log, { checkMs: 20 }, async () => {
    asked += 1;
    if (asked > 1) throw new DatabaseAway("away");
    return READER;
  });
  const reader = await read(url);
  await until("it was asked a few times", () => asked > 3);
  log.grow(1);
  await until("it has the event", () => numbersIn(reader).length === 1);
  expect(reader.hasEnded).toBe(false);
});

test("streams of a customer that have come equally far share what is read", async () => {
  const log = new Log();
  const url = await start(log);
  const readers: Reader[] = [];
  for (const place of [1, 2, 3]) {
    readers.push(await read(url));
    // Streams that are opened in one turn of the event loop share their first page, too.
    await until("it waits", () => log.reads === place);
  }
  log.grow(2);
  await until("each has the events", () => readers.every((reader) => numbersIn(reader).length === 2));
  expect(readers.map(numbersIn)).toEqual([
    [1, 2],
    [1, 2],
    [1, 2],
  ]);
  expect(log.reads).toBeLessThanOrEqual(5);
});

test("streams of two customers that have come equally far share nothing", async () => {
  const log = new Log();
  const url = await start(log, {}, async (customer) => ({ ...READER, customerId: customer as never }));
  const readers: Reader[] = [];
  for (const customer of ["acme", "other"]) readers.push(await read(url, 0, customer));
  await until("both wait", () => log.reads === 2);
  log.grow(1);
  await until("each has an event", () => readers.every((reader) => numbersIn(reader).length === 1));
  expect(readers.map(({ text }) => /"id":"of (\w+)"/.exec(text)?.[1])).toEqual(["acme", "other"]);
});

test("a stream with a filter shares nothing with one without, nor with one that has another", async () => {
  const log = new Log();
  const { list } = log.events;
  log.events.list = async (filter, isAwaited) => {
    const { types = [], objectId = "", profileId = "" } = filter;
    const of = [...types, objectId, profileId].join("") || "all";
    const page = await list(filter, isAwaited);
    return { ...page, events: page.events.map(({ number }) => eventOf(number, of)) };
  };
  const url = await start(log);
  const queries = ["?type=profile.created", "", "?object_id=o-1", "?type=profile.updated", "?object_id=o-2"];
  const readers: Reader[] = [];
  for (const search of queries) readers.push(await read(Object.assign(new URL(url), { search })));
  await until("all wait", () => log.reads === queries.length);
  log.grow(1);
  await until("each has an event", () => readers.every((reader) => numbersIn(reader).length === 1));
  expect(readers.map(({ text }) => /"id":"of ([^"]+)"/.exec(text)?.[1])).toEqual([
    "profile.created",
    "all",
    "o-1",
    "profile.updated",
    "o-2",
  ]);
});

test("a reader that takes a little all the time stays, however much waits for it", async () => {
  const log = new Log();
  log.grow(1_000_000);
  let checks = 0;
  const url = await start(log, { checkMs: 250, stalledMs: 13_000 }, async () => {
    checks += 1;
    return READER;
  });
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now() + aheadMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const socket = connect(Number(url.port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let hasEnded = false;
  socket.once("close", () => (hasEnded = true)).on("error", () => undefined);
  socket.pause().write(`GET ${url.pathname}?after_number=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n\r\n`);
  let bytes = 0;
  socket.on("data", (part) => (bytes += part.length)).pause();
  const checked = async (): Promise<void> => {
    const before = checks;
    await until("it was checked", () => checks > before);
  };
  for (let times = 0; times < 4; times += 1) {
    const [before, reads] = [bytes, log.reads];
    socket.resume();
    await until("it has taken some", () => hasEnded || bytes > before + 4_000_000);
    socket.pause();
    await until("more was read for it", () => hasEnded || log.reads > reads);
    await untilNoMoreIsRead(log);
    await checked();
    // Twice that is too long without having taken something. A page that waits for its turn may do so for longer.
    aheadMs += 7_000;
    await checked();
    expect(hasEnded).toBe(false);
  }
});

test("what was begun before the news is not shared with those who wait for it", async () => {
  const log = new Log();
  const url = await start(log);
  const early = await read(url);
  await until("it waits", () => log.reads === 1);
  log.isHeld = true;
  const late = await read(url);
  await until("the other one reads", () => log.reads === 2);
  log.grow(1);
  await until("the first one reads for itself", () => log.reads === 3);
  log.release();
  await until("both have it", () => [early, late].every((reader) => numbersIn(reader).length === 1));
});

/** A long log in which nothing matches: each page of a search takes a while, and is not the last. */
function endlessSearch(pageMs: number) {
  const log = new Log();
  log.grow(10_000_000_000_000);
  const running = { now: 0, most: 0, pages: 0 };
  const list = log.events.list;
  log.events.list = async (filter) => {
    if (filter.profileId === undefined) return list(filter);
    running.now += 1;
    running.most = Math.max(running.most, running.now);
    running.pages += 1;
    await new Promise((resolve) => setTimeout(resolve, pageMs));
    running.now -= 1;
    return { events: [], searchedTo: filter.after + 10_000n, isLast: false };
  };
  return { log, running };
}

const OF_PROFILE = "?profile_id=0190d5a4-1111-7000-8004-000000000001";

test("a page with more behind it keeps its place for a while: streams that catch up leave the database to others", async () => {
  const log = new Log();
  log.grow(1_000_000);
  log.delayMs = 20;
  const url = await start(log);
  await Promise.all(Array.from({ length: 10 }, (_, i) => read(url, i)));
  const [before, began] = [log.reads, performance.now()];
  await until("thirty pages were read", () => log.reads >= before + 30, 60);
  // Two at a time, for 20 ms and a rest of 40: ten milliseconds each without it.
  expect((performance.now() - began) / 30).toBeGreaterThan(20);
});

test("while the thread is busy, streams that catch up rest for four times as long", async () => {
  const log = new Log();
  log.grow(1_000_000);
  log.delayMs = 10;
  log.load.utilization = 0.81;
  const url = await start(log);
  await Promise.all(Array.from({ length: 10 }, (_, i) => read(url, i)));
  const [before, began] = [log.reads, performance.now()];
  await until("twenty pages were read", () => log.reads >= before + 20, 60);
  // Two at a time, for 10 ms and a rest of 80: fifteen milliseconds each on a thread that is not busy.
  expect((performance.now() - began) / 20).toBeGreaterThan(35);
});

test("however many streams of however many customers search for what is rare, two do at a time, and rest for half of it", async () => {
  const { log, running } = endlessSearch(20);
  const url = await start(log, {}, async (customer) => ({ ...READER, customerId: customer as never }));
  const searching = new URL(url);
  searching.search = OF_PROFILE;
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: 20 }, (_, i) => read(searching, 0, `customer-${i % 3}`)));
  const others = await read(url, 9_999_999_999_990);
  await until("another stream has its events", () => numbersIn(others).length === 10);
  await until("they have searched for a while", () => running.pages > 20);
  expect(running.most).toBe(2);
  // A page and its rest take 40 ms. The first ones have none before them to rest as long as.
  expect(running.pages).toBeLessThan(2 * ((performance.now() - startedMs) / 40) + 4);
});

test("a page has 100 events and 64 KiB at most, and none is left out", async () => {
  const log = new Log();
  // Fifty small ones and five of eleven kilobytes are just below the bound.
  log.nickname = (number) => "n".repeat(number <= 150n ? 200 : 11_000);
  log.grow(180);
  const url = await start(log);
  const reader = await read(url);
  await until("it has all", () => numbersIn(reader).length >= 180);
  expect(numbersIn(reader)).toEqual(Array.from({ length: 180 }, (_, i) => i + 1));
  expect(log.asked.map(({ after, limit, mostBytes }) => [after, limit, mostBytes])).toEqual(
    [0n, 100n, 155n, 160n, 165n, 170n, 175n].map((after) => [after, 100, 65_536]),
  );
});

test("a search does not rest because another customer's took long", async () => {
  const other: Grant = { ...READER, customerId: "0190d5a4-1111-7000-8000-0000000000ff" as never };
  const { log, running } = endlessSearch(450);
  const ofOne = log.events.list;
  log.events.list = (filter, isAwaited) =>
    filter.customerId === other.customerId
      ? Promise.resolve({ events: [eventOf(5n, "other")], searchedTo: log.last, isLast: true })
      : ofOne(filter, isAwaited);
  const url = await start(log, {}, async (token) => (token === "good" ? READER : other));
  url.search = OF_PROFILE;
  await read(url);
  await until("it has searched", () => running.pages === 2);
  const startedMs = performance.now();
  const reader = await read(url, 4, "other");
  await until("the other has its event", () => numbersIn(reader).includes(5));
  expect(performance.now() - startedMs).toBeLessThan(400);
});

test("a stream without events shows every 15 seconds that it is alive", async () => {
  const log = new Log();
  log.grow(3);
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const reader = await read(await start(log), 3);
  for (const times of [1, 2, 3]) {
    while (log.reads < times) await new Promise(setImmediate);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    vi.advanceTimersByTime(14_999);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(numbersIn(reader)).toHaveLength(times - 1);
    vi.advanceTimersByTime(1);
    while (numbersIn(reader).length < times) await new Promise(setImmediate);
  }
  expect(reader.text).toBe(`retry: 1000\n\n${"id: 3\n\n".repeat(3)}`);
});

test("a reader learns how far a long search has come", async () => {
  const { log } = endlessSearch(5);
  const url = await start(log, { heartbeatMs: 30 });
  url.search = OF_PROFILE;
  const reader = await read(url);
  await until("it has two numbers", () => numbersIn(reader).length > 1);
  const [first = 0, second = 0] = numbersIn(reader);
  expect([first % 10_000, first > 0, second > first, reader.text.includes("data:")]).toEqual([0, true, true, false]);
});
