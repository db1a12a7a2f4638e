/** What a turn of the event loop begins, of requests and of large bodies, and what becomes of those whose callers go. */
import { connect, type Socket } from "node:net";
import { Type } from "typebox";
import { afterEach, expect, test } from "vitest";
import { ask, problem, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { notedRests } from "../../test/support/noted-rests.ts";
import { until } from "../../test/support/until.ts";
import { FairAdmission, PATIENT } from "../web/limits/fair-admission.ts";
import { createAdmissions } from "./access/request-admission.ts";
import type { Api } from "./server.ts";

let toy: ToyApi;
afterEach(() => toy.close());

test("of reads that arrive together each turn takes some, in turn by address; writes go on together", async () => {
  const taken: string[] = [];
  let turn = 0;
  toy = await startToyApi((api: Api) => {
    const open = { config: { scope: "public" as const }, schema: { hide: true } };
    api.get("/read", open, async ({ ip }) => void taken.push(`${turn} ${ip}`));
    api.post("/write", open, async ({ ip }) => void taken.push(`${turn} ${ip}`));
  });
  const send = async (
    method: "GET" | "POST",
    count: number,
    last: string,
    of = (_: number) => "203.0.113.9",
    url = method === "GET" ? "/read" : "/write",
    headers: object = {},
  ) => {
    taken.length = 0;
    const all = Array.from({ length: count + 1 }, async (_, i) => {
      const remoteAddress = i === count ? last : of(i);
      const { statusCode } = await toy.api.inject({ method, url, headers: { host: "toy", ...headers }, remoteAddress });
      if (statusCode >= 400) taken.push(`${turn} ${remoteAddress}`);
    });
    while (taken.length <= count) {
      await new Promise(setImmediate);
      turn += 1;
    }
    await Promise.all(all);
    return [...taken];
  };
  const reads = await send("GET", 100, "198.51.100.7");
  const unknown = await send("GET", 100, "198.51.100.7", undefined, "/nothing");
  const undecodable = await send("GET", 100, "198.51.100.7", undefined, "/%zz");
  const unreadable = await send("GET", 100, "198.51.100.7", undefined, "/read", { "transfer-encoding": "gzip" });
  for (const these of [reads, unknown, undecodable, unreadable]) {
    const turns = these.map((text) => text.split(" ")[0]);
    const most = Math.max(...turns.map((one) => turns.filter((other) => other === one).length));
    expect(most).toBeLessThanOrEqual(4);
    expect(these.findIndex((text) => text.endsWith("198.51.100.7"))).toBeLessThan(10);
  }
  // Of IPv6, a network of 48 bits is one address.
  const wide = await send("GET", 100, "2001:db8:2::7", (i) => `2001:db8:1:${i.toString(16)}::9`);
  expect(wide.findIndex((text) => text.endsWith("2001:db8:2::7"))).toBeLessThan(10);
  const writes = await send("POST", 40, "198.51.100.7");
  expect(new Set(writes.map((text) => text.split(" ")[0])).size).toBeLessThanOrEqual(7);
  const many = await send("POST", 300, "198.51.100.7");
  expect(many.findIndex((text) => text.endsWith("198.51.100.7"))).toBeLessThan(40);
});

test("large bodies that are complete at the same time are parsed one in a turn", async () => {
  const taken: number[] = [];
  const { tookMs, rests } = notedRests();
  let turn = 0;
  const largeBodies = new FairAdmission({ ...PATIENT, atOnce: 16, alone: 16, share: 16, rests });
  toy = await startToyApi(
    (api: Api) => {
      const schema = { hide: true, body: Type.Object({ notes: Type.Array(Type.String()) }) };
      api.post("/notes", { config: { scope: "public" }, schema }, async () => void taken.push(turn));
    },
    { admissions: { ...createAdmissions(), largeBodies } },
  );
  const body = JSON.stringify({ notes: Array(60).fill("x".repeat(1_000)) });
  const head = `POST /notes HTTP/1.1\r\nHost: toy\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  let received = 0;
  toy.api.server.on("request", (request) => request.on("data", ({ length }: Buffer) => (received += length)));
  const sockets = Array.from({ length: 20 }, () => connect(Number(new URL(toy.url).port), "127.0.0.1"));
  for (const socket of sockets) socket.write(head + body.slice(0, -1));
  await until("all but their last bytes have come", () => received === 20 * (body.length - 1));
  for (const socket of sockets) socket.write("}");
  while (taken.length < 20) {
    await new Promise(setImmediate);
    turn += 1;
  }
  expect(Math.max(...taken.map((one) => taken.filter((other) => other === one).length))).toBeLessThanOrEqual(2);
  await until("all have ended their turns", () => tookMs.length === 20);
  for (const socket of sockets) socket.destroy();
});

test("requests that wait for their turn are forgotten when their connection ends", async () => {
  let taken = 0;
  toy = await startToyApi((api: Api) => {
    const onRequest = async (): Promise<void> => {
      taken += 1;
    };
    api.get("/read", { config: { scope: "public" }, schema: { hide: true }, onRequest }, async () => ({}));
  });
  let arrived = 0;
  toy.api.server.on("request", ({ socket }) => {
    arrived += 1;
    if (arrived === 16) socket.destroy();
  });
  const socket = connect(Number(new URL(toy.url).port), "127.0.0.1").on("error", () => undefined);
  socket.write("GET /read HTTP/1.1\r\nHost: toy\r\n\r\n".repeat(16));
  await until("all have come", () => arrived === 16);
  for (let turn = 0; turn < 30; turn += 1) await new Promise(setImmediate);
  expect(taken).toBeLessThanOrEqual(6);
});

test("large bodies whose callers go while they wait for their turn free their places", async () => {
  const largeBodies = new FairAdmission({ ...PATIENT, atOnce: 16, alone: 16, share: 16 });
  toy = await startToyApi(
    (api: Api) => {
      const schema = { hide: true, body: Type.Object({ notes: Type.Array(Type.String()) }) };
      api.post("/notes", { config: { scope: "public" }, schema }, async () => ({}));
    },
    { admissions: { ...createAdmissions(), largeBodies } },
  );
  const body = JSON.stringify({ notes: Array(60).fill("x".repeat(1_000)) });
  const head = `POST /notes HTTP/1.1\r\nHost: toy\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const served: Socket[] = [];
  let [received, most] = [0, 0];
  toy.api.server.on("request", (request) => {
    served.push(request.socket);
    request.on("data", ({ length }: Buffer) => (received += length));
  });
  const endOnceSomeWait = (): void => {
    most = Math.max(most, largeBodies.size);
    if (most < 4) setImmediate(endOnceSomeWait);
    else for (const one of served) one.destroy();
  };
  const sockets = Array.from({ length: 20 }, () => connect(Number(new URL(toy.url).port), "127.0.0.1"));
  for (const socket of sockets) socket.on("error", () => undefined).write(head + body.slice(0, -1));
  await until("all but their last bytes have come", () => received === 20 * (body.length - 1));
  for (const socket of sockets) socket.write("}");
  endOnceSomeWait();
  await until("all connections have ended", () => served.every(({ destroyed }) => destroyed));
  expect(most).toBeGreaterThanOrEqual(4);
  await until("their places are free", () => largeBodies.size === 0);
  for (const socket of sockets) socket.destroy();
});

test("what others do in the turn in which a large body is parsed does not count as its caller's", async () => {
  const { tookMs, rests } = notedRests();
  const largeBodies = new FairAdmission({ ...PATIENT, atOnce: 16, alone: 16, share: 16, rests });
  toy = await startToyApi(undefined, { admissions: { ...createAdmissions(), largeBodies } });
  let isOver = false;
  const othersWork = (): void => {
    const until = performance.now() + 100;
    while (performance.now() < until);
    if (!isOver) setImmediate(othersWork);
  };
  setImmediate(othersWork);
  const json = { notes: Array(60).fill("x".repeat(1_000)) };
  expect((await ask(toy, "/v2/toys/default", { method: "POST", json })).status).toBe(400);
  isOver = true;
  expect(tookMs).toHaveLength(1);
  expect(tookMs[0]).toBeLessThan(100);
});

test("a large body for which there is no room is 503, and a small one is read", async () => {
  const largeBodies = new FairAdmission({ ...PATIENT, most: 1, atOnce: 1, alone: 1, share: 1 });
  toy = await startToyApi(
    (api: Api) => {
      const schema = { hide: true, body: Type.Object({ notes: Type.Array(Type.String()) }) };
      api.post("/notes", { config: { scope: "public" }, schema }, async () => ({}));
    },
    { admissions: { ...createAdmissions(), largeBodies } },
  );
  const send = (notes: number) =>
    ask(toy, "/notes", { method: "POST", json: { notes: Array(notes).fill("x".repeat(1_000)) } });
  expect(await largeBodies.enter("another")).toBe(true);
  expect(await send(5)).toEqual(
    problem(503, "Service Unavailable", "the service is at capacity: too many requests are waiting", {
      headers: { "retry-after": "1" },
    }),
  );
  expect((await send(3)).status).toBe(200);
  largeBodies.leave("another");
  expect((await send(5)).status).toBe(200);
});
