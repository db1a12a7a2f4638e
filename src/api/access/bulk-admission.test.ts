import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Type } from "typebox";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { type Answer, ask, GRANT, problem, startToyApi, type ToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { createUnsentResponses, UnsentResponses } from "../../web/connections/unsent-responses.ts";
import { RateLimiter } from "../../web/limits/rate-limiter.ts";
import { DEFAULT_RATES } from "../../web/limits/rates.ts";

let toy: ToyApi;
let finish: () => void;
let running: string[];
afterEach(() => {
  finish();
  return toy.close();
});

const MIB = 1_048_576;
/** More than the buffers of two sockets hold. */
const LONG = Array(100).fill("x".repeat(0.08 * MIB));
/** Bodies of the bulks that are answered so. */
let bodies: WeakRef<object>[];

/** A toy with a bulk route, whose handler waits for `finish`. A token is its customer's id. */
async function start(answers = createUnsentResponses()): Promise<void> {
  bodies = [];
  running = [];
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  toy = await startToyApi(
    (api) => {
      const config = { scope: "transfer:read_transfer", bulk: { maxValues: 2_000 } } as const;
      api.post("/bulk", { config, bodyLimit: 1_048_576, schema: { hide: true } }, async (request) => {
        const { items } = request.body as { readonly items: readonly unknown[] };
        api.bulkAdmission.countItems(request, items.length);
        running.push(request.grant.customerId);
        await finished;
        return {};
      });
      const items = { 200: Type.Object({ items: Type.Array(Type.String()) }) };
      api.post("/long", { config, schema: { hide: true, response: items } }, async (request) => {
        bodies.push(new WeakRef(request.body as object));
        return { items: LONG };
      });
      api.post("/command", { config, schema: { hide: true } }, async (request) => {
        const work = async () => {
          running.push(request.grant.customerId);
          await finished;
          return ["done"];
        };
        return { values: await api.bulkAdmission.command(request, work) };
      });
    },
    {
      answers,
      limiter: new RateLimiter({ ...DEFAULT_RATES, rest: 4 }, { now: () => 1_000_000 }),
      verify: async (token) => ({ ...GRANT, customerId: token as never, clientId: `client of ${token}` }),
    },
  );
}

const bulk = (token: string, json: unknown = { items: [] }): Promise<Answer> =>
  ask(toy, "/bulk", { method: "POST", token, json });

const kilobytes = (count: number): string[] => Array(count).fill("x".repeat(1_021));
const remaining = ({ status, headers }: Answer) => [status, headers["ratelimit-remaining"]];

test("a bulk counts as one request for each item, or for each KiB of its body if those are more", async () => {
  await start();
  finish();
  expect(remaining(await bulk("acme", { items: Array(100).fill(1) }))).toEqual([200, "1100"]);
  expect(remaining(await bulk("acme", { items: [1], notes: kilobytes(99) }))).toEqual([200, "1000"]);
  // Not for both.
  expect(remaining(await bulk("acme", { items: Array(100).fill(1), notes: kilobytes(50) }))).toEqual([200, "900"]);
  expect(remaining(await bulk("acme"))).toEqual([200, "899"]);
  // Counted before it is parsed.
  expect(remaining(await bulk("acme", "x".repeat(99 * 1_024)))).toEqual([400, "800"]);
  const wait = problem(429, "Too Many Requests", "too many requests: try again in 1 second", {
    headers: { "ratelimit-limit": "1200", "ratelimit-remaining": "798", "ratelimit-reset": "101", "retry-after": "1" },
  });
  expect(await bulk("acme", { items: Array(801).fill(1) })).toEqual(wait);
  expect(running).toEqual(["acme", "acme", "acme", "acme"]);
});

test("a caller has four bulks at a time; further ones wait, and others do not", async () => {
  await start();
  const answers = [1, 2, 3, 4, 5, 6].map(() => bulk("acme"));
  await until("four bulks are processed", () => running.length === 4);
  answers.push(bulk("other"));
  await until("another caller's is", () => running.length === 5);
  expect(running).toEqual(["acme", "acme", "acme", "acme", "other"]);
  finish();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(7).fill(200));
  expect(running).toHaveLength(7);
});

