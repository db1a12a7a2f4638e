import { setTimeout as pause } from "node:timers/promises";
import { Type } from "typebox";
import { afterEach, expect, test } from "vitest";
import { type Answer, ask, GRANT, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { notedRests } from "../../../test/support/noted-rests.ts";
import { until } from "../../../test/support/until.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { FairAdmission, type FairAdmissionBounds } from "../../web/limits/fair-admission.ts";
import { Limit, ListOf, Repeatable } from "../requests/schemas.ts";
import { createAdmissions, releaseAdmission } from "./request-admission.ts";

let toy: ToyApi;
let end: () => void;
afterEach(() => {
  end();
  return toy.close();
});

const BOUNDS: FairAdmissionBounds = {
  most: 100,
  atOnce: 100,
  alone: 100,
  share: 3,
  shortQueue: 0,
  expectedMs: 10_000,
  maxWaitMs: 60_000,
};
const CROWDED = problem(503, "Service Unavailable", "the service is at capacity: too many requests are waiting", {
  headers: { "retry-after": "1" },
});

interface Work {
  /** Whose requests are being worked on, and whose only wait for something. */
  readonly running: string[];
  readonly waiting: string[];
  /** Ends all that is being worked on, and what comes after. */
  readonly finish: () => void;
}

/** A toy that works on whatever is sent to /work, in anybody's name: a token is its customer's id; /open needs none. */
async function start(bounds: Partial<FairAdmissionBounds> = {}): Promise<Work> {
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const work: Work = { running: [], waiting: [], finish: () => finish() };
  const admissions = {
    ...createAdmissions(),
    reads: new FairAdmission({ ...BOUNDS, ...bounds }),
    shortLists: new FairAdmission({ ...BOUNDS, ...bounds, alone: 2, share: 2 }),
    longReads: new FairAdmission({ ...BOUNDS, ...bounds, alone: 1, share: 1 }),
    writes: new FairAdmission({ ...BOUNDS, ...bounds }),
  };
  const verify = async (token: string) => ({ ...GRANT, customerId: token as never });
  toy = await startToyApi(
    (api) => {
      const config = { scope: "transfer:read_transfer" } as const;
      const schema = { hide: true };
      const handler = async ({ grant }: { grant: { customerId: string } }) => {
        work.running.push(grant.customerId);
        await finished;
        return {};
      };
      api.post("/work", { config, schema }, handler);
      api.get("/work", { config, schema }, handler);
      api.get(
        "/list",
        {
          config: { ...config, walks: ({ market }) => market !== undefined },
          schema: {
            ...schema,
            querystring: Type.Object({
              limit: Limit(100, 1_000),
              market: Type.Optional(Type.String()),
              ids: Repeatable(Type.String(), "Ids."),
            }),
          },
        },
        handler,
      );
      api.post("/wait", { config, schema }, async (request) => {
        releaseAdmission(request);
        work.waiting.push(request.grant.customerId);
        await finished;
        return {};
      });
      api.post("/fail", { config, schema }, async () => {
        throw new Error("a bug");
      });
      api.get("/open", { config: { scope: "public" }, schema }, async ({ ip }) => {
        work.running.push(ip);
        await finished;
        return {};
      });
      api.get("/alive", { config: { scope: "public", admission: false }, schema }, async () => ({}));
    },
    { admissions, verify, trustedProxies: [parseNetwork("127.0.0.0/8") as Network] },
  );
  end = work.finish;
  return work;
}

const send = (path: string, token: string, method = "POST"): Promise<Answer> => ask(toy, path, { method, token });
const sendMany = (count: number, path: string, token: string): Promise<Answer>[] =>
  Array.from({ length: count }, () => send(path, token));
const statuses = async (answers: readonly Promise<Answer>[]): Promise<number[]> =>
  (await Promise.all(answers)).map(({ status }) => status);

test("a caller with many concurrent requests is served in shares beside another", async () => {
  const { running, finish } = await start();
  const quiet = send("/work", "quiet");
  await until("the quiet one is worked for", () => running.length === 1);
  const flood = sendMany(10, "/work", "flood");
  await until("the flood has its share", () => running.length === 4);
  const another = send("/work", "quiet");
  await until("the quiet one is worked for again", () => running.length === 5);
  expect(running).toEqual(["quiet", "flood", "flood", "flood", "quiet"]);
  finish();
  expect(await statuses([quiet, another, ...flood])).toEqual(new Array(12).fill(200));
});

test("without a token the caller is its address, and all of an IPv6 network of 48 bits are one", async () => {
  const { running, finish } = await start();
  const from = (address: string) => ask(toy, "/open", { token: null, headers: { "x-forwarded-for": address } });
  const quiet = from("2001:db8:2::1");
  await until("the quiet one is worked for", () => running.length === 1);
  const flood = Array.from({ length: 10 }, (_, at) => from(`2001:db8:1:${at + 1}::1`));
  await until("the flood has its share", () => running.length === 4);
  const another = from("2001:db8:2:1::1");
  await until("the quiet one is worked for again", () => running.length === 5);
  expect(running.map((address) => address.slice(0, 10))).toEqual(
    ["2", "1", "1", "1", "2"].map((network) => `2001:db8:${network}`),
  );
  finish();
  expect(await statuses([quiet, another, ...flood])).toEqual(new Array(12).fill(200));
});

test("a caller that is alone may use the whole capacity", async () => {
  const { running, finish } = await start();
  const flood = sendMany(10, "/work", "flood");
  await until("all of it is worked on", () => running.length === 10);
  finish();
  expect(await statuses(flood)).toEqual(new Array(10).fill(200));
});

test("a request that only waits for an event does not hold a place", async () => {
  const { running, waiting, finish } = await start({ atOnce: 1 });
  const waits = sendMany(5, "/wait", "patient");
  await until("all wait", () => waiting.length === 5);
  const works = send("/work", "patient");
  await until("one is worked on", () => running.length === 1);
  finish();
  expect(await statuses([works, ...waits])).toEqual(new Array(6).fill(200));
});

test("reads do not wait for writes, nor writes for reads", async () => {
  const { running, finish } = await start({ atOnce: 1 });
  const both = [send("/work", "a"), send("/work", "a", "GET")];
  await until("both are worked on", () => running.length === 2);
  finish();
  expect(await statuses(both)).toEqual([200, 200]);
});

test("one long list of a caller is made at a time, and some short ones and look-ups beside it", async () => {
  const { running, finish } = await start();
  const lists = [26, 100, 1000, 26].map((limit) => send(`/list?limit=${limit}`, "a", "GET"));
  await until("one is worked on", () => running.length === 1);
  const short = [25, 2, 25, 25].map((limit) => send(`/list?limit=${limit}`, "a", "GET"));
  await until("short ones are worked on", () => running.length === 3);
  const others = [send("/work", "a", "GET"), send("/list?limit=1", "a", "GET"), send("/list?limit=1000", "b", "GET")];
  await until("the look-ups and another caller's are worked on", () => running.length === 6);
  expect(running.toSorted()).toEqual(["a", "a", "a", "a", "a", "b"]);
  finish();
  expect(await statuses([...lists, ...short, ...others])).toEqual(new Array(11).fill(200));
});

test("one list of a caller that may walk through all its records is made at a time", async () => {
  const { running, finish } = await start();
  const paths = ["market=BTCUSD", "ids=a&ids=b", "market=ETHUSD", "ids=a&ids=c&ids=d", "market=BTCUSD"];
  const walks = paths.map((query) => send(`/list?${query}&limit=1`, "a", "GET"));
  await until("one is worked on", () => running.length === 1);
  const others = [send("/list?limit=1&ids=a", "a", "GET"), send("/list?market=BTCUSD", "b", "GET")];
  await until("other lists and another caller's are worked on", () => running.length === 3);
  expect(running.toSorted()).toEqual(["a", "a", "b"]);
  finish();
  expect(await statuses([...walks, ...others])).toEqual(new Array(7).fill(200));
});

test("without room the response is 503 before the body is read, and health checks are answered", async () => {
  const { running, finish } = await start({ most: 2, atOnce: 1 });
  const first = send("/work", "a");
  await until("it is worked on", () => running.length === 1);
  expect(await ask(toy, "/work", { method: "POST", token: "a", json: "{" })).toEqual(CROWDED);
  expect((await send("/alive", "a", "GET")).status).toBe(200);
  finish();
  expect((await first).status).toBe(200);
  expect((await send("/work", "a")).status).toBe(200);
});

test("a request that waits too long is rejected as over capacity", async () => {
  const { running, finish } = await start({ atOnce: 1, maxWaitMs: 200 });
  const first = send("/work", "a");
  await until("it is worked on", () => running.length === 1);
  expect(await send("/work", "a")).toEqual(CROWDED);
  finish();
  await first;
  expect(running).toEqual(["a"]);
});

test("a caller that disconnects while waiting is not served, and no one waits behind it", async () => {
  const { running, finish } = await start({ atOnce: 1 });
  const first = send("/work", "a");
  await until("it is worked on", () => running.length === 1);
  const hangUp = new AbortController();
  let isThere = false;
  toy.api.server.once("request", (request) => {
    isThere = true;
    request.once("close", () => {
      isThere = false;
    });
  });
  const given = fetch(`${toy.url}/work`, {
    method: "POST",
    headers: { authorization: "Bearer gone" },
    signal: hangUp.signal,
  }).catch(() => "hung up");
  await until("the second is there", () => isThere);
  hangUp.abort();
  expect(await given).toBe("hung up");
  await until("it is gone", () => !isThere);
  const third = send("/work", "b");
  finish();
  expect(await statuses([first, third])).toEqual([200, 200]);
  expect(running).toEqual(["a", "b"]);
});

test("a failure gives the turn back, and a HEAD takes one", async () => {
  const { running, finish } = await start({ atOnce: 1 });
  finish();
  expect(await statuses(sendMany(3, "/fail", "a"))).toEqual([500, 500, 500]);
  expect((await send("/work", "a", "HEAD")).status).toBe(200);
  expect(running).toEqual(["a"]);
});

test.each([
  ["longReads", "longReads"],
  ["largeBodies", "largeBodies"],
  ["largeBodies", "longReads"],
  ["shortLists", "largeBodies"],
] as const)(
  "while the thread is busy a caller's many %s have rests behind them, with its %s",
  async (first, second) => {
    end = () => undefined;
    toy = await startToyApi();
    const load = { utilization: 0.5 };
    const { reads, writes, [first]: before, [second]: resting } = createAdmissions(load);
    const isFreeAfter = async (turnstile: FairAdmission, tookMs: number): Promise<boolean> => {
      expect(await turnstile.enter("a")).toBe(true);
      turnstile.leave("a", tookMs);
      return turnstile.size === 0;
    };
    for (let i = 0; i < 5; i += 1) expect(await isFreeAfter(before, 100)).toBe(true);
    load.utilization = 0.9;
    for (let i = 0; i < 5; i += 1)
      expect([await isFreeAfter(reads, 100), await isFreeAfter(writes, 100)]).toEqual([true, true]);
    const startedMs = performance.now();
    expect(await isFreeAfter(resting, 100)).toBe(false);
    const admitted: string[] = [];
    const enter = async (caller: string) => (await resting.enter(caller)) && admitted.push(caller);
    await Promise.all([enter("a"), enter("b")]);
    expect(admitted).toEqual(["b", "a"]);
    // Timers may be early by a millisecond.
    expect(performance.now() - startedMs).toBeGreaterThan(98);
  },
);

test("while the thread is busy a caller's short lists rest too, each in its place, and others' do not wait", async () => {
  end = () => undefined;
  toy = await startToyApi();
  const { longReads, shortLists } = createAdmissions({ utilization: 0.9 });
  await longReads.enter("a");
  longReads.leave("a", 400);
  const admitted: string[] = [];
  const enter = async (caller: string) => (await shortLists.enter(caller)) && admitted.push(caller);
  await Promise.all([enter("a"), enter("a"), enter("a")]);
  for (let place = 0; place < 3; place += 1) shortLists.leave("a", 10);
  expect(shortLists.size).toBe(3);
  await Promise.all([enter("a"), enter("b")]);
  expect(admitted).toEqual(["a", "a", "a", "b", "a"]);
});

test("as it is set, one caller leaves room for others, and all of them together have a bound", async () => {
  end = () => undefined;
  toy = await startToyApi();
  const sizes = (turnstile: FairAdmission, callers: number): number => {
    for (let i = 0; i < 5_000; i += 1) void turnstile.enter(`caller ${i % callers}`);
    return turnstile.size;
  };
  const [one, all] = [createAdmissions(), createAdmissions()];
  // In hand, and what waits behind them for 250 ms at a turn in each millisecond; of writes the half of all that there is room for.
  const { reads, shortLists, longReads, writes } = one;
  expect([reads, shortLists, longReads, writes].map((turnstile) => sizes(turnstile, 1))).toEqual([
    6 + 251,
    3 + 251,
    1 + 251,
    500,
  ]);
  expect([sizes(all.reads, 2_000), sizes(all.writes, 2_000)]).toEqual([1_000, 1_000]);
});

test("a list counts as what it takes on a thread with time, by its size, and one that may walk as what it took", async () => {
  const { tookMs, rests } = notedRests();
  const counting = new FairAdmission({ ...BOUNDS, rests });
  end = () => undefined;
  toy = await startToyApi(
    (api) => {
      const config = { scope: "public", walks: ({ market }: { market?: unknown }) => market !== undefined } as const;
      const schema = {
        hide: true,
        querystring: Type.Object({ limit: Limit(100, 1_000), market: Type.Optional(Type.String()) }),
        response: { 200: ListOf(Type.Object({ notes: Type.String() })) },
      };
      api.get("/pages", { config, schema }, async ({ query: { limit } }) => {
        // Others keep the thread busy meanwhile.
        await pause(100);
        return { items: new Array(limit).fill({ notes: "n".repeat(1_024) }), next_page_cursor: "" };
      });
    },
    { admissions: { ...createAdmissions(), shortLists: counting, longReads: counting } },
  );
  for (const query of ["limit=2", "limit=100", "limit=200", "limit=2&market=BTCUSD"])
    expect((await ask(toy, `/pages?${query}`)).status).toBe(200);
  // 1 ms, and a tenth for each KiB.
  expect(tookMs.slice(0, 3).map((ms) => Math.round(ms))).toEqual([1, 11, 21]);
  // Timers may be early by a millisecond.
  expect(tookMs[3]).toBeGreaterThan(98);
});
