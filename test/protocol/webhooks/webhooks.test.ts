/** Webhooks over the API (docs/contract/webhooks.md), with a receiver that gets what is posted. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { expectBooksBalance } from "../../support/books.ts";
import { startTestService, type TestCustomer, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

const PATH = "/v2/webhooks";
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const ID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const KEY = expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/);
const SECRET = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/);
const NOBODYS = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

let service: TestService;
let acme: TestCustomer;
let receiver: Server;
let url: string;
let status = 204;
const received: Received[] = [];
const logged: Readonly<Record<string, unknown>>[] = [];
beforeAll(async () => {
  service = await startTestService({}, undefined, undefined, undefined, (line) => void logged.push(JSON.parse(line)));
  receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    received.push({ path: request.url ?? "", headers: request.headers, body });
    response.writeHead(status).end(status === 204 ? undefined : "no, \u0000 thanks");
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
afterAll(async () => {
  receiver.closeAllConnections();
  receiver.close();
  await service.close();
});
beforeEach(async () => {
  acme = await service.customer();
  status = 204;
  // A new webhook gets what is published later, whenever it happened.
  const published = async () => (await service.call("GET", "/v2/events", { as: acme.token })).body.events.length;
  await until("the event of its first profile is published", async () => (await published()) > 0);
});

const call = (method: string, path: string, body?: unknown, as = acme.token) =>
  service.call(method, PATH + path, { as, ...(body !== undefined && { body }) });
const settings = (more: object = {}) => ({ name: "books", url: `${url}/${acme.id}`, types: ["*"], ...more });

async function created(more: object = {}): Promise<{ readonly id: string; readonly signing_secret: string }> {
  const { status, body } = await call("POST", "", settings(more));
  expect([status, body]).toEqual([200, expect.anything()]);
  return body;
}

const problem = (status: number, detail: string, meta: object = {}, title = "Bad Request") => ({
  type: "about:blank",
  title,
  status,
  detail,
  meta,
  request_id: ID,
});

test("a webhook is created with defaults, read and listed, and its secret shown once", async () => {
  const answer = await call("POST", "", settings());
  const expected = {
    ...settings(),
    id: ID,
    body: "THIN",
    delivery_order: "PER_OBJECT",
    deliveries_per_second: 10,
    status: "ACTIVE",
    public_keys: [KEY],
    created_at: TIME,
    updated_at: TIME,
  };
  expect([answer.status, answer.body]).toEqual([200, { ...expected, signing_secret: SECRET }]);
  const { id, public_keys: keys } = answer.body;
  await until("nothing waits", async () => (await call("GET", `/${id}`)).body.backlog.events === 0);
  expect((await call("GET", `/${id}`)).body).toEqual({ ...expected, backlog: { events: 0 } });
  expect((await call("GET", "")).body).toEqual({
    items: [{ ...expected, backlog: { events: 0 } }],
    next_page_cursor: "",
  });
  expect((await service.call("GET", `${PATH}/${id}/public-keys`)).body).toEqual({ public_keys: keys });
});

test("everything that can be set is, and PUT replaces it", async () => {
  const api = { type: "API_KEY", header: "X-Api-Key" };
  const all = {
    types: ["transfer.*", "order.filled"],
    body: "FULL",
    delivery_order: "STRICT",
    deliveries_per_second: 100,
  };
  const made = await created({ ...all, receiver_access: { ...api, secret: "hush" } });
  expect(made).toMatchObject({ ...all, receiver_access: api });
  expect(JSON.stringify(made)).not.toContain("hush");
  const oauth = { type: "OAUTH", token_url: `${url}/token`, client_id: "parbook", scope: "hooks" };
  const put = await call(
    "PUT",
    `/${made.id}`,
    settings({ name: "renamed", receiver_access: { ...oauth, secret: "s" } }),
  );
  expect([put.status, put.body]).toEqual([
    200,
    {
      ...settings({ name: "renamed" }),
      id: made.id,
      ...{ body: "THIN", delivery_order: "PER_OBJECT", deliveries_per_second: 10, status: "ACTIVE" },
      ...{ receiver_access: oauth, public_keys: [KEY], created_at: TIME, updated_at: TIME },
    },
  ]);
});

test("an event is posted thin, signed and with its id; or full, with the object as it was then", async () => {
  const { id } = await created();
  await created({ name: "full", url: `${url}/full/${acme.id}`, body: "FULL" });
  const made = await service.call("POST", "/v2/profiles", { as: acme.token, body: { nickname: "spare" } });
  const find = async () => {
    const { events } = (await service.call("GET", "/v2/events?type=profile.created", { as: acme.token })).body;
    return events.find(({ object }: { object: { id: string } }) => object.id === made.body.id);
  };
  await until("its event is published", async () => (await find()) !== undefined);
  const event = await find();
  const mine = (path: string) => received.find((one) => one.path === path && one.body.id === event.id);
  const [thinPath, fullPath] = [`/${acme.id}`, `/full/${acme.id}`];
  await until("both are there", () => mine(thinPath) !== undefined && mine(fullPath) !== undefined);
  const thin = {
    id: event.id,
    type: "profile.created",
    source: `${service.baseUrl}/v2/events/${event.id}`,
    time: event.created_at,
    object: "event",
    is_test: true,
  };
  const posted = mine(thinPath);
  expect(posted?.body).toEqual(thin);
  expect(posted?.headers).toMatchObject({
    "content-type": "application/json",
    "webhook-id": event.id,
    "webhook-timestamp": expect.stringMatching(/^\d{10}$/),
    "webhook-signature": expect.stringMatching(/^v1a?,[A-Za-z0-9+/=]+ v1a?,[A-Za-z0-9+/=]+$/),
  });
  const { number, object_type, version, object: data } = event;
  expect(mine(fullPath)?.body).toEqual({ ...thin, number, object_type, version, data });
  const attempts = async () => (await call("GET", `/${id}/attempts`)).body.items;
  await until("its attempt is listed", async () => (await attempts()).length > 0);
  const attempt = { message_id: event.id, number, events: 1, status: 204 };
  expect(await attempts()).toContainEqual(expect.objectContaining(attempt));
  await expectBooksBalance(service.db.owner);
});

test("a test is posted at once, and what was answered is listed", async () => {
  const { id } = await created({ types: ["order.filled"] });
  status = 500;
  const failed = await call("POST", `/${id}/test`);
  const attempt = { id: ID, message_id: ID, events: 1, at: TIME, millis: expect.any(Number), status: 500 };
  const first = { ...attempt, error: "answered 500", answer: "no, \u0000 thanks" };
  expect([failed.status, failed.body]).toEqual([200, first]);
  const tested = received.findLast(({ path }) => path === `/${acme.id}`);
  expect(failed.body.message_id).toBe(tested?.headers["webhook-id"]);
  expect(tested?.body).toEqual({
    id: failed.body.id,
    type: "webhook.test",
    source: `${service.baseUrl}${PATH}/${id}`,
    time: TIME,
    object: "event",
    is_test: true,
  });
  status = 204;
  const accepted = await call("POST", `/${id}/test`);
  const second = { ...attempt, status: 204 };
  expect(accepted.body).toEqual(second);
  expect((await call("GET", `/${id}/attempts`)).body).toEqual({ items: [second, first], next_page_cursor: "" });
  const page = (await call("GET", `/${id}/attempts?limit=1`)).body;
  expect(page.items).toEqual([accepted.body]);
  const rest = (await call("GET", `/${id}/attempts?limit=1&page_cursor=${page.next_page_cursor}`)).body;
  expect(rest).toEqual({ items: [failed.body], next_page_cursor: "" });
});

test("what was given up counts in its event, and is delivered again on demand", async () => {
  const { id } = await created({ types: ["profile.*"] });
  status = 410;
  await service.call("POST", "/v2/profiles", { as: acme.token, body: { nickname: "one" } });
  const read = async () => (await call("GET", `/${id}`)).body;
  await until("it is disabled", async () => (await read()).status === "DISABLED");
  expect(await read()).toMatchObject({ disabled_reason: "GONE", disabled_at: TIME });
  const ofIt = () => logged.find(({ msg }) => msg === "a webhook was disabled");
  await until("it is logged", () => ofIt() !== undefined);
  expect(ofIt()).toMatchObject({ level: 40, webhook_id: id, customer_id: acme.id, reason: "gone" });
  status = 204;
  const enabled = await call("POST", `/${id}/enable`, { from: "NOW" });
  expect([enabled.status, enabled.body.status, enabled.body.disabled_reason]).toEqual([200, "ACTIVE", undefined]);
  const { events } = (await service.call("GET", "/v2/events?type=profile.created", { as: acme.token })).body;
  const event = events.at(-1);
  expect(event.undelivered_webhooks).toBe(1);
  const one = await service.call("GET", `/v2/events/${event.id}`, { as: acme.token });
  expect(one.body.undelivered_webhooks).toBe(1);
  const replayed = await call("POST", `/${id}/replay`, { only_undelivered: true });
  expect([replayed.status, replayed.body]).toEqual([200, { events: 1 }]);
  const count = () => received.filter(({ body }) => body.id === event.id).length;
  await until("it came again", () => count() === 2);
  const after = await service.call("GET", `/v2/events/${event.id}`, { as: acme.token });
  expect(after.body.undelivered_webhooks).toBe(0);
  const again = await call("POST", `/${id}/replay`, { from_number: event.number });
  expect([again.status, again.body]).toEqual([200, { from_number: event.number }]);
  await until("it came a third time", () => count() === 3);
  // What is ahead of its place begins at its place, which is written a moment later.
  await until("that is written", async () => (await read()).backlog.events === 0);
  // A time between two milliseconds is behind the events of the first.
  const all: { number: number; created_at: string }[] = (await service.call("GET", "/v2/events", { as: acme.token }))
    .body.events;
  const next = all.find(({ created_at: at }) => at > event.created_at)?.number ?? all.length + 1;
  const fromTime = await call("POST", `/${id}/replay`, { from_time: event.created_at.replace("Z", "1Z") });
  expect([fromTime.status, fromTime.body]).toEqual([200, { from_number: next }]);
});

test("what waits is counted, from when on, and when it is tried again", async () => {
  status = 500;
  const { id } = await created({ types: ["profile.*"], delivery_order: "ANY" });
  const backlog = async () => (await call("GET", `/${id}`)).body.backlog;
  const profile = await service.call("POST", "/v2/profiles", { as: acme.token, body: { nickname: "one" } });
  await until("it has failed", async () => (await backlog()).next_attempt_at !== undefined);
  const { events } = (await service.call("GET", "/v2/events?type=profile.created", { as: acme.token })).body;
  const made = events.find(({ object }: { object: { id: string } }) => object.id === profile.body.id);
  expect(await backlog()).toEqual({ events: 1, since: made.created_at, next_attempt_at: TIME });
  expect((await call("GET", "")).body.items).toMatchObject([{ id, backlog: await backlog() }]);
  status = 204;
  await call("POST", `/${id}/replay`, { only_undelivered: true });
  await until("it is delivered", async () => (await backlog()).events === 0);
  expect(await backlog()).toEqual({ events: 0 });
});

test("a secret is rotated, and the former public key stays while both sign", async () => {
  const { id, signing_secret: former } = await created();
  const rotated = await call("POST", `/${id}/rotate-secret`, {});
  expect([rotated.status, rotated.body]).toMatchObject([200, { signing_secret: SECRET, public_keys: [KEY, KEY] }]);
  expect(rotated.body.signing_secret).not.toBe(former);
  const secondsLeft = async () => {
    const left = "extract(epoch from max(expires_at) - now())::int as seconds";
    const rows = await service.db.owner.rows(`select ${left} from webhook_secret where webhook_id = $1`, [id]);
    return (rows as { seconds: number }[])[0]?.seconds ?? 0;
  };
  expect((await secondsLeft()) / 86_400).toBeCloseTo(1, 2);
  await call("POST", `/${id}/rotate-secret`, { overlap_seconds: 7_200 });
  expect((await secondsLeft()) / 7_200).toBeCloseTo(1, 1);
  const ended = await call("POST", `/${id}/rotate-secret`, { overlap_seconds: 0 });
  expect(ended.body.public_keys).toEqual([KEY]);
});

test("a webhook is disabled, enabled and deleted", async () => {
  const { id } = await created();
  const disabled = await call("POST", `/${id}/disable`);
  const state = { status: "DISABLED", disabled_reason: "CUSTOMER", disabled_at: TIME };
  expect([disabled.status, disabled.body]).toMatchObject([200, state]);
  expect((await call("GET", "?statuses=ACTIVE&statuses=ACTIVE")).body.items).toEqual([]);
  const listed = [{ ...disabled.body, backlog: expect.anything() }];
  expect((await call("GET", "?statuses=DISABLED")).body.items).toEqual(listed);
  expect((await call("GET", "?statuses=ACTIVE&statuses=DISABLED")).body.items).toEqual(listed);
  expect((await call("POST", `/${id}/enable`, { from: "WHERE_IT_STOOD" })).body.status).toBe("ACTIVE");
  const deleted = await call("DELETE", `/${id}`);
  expect([deleted.status, deleted.body.id]).toEqual([200, id]);
  const notFound = problem(404, `webhook not found: ${id}`, {}, "Not Found");
  for (const [method, path, body] of [
    ["GET", `/${id}`, undefined],
    ["DELETE", `/${id}`, undefined],
    ["PUT", `/${id}`, settings()],
    ["POST", `/${id}/test`, undefined],
    ["POST", `/${id}/disable`, undefined],
    ["POST", `/${id}/enable`, { from: "NOW" }],
    ["POST", `/${id}/rotate-secret`, {}],
    ["POST", `/${id}/replay`, { only_undelivered: true }],
    ["GET", `/${id}/attempts`, undefined],
    ["GET", `/${id}/public-keys`, undefined],
  ] as const)
    expect((await call(method, path, body)).body).toEqual(notFound);
});

test("webhooks are listed by creation time in either order, on pages of any size", async () => {
  const made: string[] = [];
  for (const name of ["one", "two", "three"]) made.push((await created({ name })).id);
  for (const [order, expected] of [
    ["", made],
    ["order=DESC&", made.toReversed()],
  ] as const) {
    const pages: string[][] = [];
    let cursor = "";
    do {
      const { items, next_page_cursor: next } = (await call("GET", `?${order}limit=2&page_cursor=${cursor}`)).body;
      pages.push(items.map((item: { readonly id: string }) => item.id));
      cursor = next;
    } while (cursor !== "" && pages.length < 5);
    expect(pages).toEqual([expected.slice(0, 2), expected.slice(2)]);
  }
});

test("a name that is in use is 409 with the webhook that has it", async () => {
  const { id } = await created();
  const { backlog: _, ...existing } = (await call("GET", `/${id}`)).body;
  const answer = await call("POST", "", settings());
  expect(answer.body).toEqual({
    type: `${service.baseUrl}/problems/already-exists`,
    title: "Already Exists",
    status: 409,
    detail: 'name "books" is already in use',
    meta: { existing },
    request_id: ID,
  });
  const other = await created({ name: "other" });
  expect((await call("PUT", `/${other.id}`, settings())).body).toEqual({ ...answer.body, request_id: ID });
});

test("the eleventh active webhook is rejected", async () => {
  for (let i = 0; i < 10; i += 1) await created({ name: `webhook ${i}` });
  const detail = "there are 10 active webhooks already, the most that there can be";
  const answer = await call("POST", "", settings());
  expect(answer.body).toEqual(problem(403, detail, { limit: 10 }, "Forbidden"));
});

const failing = (field: string, rule: string, value?: string | number) => {
  const detail = value === undefined ? `${field} ${rule}` : `${field} ${JSON.stringify(value)} ${rule}`;
  return problem(400, detail, { errors: [{ field, rule, ...(value !== undefined && { value }) }] });
};

test.each([
  [{ name: "a\nb" }, failing("name", "has characters that cannot be printed", "a\nb")],
  [
    { url: "http://10.0.0.1/" },
    failing("url", "is not accepted: the address of the URL is not allowed", "http://10.0.0.1/"),
  ],
  [{ types: ["order.fille"] }, failing("types", 'has "order.fille", which no event is of: a type, transfer.* or *')],
  [
    { receiver_access: { type: "API_KEY", header: "Host", secret: "s" } },
    failing("receiver_access.header", "is a header that deliveries or connections have themselves", "Host"),
  ],
  [{ receiver_access: { type: "API_KEY", header: "X-Key" } }, failing("receiver_access.secret", "is required")],
  [{ receiver_access: { type: "API_KEY", secret: "s" } }, failing("receiver_access.header", "is required of API_KEY")],
  [
    { receiver_access: { type: "API_KEY", header: "X-Key", secret: "s", scope: "hooks" } },
    failing("receiver_access.scope", "does not belong to API_KEY"),
  ],
  [
    { receiver_access: { type: "OAUTH", token_url: "http://127.0.0.1/", secret: "s" } },
    failing("receiver_access.client_id", "is required of OAUTH"),
  ],
  [
    {
      receiver_access: { type: "OAUTH", token_url: "http://127.0.0.1/", client_id: "c", secret: "s", header: "X-Key" },
    },
    failing("receiver_access.header", "does not belong to OAUTH"),
  ],
])("%j is rejected", async (more, expected) => {
  expect((await call("POST", "", settings(more))).body).toEqual(expected);
});

test("a replay of what was not reached yet is rejected", async () => {
  const { id } = await created();
  const answer = await call("POST", `/${id}/replay`, { from_number: 1_000_000 });
  const rule = expect.stringMatching(/^is ahead of the webhook, which has come to \d+$/);
  expect(answer.body).toMatchObject({
    status: 400,
    meta: { errors: [{ field: "from_number", value: 1_000_000, rule }] },
  });
  for (const body of [
    {},
    { only_undelivered: false },
    { from_number: 1, only_undelivered: true },
    { from_number: 1, from_time: "2026-11-21T09:30:00Z" },
  ]) {
    expect((await call("POST", `/${id}/replay`, body)).body).toEqual(
      failing("the body", "does not have exactly one of from_number, from_time, only_undelivered"),
    );
  }
});

test("nobody sees or changes another customer's webhook", async () => {
  const { id } = await created();
  const { token } = await service.customer();
  for (const [method, path, body] of [
    ["GET", `/${id}`, undefined],
    ["PUT", `/${id}`, settings()],
    ["POST", `/${id}/replay`, { only_undelivered: true }],
    ["GET", `/${id}/attempts`, undefined],
    ["DELETE", `/${id}`, undefined],
  ] as const)
    expect((await call(method, path, body, token)).status).toBe(404);
  expect((await call("GET", "", undefined, token)).body.items).toEqual([]);
  expect((await service.call("GET", `${PATH}/${NOBODYS}/public-keys`)).status).toBe(404);
});