test("a bulk that is aborted gives its place to the next", async () => {
  await start();
  const aborting = new AbortController();
  const { signal } = aborting;
  const headers = { authorization: "Bearer acme", "content-type": "application/json" };
  const aborted = [1, 2, 3, 4].map(() =>
    fetch(`${toy.url}/bulk`, { method: "POST", headers, body: '{"items":[]}', signal }).catch(() => "aborted"),
  );
  await until("four bulks are processed", () => running.length === 4);
  const next = bulk("acme");
  aborting.abort();
  await until("the next one is", () => running.length === 5);
  finish();
  expect([...(await Promise.all(aborted)), (await next).status]).toEqual([...Array(4).fill("aborted"), 200]);
});

test("a bulk whose caller has gone while it waited gives its place back", async () => {
  await start();
  const first = [1, 2, 3, 4].map(() => bulk("acme"));
  await until("four bulks are processed", () => running.length === 4);
  let there = 0;
  toy.api.server.on("request", (_, response) => {
    there += 1;
    response.once("close", () => (there -= 1));
  });
  const aborting = new AbortController();
  const { signal } = aborting;
  const headers = { authorization: "Bearer acme", "content-type": "application/json" };
  const gone = [1, 2, 3, 4].map(() =>
    fetch(`${toy.url}/bulk`, { method: "POST", headers, body: '{"items":[]}', signal }).catch(() => "aborted"),
  );
  await until("four more wait", () => there === 4);
  aborting.abort();
  await until("they have gone", () => there === 0);
  finish();
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual(Array(4).fill(200));
  expect(await Promise.all(gone)).toEqual(Array(4).fill("aborted"));
  expect((await bulk("acme")).status).toBe(200);
  expect(running).toHaveLength(5);
});

test("a caller has four bulks from the head to the response, and more wait before their bodies are sent", async () => {
  await start();
  const { hostname, port } = new URL(toy.url);
  const head = ["POST /bulk HTTP/1.1", "Host: toy", "Authorization: Bearer acme", "Content-Type: application/json"];
  const all = [...head, "Expect: 100-continue", "Content-Length: 12", "", ""].join("\r\n");
  const sent = Array.from({ length: 5 }, () => {
    const socket = Object.assign(connect(Number(port), hostname), { received: "" });
    socket.setEncoding("utf8").on("data", (text: string) => (socket.received += text));
    socket.on("error", () => undefined).write(all);
    onTestFinished(() => void socket.destroy());
    return socket;
  });
  const admitted = () => sent.filter(({ received }) => received.startsWith("HTTP/1.1 100 "));
  await until("four may send their bodies", () => admitted().length >= 4);
  finish();
  expect((await bulk("other")).status).toBe(200);
  const [first] = admitted();
  expect(admitted()).toHaveLength(4);
  first?.write('{"items":[]}');
  await until("the fifth may, too", () => admitted().length === 5);
});

