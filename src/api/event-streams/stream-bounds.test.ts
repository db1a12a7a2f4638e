/** The bounds of streams as SECURITY.md and docs/events.md name them. */
import { get as httpGet } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { GRANT, startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import type { Events } from "../../events/events.ts";
import type { Verify } from "../access/guard.ts";
import { eventStreamRoute } from "./event-stream.ts";

/** A token is its customer's id. */
const anybody: Verify = async (customerId) => ({
  ...GRANT,
  customerId: customerId as never,
  scopes: new Set(["events:read_event"]),
});

async function start(list: Events["list"], verify = anybody): Promise<string> {
  const bounds = async () => ({ first: 1n, last: 10n });
  const events = { list, bounds, onNews: () => () => undefined, history: "first" } as unknown as Events;
  const deliveries = { countUndelivered: async () => new Map<bigint, number>() };
  const load = { utilization: 0 };
  const options = { events, deliveries, exchange: {} as never, isTest: true, load };
  const toy = await startToyApi((api) => eventStreamRoute(api, options), { verify });
  onTestFinished(() => toy.close());
  return `${toy.url}/v2/events/stream`;
}

interface Reader {
  hasBegun: boolean;
  hasEnded: boolean;
}

function open(url: string, customer: string, after: number): Reader {
  const reader = { hasBegun: false, hasEnded: false };
  const headers = { authorization: `Bearer ${customer}`, "last-event-id": String(after) };
  const sent = httpGet(url, { headers }, (response) => {
    response.once("data", () => (reader.hasBegun = true)).once("close", () => (reader.hasEnded = true));
  });
  sent.on("error", () => undefined);
  onTestFinished(() => void sent.destroy());
  return reader;
}

async function pass(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise(setImmediate);
}

test("three pages are read at once, two of a customer", async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const url = await start(async ({ customerId, after }) => {
    begun.push(customerId);
    await new Promise<void>((resolve) => ends.push(resolve));
    return { events: [], searchedTo: after, isLast: true };
  });
  const begin = async (customer: string, after: number): Promise<void> => {
    const reader = open(url, customer, after);
    await until("it waits for its page", () => reader.hasBegun);
    await pass(20);
  };
  // Streams that have come equally far share a page.
  for (const after of [0, 1, 2]) await begin("a", after);
  expect(begun).toEqual(["a", "a"]);
  await begin("b", 0);
  await begin("c", 0);
  expect(begun).toEqual(["a", "a", "b"]);
  ends.shift()?.();
  await until("the next one is read", () => begun.length === 4);
  expect(begun).toEqual(["a", "a", "b", "c"]);
  for (const end of ends) end();
});

test("a stream ends when another history of the database has begun, in which its last number may be given anew", async () => {
  let reads = 0;
  const list = async function (this: { history: string }, { after }: { after: bigint }) {
    reads += 1;
    this.history = "second";
    return { events: [], searchedTo: after, isLast: true };
  };
  const reader = open(await start(list as unknown as Events["list"]), "a", 0);
  await until("it has ended", () => reader.hasEnded);
  expect(reads).toBe(1);
});

test("a stream ends within two seconds of its token", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let isValid = true;
  const list: Events["list"] = async ({ after }) => ({ events: [], searchedTo: after, isLast: true });
  const url = await start(list, (...asked) => (isValid ? anybody(...asked) : Promise.resolve(undefined)));
  const reader = open(url, "a", 10);
  while (!reader.hasBegun) await pass(1);
  await pass(20);
  expect(reader.hasEnded).toBe(false);
  isValid = false;
  vi.advanceTimersByTime(2_000);
  while (!reader.hasEnded) await pass(1);
});
