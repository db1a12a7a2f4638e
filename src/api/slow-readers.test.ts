/** Callers who ask for much and do not read it, on real sockets. */
import { connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { ask, problem, startToyApi, type ToyApi } from "../../test/support/http/toy-api.ts";
import { until } from "../../test/support/until.ts";
import { UnsentResponses } from "../web/connections/unsent-responses.ts";

let toy: ToyApi;
let answers: UnsentResponses;
/** Of callers without a token. */
let strangers: UnsentResponses;
let cutOff: number;
/** How often the database would have been asked. */
let made: number;
/** Whether the page has been asked for whose caller goes before it is made. */
let asked: boolean;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await toy.close();
});

const MIB = 1024 * 1024;
/** More than the buffers of two sockets hold. */
const PAGE = "x".repeat(8 * MIB);
/** Of three bytes for each unit, and short enough that it could wait as a text. */
const TEXT = "€".repeat(60 * 1024);
const REQUEST = "GET /page HTTP/1.1\r\nHost: toy\r\nAuthorization: Bearer good\r\n\r\n";
const UNREAD = problem(503, "Service Unavailable", "too many responses are waiting to be read", {
  headers: { "retry-after": "1" },
});

interface Bounds {
  readonly mostMib?: number;
  readonly graceMs?: number;
  readonly bytesPerSecond?: number;
  /** Whether callers without a token have room of their own. */
  readonly apart?: true;
}

async function start({ mostMib = 1_000, graceMs = 60_000, bytesPerSecond = 1, apart }: Bounds = {}): Promise<void> {
  [made, cutOff, asked] = [0, 0, false];
  const room = () => new UnsentResponses({ most: mostMib * MIB, graceMs, bytesPerSecond });
  answers = room();
  strangers = apart ? room() : answers;
  const addPages = (api: ToyApi["api"]): void => {
    const page = async (): Promise<{ page: string }> => {
      made += 1;
      return { page: PAGE };
    };
    api.get("/page", { config: { scope: "transfer:read_transfer" }, schema: { hide: true } }, page);
    const schema = { hide: true };
    api.get("/text", { config: { scope: "transfer:read_transfer" }, schema }, async () => ({ text: TEXT }));
    const late = { config: { scope: "transfer:read_transfer" as const }, schema: { hide: true } };
    api.get("/late", late, async (_request, reply) => {
      asked = true;
      await until("the caller has gone", () => reply.raw.destroyed);
      return page();
    });
    api.get("/public-page", { config: { scope: "public" }, schema: { hide: true } }, page);
  };
  toy = await startToyApi(addPages, {
    answers: { ofClients: answers, ofUnauthenticated: strangers },
    onCutOff: (count) => {
      cutOff += count;
    },
    timeouts: { headersMs: 20_000, requestMs: 30_000, checkEveryMs: 50 },
  });
}

/** Sends requests and reads nothing. */
function deaf(requests: string): Socket {
  const { hostname, port } = new URL(toy.url);
  const socket = connect(Number(port), hostname)
    .on("error", () => {})
    .pause();
  socket.write(requests);
  sockets.push(socket);
  return socket;
}

const bytesWait = (pages: number) =>
  until(`${pages} pages wait`, () => answers.bytes >= pages * PAGE.length && made >= pages);

test("a caller that reads nothing gets half of the room, then 503 before any work; others continue", async () => {
  await start({ mostMib: 34 });
  deaf(REQUEST);
  await bytesWait(1);
  deaf(REQUEST);
  await bytesWait(2);
  // The third would take more than is left: its page is made, for its size is not known before, and not sent.
  expect(await ask(toy, "/page")).toEqual(UNREAD);
  expect(made).toBe(3);
  // Not the same caller: nobody is known here but the address.
  const { status, body } = await ask(toy, "/public-page", { token: null });
  expect([status, (body as { page: string }).page.length]).toEqual([200, PAGE.length]);
  for (const socket of sockets) socket.destroy();
  await until("nothing waits", () => answers.bytes === 0);
  expect((await ask(toy, "/page")).status).toBe(200);
});

test("without room a request is rejected before any work, and small responses are not rejected", async () => {
  await start({ mostMib: 16.1 });
  deaf(REQUEST);
  await bytesWait(1);
  answers.add("somebody else", 0.1 * MIB, () => {});
  expect(await ask(toy, "/page")).toEqual(UNREAD);
  expect(made).toBe(1);
  expect((await ask(toy, "/v2/nothing")).status).toBe(404);
});

test("pages that wait behind one another on a connection count, and are forgotten with it", async () => {
  await start();
  const socket = deaf(REQUEST.repeat(3));
  await bytesWait(3);
  socket.destroy();
  await until("nothing waits", () => answers.bytes === 0);
});

test("a page that is made when its caller has gone is not kept", async () => {
  await start();
  const socket = deaf(REQUEST.replace("/page", "/late"));
  await until("it is asked for", () => asked);
  socket.resetAndDestroy();
  await until("the page is made", () => made === 1);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(answers.bytes).toBe(0);
});

test("what waits is counted in bytes, whatever its text", async () => {
  await start();
  deaf(`${REQUEST}${REQUEST.replace("/page", "/text").repeat(3)}`);
  const bytes = [{ page: PAGE }, ...new Array(3).fill({ text: TEXT })].map((body) =>
    Buffer.byteLength(JSON.stringify(body)),
  );
  await until("the page and three texts wait", () => answers.bytes === bytes.reduce((sum, some) => sum + some, 0));
});

test("a connection that reads too slowly is closed, also when it reads a little all the time", async () => {
  await start({ graceMs: 100, bytesPerSecond: 16 * MIB });
  const trickling = deaf(REQUEST);
  const timer = setInterval(() => trickling.read(1), 20);
  await bytesWait(1);
  await until("nothing waits", () => answers.bytes === 0);
  clearInterval(timer);
  trickling.resume();
  await until("its end has come", () => trickling.closed || trickling.readableEnded);
  expect(trickling.bytesRead).toBeLessThan(PAGE.length);
});

test("callers without a token have room of their own, and are cut off and counted as well", async () => {
  await start({ graceMs: 100, bytesPerSecond: 16 * MIB, apart: true });
  const stranger = deaf("GET /public-page HTTP/1.1\r\nHost: toy\r\n\r\n");
  await until("its page waits", () => strangers.bytes >= PAGE.length);
  expect(answers.bytes).toBe(0);
  await until("nothing waits", () => strangers.bytes === 0);
  expect(cutOff).toBe(1);
  deaf(REQUEST);
  await until("that of a client waits", () => answers.bytes >= PAGE.length);
  expect(strangers.bytes).toBe(0);
  await until("nothing waits", () => answers.bytes === 0);
  expect(cutOff).toBe(2);
  stranger.resume();
});