test("bulks whose responses are not read have no places; of their bodies nothing is kept, and the responses are bounded", async () => {
  const ofClients = new UnsentResponses({ most: 84 * MIB, graceMs: 60_000, bytesPerSecond: 1 });
  await start({ ...createUnsentResponses(), ofClients });
  finish();
  const { hostname, port } = new URL(toy.url);
  const json = JSON.stringify({ items: ["first"] });
  const head = ["POST /long HTTP/1.1", "Host: toy", "Authorization: Bearer acme", "Content-Type: application/json"];
  const whole = [...head, `Content-Length: ${json.length}`, "", json].join("\r\n");
  const bytes = JSON.stringify({ items: LONG }).length;
  // Of the room for ten a caller that is alone may have five.
  for (let unread = 1; unread <= 5; unread += 1) {
    const deaf = connect(Number(port), hostname)
      .on("error", () => undefined)
      .pause();
    onTestFinished(() => void deaf.destroy());
    deaf.write(whole);
    await until("its response waits", () => ofClients.bytes === unread * bytes);
  }
  expect((await bulk("acme")).status).toBe(200);
  const unread = problem(503, "Service Unavailable", "too many responses are waiting to be read");
  const another = await ask(toy, "/long", { method: "POST", token: "acme", json: { items: ["sixth"] } });
  expect([another.status, another.body, ofClients.bytes]).toEqual([503, unread.body, 5 * bytes]);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await until("the bodies are collected", () => {
    collect();
    return bodies.every((body) => body.deref() === undefined);
  });
  expect(bodies).toHaveLength(6);
});

test("bulks that are rejected behind a response that is not read have no places", async () => {
  await start();
  finish();
  const { hostname, port } = new URL(toy.url);
  const post = (path: string, json: string): string =>
    [
      ...[`POST ${path} HTTP/1.1`, "Host: toy", "Authorization: Bearer acme", "Content-Type: application/json"],
      ...[`Content-Length: ${json.length}`, "", json],
    ].join("\r\n");
  const deaf = connect(Number(port), hostname)
    .on("error", () => undefined)
    .pause();
  onTestFinished(() => void deaf.destroy());
  const responses: ServerResponse[] = [];
  toy.api.server.on("request", (_, response) => void responses.push(response));
  deaf.write(post("/long", "{}") + post("/bulk", "no JSON").repeat(4));
  await until("all have been answered, as far as they can be", () => {
    return responses.filter(({ writableEnded }) => writableEnded).length === 5;
  });
  expect((await bulk("acme")).status).toBe(200);
});

test("so many bulks of a caller wait, and one more is 503", async () => {
  await start();
  const statuses: number[] = [];
  const rejected: Answer[] = [];
  const all = Array.from({ length: 66 }, async () => {
    const answer = await bulk("acme");
    statuses.push(answer.status);
    if (answer.status !== 200) rejected.push(answer);
  });
  await until("the last two are rejected", () => rejected.length === 2);
  const detail = "the service is at capacity: too many bulks are waiting";
  const { body } = problem(503, "Service Unavailable", detail);
  expect(rejected.map((answer) => [answer.body, answer.headers["retry-after"]])).toEqual(Array(2).fill([body, "1"]));
  finish();
  await Promise.all(all);
  expect(statuses.filter((status) => status === 200)).toHaveLength(64);
});

test("of bulks that are one command each a caller that is alone has two at a time", async () => {
  await start();
  const answers = [1, 2, 3].map(() => ask(toy, "/command", { method: "POST", token: "acme", json: {} }));
  await until("two are carried out", () => running.length >= 2);
  expect((await ask(toy, "/v2/toys", { token: "acme" })).status).toBe(200);
  expect(running).toEqual(["acme", "acme"]);
  finish();
  expect((await Promise.all(answers)).map(({ body }) => body)).toEqual(Array(3).fill({ values: ["done"] }));
  expect(running).toHaveLength(3);
});

test("callers that send their bodies slowly do not keep others from having theirs processed", async () => {
  await start();
  const { hostname, port } = new URL(toy.url);
  const head = (token: string) =>
    `POST /bulk HTTP/1.1\r\nHost: toy\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
  const slow = Array.from({ length: 32 }, (_, i) => {
    const socket = connect(Number(port), hostname).on("error", () => undefined);
    socket.write(head(`slow ${i % 8}`));
    return socket;
  });
  finish();
  // Slow bodies take no place of those that are processed.
  expect(
    (await Promise.all(Array.from({ length: 16 }, (_, i) => bulk(`quick ${i}`)))).map(({ status }) => status),
  ).toEqual(Array(16).fill(200));
  for (const socket of slow) socket.destroy();
});
