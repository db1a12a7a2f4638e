/** GET /v2/events/stream: Server-Sent Events (docs/events.md). */

import { get as httpGet, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { pause } from "../../src/std/pause.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { callerAs, eventsOf } from "./stories.ts";

let service: TestService;
let acme: TestCustomer;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  acme = await service.customer("Acme");
  await eventsOf(service, acme, ["profile.created"]);
});
afterAll(() => service.close());

/** One message: its id, and its event or what there is in its place. */
interface Message {
  readonly id: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: a body as it was sent
  readonly event: any;
}

interface Reader {
  readonly status: number;
  readonly response: IncomingMessage;
  readonly messages: Message[];
  readonly ended: Promise<void>;
}

interface Opening {
  readonly token?: string;
  readonly lastId?: string;
  /** Another node. */
  readonly at?: string;
}

function open(query = "", { token = acme.token, lastId, at = service.baseUrl }: Opening = {}): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const authorization = `Bearer ${token}`;
    const headers = lastId === undefined ? { authorization } : { authorization, "last-event-id": lastId };
    const sent = httpGet(`${at}/v2/events/stream${query}`, { headers }, (response) => {
      const messages: Message[] = [];
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
        const parts = text.split("\n\n");
        text = parts.pop() ?? "";
        messages.push(...parts.flatMap(readMessage));
      });
      const ended = new Promise<void>((done) => response.once("close", () => done()));
      resolve({ status: response.statusCode ?? 0, response, messages, ended });
    }).on("error", reject);
    onTestFinished(() => void sent.destroy());
  });
}

function readMessage(text: string): Message[] {
  if (text === "retry: 1000") return [];
  const id = /^id: (.*)$/m.exec(text)?.[1];
  const data = /^data: (.*)$/m.exec(text)?.[1];
  return [{ id, event: data === undefined ? undefined : JSON.parse(data) }];
}

const makeProfile = (nickname: string) => callerAs(service, acme)("POST", "/v2/profiles", { nickname });
const has = (reader: Reader, count: number) => until(`it has ${count} messages`, () => reader.messages.length >= count);

test("a stream has what happens from now on, as the list has it, each with its number as id", async () => {
  const reader = await open();
  expect([reader.status, reader.response.headers["content-type"], reader.response.headers["cache-control"]]).toEqual([
    200,
    "text/event-stream",
    "no-store",
  ]);
  await makeProfile("one");
  await makeProfile("two");
  await has(reader, 2);
  const { body } = await service.call("GET", "/v2/events?after_number=1", { as: acme.token });
  expect(reader.messages).toEqual(
    body.events.map((event: { number: number }) => ({ id: String(event.number), event })),
  );
});

test("a stream resumes behind Last-Event-ID, which goes before after_number", async () => {
  for (const nickname of ["one", "two", "three"]) await makeProfile(nickname);
  await eventsOf(service, acme);
  await until("all are published", async () => (await eventsOf(service, acme)).length === 4);
  const [resumed, asked] = [await open("?after_number=0", { lastId: "2" }), await open("?after_number=3")];
  await has(resumed, 2);
  await has(asked, 1);
  expect(resumed.messages.map(({ id }) => id)).toEqual(["3", "4"]);
  expect(asked.messages.map(({ id }) => id)).toEqual(["4"]);
  // HTML, section 9.2.3: of a reader that has no event yet.
  const first = await open("?after_number=3", { lastId: "" });
  await has(first, 1);
  expect(first.messages.map(({ id }) => id)).toEqual(["4"]);
  expect((await open("", { lastId: "x" })).status).toBe(400);
  // As after a restore.
  expect((await open("", { lastId: "5" })).status).toBe(400);
});

test("filters apply to a stream, and another customer's events are not in it", async () => {
  const other = await service.customer("Other");
  const reader = await open("?type=profile.updated");
  const { id } = await makeProfile("one");
  await callerAs(service, other)("POST", "/v2/profiles", { nickname: "theirs" });
  await callerAs(service, acme)("PUT", `/v2/profiles/${id}`, { description: "changed" });
  await has(reader, 1);
  expect(reader.messages.map(({ event }) => [event.type, event.object.description])).toEqual([
    ["profile.updated", "changed"],
  ]);
});

test("without a token, or without the scope, there is no stream", async () => {
  expect((await open("", { token: "" })).status).toBe(401);
  expect((await open("", { token: await service.token(acme, "funding:read_profile") })).status).toBe(403);
});

test("a stream ends when its client is disabled", async () => {
  const reader = await open();
  await service.service.core.clients.disable(acme.clientId, TESTER);
  await reader.ended;
  expect(reader.messages).toEqual([]);
});

test("a stream on another node has the same events", async () => {
  const { baseUrl } = await service.another({ roles: new Set(["api", "auth"]) });
  const reader = await open("", { at: baseUrl });
  await makeProfile("one");
  await has(reader, 1);
  expect(reader.messages).toMatchObject([{ id: "2", event: { object: { nickname: "one" } } }]);
});

test("a client has at most 125 streams on a node, and the next one is another client's", async () => {
  const readers = await Promise.all(Array.from({ length: 125 }, () => open()));
  expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await open()).status).toBe(503);
  const second = unwrap(await service.service.core.clients.create({ customerId: acme.id, scopes: ["*"] }, TESTER));
  expect((await open("", { token: await service.token(second) })).status).toBe(200);
});

test("open streams, and requests that wait for events, leave room for other reads", async () => {
  const readers = await Promise.all(Array.from({ length: 20 }, () => open()));
  expect(readers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  const call = callerAs(service, acme);
  const waiting = Array.from({ length: 20 }, () => call("GET", "/v2/events?after_number=1&wait_millis=20000"));
  expect((await call("GET", "/v2/profiles")).items).toHaveLength(1);
  await makeProfile("for all");
  await Promise.all(readers.map((reader) => has(reader, 1)));
  for (const { events } of await Promise.all(waiting)) expect(events).toMatchObject([{ number: 2 }]);
});

test("a caller that leaves while its stream is opened is not counted", async () => {
  const small = await startTestService({ maxConnections: 12 });
  onTestFinished(() => small.close());
  const { token } = await small.customer("Small");
  for (let times = 0; times < 30; times += 1) {
    const filter = times % 2 === 0 ? "" : "?profile_id=default";
    const sent = httpGet(`${small.baseUrl}/v2/events/stream${filter}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    sent.on("error", () => undefined).on("response", (response) => response.destroy());
    await pause(times % 6);
    sent.destroy();
  }
  await until("there is room", async () => {
    const readers = [];
    for (let count = 0; count < 3; count += 1) readers.push(await open("", { token, at: small.baseUrl }));
    for (const { response } of readers) response.destroy();
    return readers.every(({ status }) => status === 200);
  });
});

test("there are no more streams than a quarter of the connections, and they end when the service stops", async () => {
  const small = await startTestService({ maxConnections: 12 });
  onTestFinished(() => small.close());
  const { token } = await small.customer("Small");
  const openThere = () => open("", { token, at: small.baseUrl });
  const readers = [await openThere(), await openThere(), await openThere()];
  expect(readers.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect((await openThere()).status).toBe(503);
  readers[0]?.response.destroy();
  await until("there is room again", async () => (await openThere()).status === 200);
  await Promise.all([...readers.map(({ ended }) => ended), small.stop()]);
});
