/**
 * A dialect in which every word is another one: each operation of the document takes and gives its words, and means by them
 * what the same operation means without a dialect. Two nodes on one database, of which one has the dialect.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { readEventLag } from "../../../src/events/event-lag.ts";
import { createDialect, OWN_WORDS } from "../../../src/web/dialect/dialect.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { everythingRenamed, inOurWords, renamed, textsIn } from "../../support/http/renamed.ts";
import {
  addressOf,
  bodyOf,
  type Call,
  type Document,
  type Input,
  type Operation,
  readDocument,
  withValue,
} from "../../support/openapi.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { makerOf, type Owner, ownerOfEverything } from "../../tenancy/belongings.ts";
import { SAMPLES } from "../../tenancy/inputs.ts";

let service: TestService;
let folder: string;
let dialectUrl: string;
let acme: Owner;
let ours: Document;
let theirs: Document;
let codes: { readonly assets: readonly string[]; readonly markets: readonly string[] };
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 86_400_000 });
  ours = await readDocument(service);
  const { catalogue } = service.service.core;
  codes = {
    assets: catalogue.listAssets().map(({ code }) => code),
    markets: catalogue.listMarkets().map(({ code }) => code),
  };
  folder = await mkdtemp(join(tmpdir(), "renamed-"));
  const dialect = join(folder, "words.json");
  await writeFile(dialect, JSON.stringify(everythingRenamed(ours, codes)));
  dialectUrl = (await service.another({ dialect })).baseUrl;
  theirs = await readDocument({ call: (method, path) => send(dialectUrl, method, path) });
  acme = await ownerOfEverything(service, "acme", await makerOf(service));
  const named = { name: TAKEN, url: "http://127.0.0.1:9/", types: ["order.filled"] };
  expect((await send(service.baseUrl, "POST", "/v2/webhooks", named)).status).toBe(200);
});
/** What markets and events still make of earlier requests would change a read between the two calls that are compared. */
beforeEach(async () => {
  const { owner } = service.db;
  const waiting = "select from orders where status = 'PENDING_SUBMISSION' union all select from order_cancel";
  await until("no order waits for its market", async () => (await owner.rows(waiting)).length === 0);
  await until("all events are published", async () => (await readEventLag(owner)) === 0);
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

async function send(origin: string, method: string, path: string, body?: unknown) {
  const response = await fetch(origin + path, {
    method,
    headers: {
      "x-request-id": "r-1",
      ...(acme && { authorization: `Bearer ${acme.token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** An operation in both documents. */
interface Twin {
  readonly own: Operation;
  readonly other: Operation;
}

function twins(): Twin[] {
  const byId = new Map(theirs.operations.map((operation) => [operation.operationId, operation]));
  return ours.operations
    .filter(({ path }) => path !== "/oauth2/token")
    .map((own) => ({ own, other: byId.get(own.operationId) as Operation }));
}

const PUBLIC_SAMPLES: Readonly<Record<string, Call>> = {
  listMarkets: {},
  listPrices: { query: { markets: ["BTCUSD"] } },
  getOrderBook: { path: { market: "BTCUSD" } },
  getTicker: { path: { market: "BTCUSD" } },
  listRecentExecutions: { path: { market: "BTCUSD" } },
};

const LONG_AGO = { "range.end": "2020-01-01T00:00:00Z" };

/** Bulks as dry runs, which can be repeated. */
function sampleOf({ operationId }: Operation): Call {
  if (operationId === "listWebhookPublicKeys") return { path: { id: acme.has.webhook } };
  const sample = SAMPLES[operationId]?.(acme.has) ?? PUBLIC_SAMPLES[operationId] ?? {};
  // Up to now there is one price more once an increment ends, which it may do between two calls.
  if (operationId === "listHistoricalPrices") return { ...sample, query: { ...sample.query, ...LONG_AGO } };
  return sample.item === undefined ? sample : { ...sample, body: { ...sample.body, dry_run: true } };
}

/** A call with its words as the dialect has them. */
function inTheirWords({ own, other }: Twin, call: Call): Call {
  const isWord = (name: string, value: unknown): boolean =>
    CODES.has(name) ||
    other.inputs.some((input) => input.name === name && valuesOf(input).includes(renamed(`${value}`)));
  const exchanged = (values: Readonly<Record<string, unknown>> = {}) =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        Array.isArray(value)
          ? value.map((one) => (isWord(name, one) ? renamed(one) : one))
          : isWord(name, value)
            ? renamed(`${value}`)
            : value,
      ]),
    );
  expect(own.inputs.map(({ name }) => name)).toEqual(other.inputs.map(({ name }) => name));
  return {
    ...(call.path && { path: exchanged(call.path) as Record<string, string> }),
    ...(call.query && { query: exchanged(call.query) as Record<string, string> }),
    ...(call.body && { body: exchanged(call.body) }),
    ...(call.item && { item: exchanged(call.item) }),
  };
}

const CODES = new Set(["asset", "assets", "source_asset", "target_asset", "market", "markets"]);
const valuesOf = ({ schema }: Input): readonly string[] => (schema.items ?? schema).enum ?? [];

const call = (origin: string, operation: Operation, what: Call) =>
  send(origin, operation.method, addressOf(operation, what), operation.method === "GET" ? undefined : bodyOf(what));

/** Both nodes' answers to the same call, the second one in our words, without what differs from one call to the next. */
async function bothAnswers(twin: Twin, what: Call) {
  const own = await call(service.baseUrl, twin.own, what);
  const other = await call(dialectUrl, twin.other, inTheirWords(twin, what));
  return {
    own: { status: own.status, body: steady(own.body) },
    other: { status: other.status, body: steady(inOurWords(other.body)) },
    raw: other.body,
  };
}

const VARYING =
  /^(?:id|activity_id|message_id|backlog|.*_at|at|millis|nickname|signing_secret|public_keys|begin|end|next_page_cursor|group_id)$/;

function steady(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/^.*(?=\/problems\/)/, "");
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) => (VARYING.test(name) ? [] : [[name, steady(inner)]])),
  );
}

test("the document has the words of the dialect in its paths, scopes and enums, and no others", () => {
  for (const { own, other } of twins()) {
    expect(other.path).toBe(`/z${own.path}`);
    expect(other.scopes).toEqual(own.scopes.map(renamed));
    for (const [at, input] of other.inputs.entries()) {
      expect(valuesOf(input)).toEqual(valuesOf(own.inputs[at] as Input).map(renamed));
    }
  }
  // What is posted is documented without a dialect only.
  const schemasOf = ({ components }: Document) => {
    const { PostedEvent, PostedFullEvent, ...schemas } = (components as { readonly schemas: Record<string, object> })
      .schemas;
    return schemas;
  };
  expect(inOurWords(schemasOf(theirs))).toEqual(schemasOf(ours));
});

/** Reads first: what they are compared by must not change between the two calls. */
const byEffect = (a: Twin, b: Twin): number => Number(a.own.method !== "GET") - Number(b.own.method !== "GET");

/** What can be done once only. */
const ONCE: ReadonlySet<string> = new Set([
  "createProfile",
  "cancelOrder",
  "cancelStablecoinConversion",
  "createWebhook",
  "deleteWebhook",
]);

test("every operation answers in the words of the dialect", async () => {
  const known = new Set([...codes.assets, ...codes.markets]);
  const enums = new Set(ours.operations.flatMap(({ inputs }) => inputs.flatMap(valuesOf)));
  for (const twin of twins().toSorted(byEffect)) {
    const { operationId } = twin.own;
    const sample = sampleOf(twin.own);
    if (ONCE.has(operationId)) {
      const { status } = await call(dialectUrl, twin.other, inTheirWords(twin, sample));
      expect(status, operationId).toBe(200);
      continue;
    }
    for (const one of [sample, ...(await itemsThatExist(twin, sample))]) {
      const { own, other, raw } = await bothAnswers(twin, one);
      expect(other, operationId).toEqual(own);
      const foreign = textsIn(raw).filter((text) => known.has(text) || enums.has(text));
      expect(foreign, operationId).toEqual([]);
    }
  }
  await expectBooksBalance(service.db.owner);
});

/** Bulks of what was posted, which answer with records. */
async function itemsThatExist(twin: Twin, { item, body }: Call): Promise<Call[]> {
  if (item === undefined) return [];
  const posted = { item, body: { ...body, dry_run: false } };
  expect(await call(service.baseUrl, twin.own, posted)).toMatchObject({
    status: 200,
    body: { counts: { completed: 1 } },
  });
  return [posted, { item, body: { ...posted.body, mode: "atomic" } }];
}

const TAKEN = "taken";

/** A webhook is created once: its name is in use, which is found out after its words were taken. */
function repeatable(sample: Call): Call {
  const isNamed = sample.path === undefined && sample.body?.types !== undefined;
  return isNamed ? { ...sample, body: { ...sample.body, name: TAKEN } } : sample;
}

test("every value of every enum is taken in the words of the dialect, and in ours no more", async () => {
  for (const twin of twins().toSorted(byEffect)) {
    for (const input of twin.own.inputs.filter((one) => valuesOf(one).length > 0)) {
      const place = `${twin.own.operationId} ${input.name}`;
      const sample = repeatable(sampleOf(twin.own));
      for (const value of valuesOf(input)) {
        const { own, other } = await bothAnswers(twin, withValue(sample, input, value));
        expect(other, `${place}=${value}`).toEqual(own);
      }
      const [value = ""] = valuesOf(input);
      const rejected = await call(dialectUrl, twin.other, withValue(inTheirWords(twin, sample), input, value));
      expect(rejected, place).toMatchObject({
        status: 400,
        body: { meta: { errors: [{ value, rule: expect.stringContaining(renamed(value)) }] } },
      });
    }
  }
  await expectBooksBalance(service.db.owner);
});

test("an order whose fields do not fit is rejected with its type and side in the words of the dialect", async () => {
  const twin = twins().find(({ own }) => own.operationId === "placeOrder") as Twin;
  const sample = inTheirWords(twin, sampleOf(twin.own));
  const { price: _, ...body } = { ...sample.body, quote_amount: "1" } as Record<string, unknown>;
  const rejected = await call(dialectUrl, twin.other, { ...sample, body });
  const kind = `a ${renamed("LIMIT")} ${renamed("BUY")} order`;
  const errors = [
    { field: "quote_amount", value: "1", rule: `does not belong to ${kind}` },
    { field: "price", rule: `is required for ${kind}` },
  ];
  expect(rejected).toMatchObject({ status: 400, body: { meta: { errors } } });
});

test("codes of assets and markets are taken in the words of the dialect, and in ours are unknown", async () => {
  for (const twin of twins()) {
    for (const input of twin.own.inputs.filter(({ name }) => CODES.has(name))) {
      const sample = sampleOf(twin.own);
      const code = input.name.startsWith("market") ? "BTCUSD" : "USD";
      const ours = await call(dialectUrl, twin.other, withValue(inTheirWords(twin, sample), input, code));
      const unknown = await call(service.baseUrl, twin.own, withValue(sample, input, renamed(code)));
      const place = `${twin.own.operationId} ${input.name}`;
      expect({ status: ours.status, body: steady(inOurWords(ours.body)) }, place).toEqual({
        status: unknown.status,
        body: steady(inOurWords(unknown.body)),
      });
      if (ours.status !== 200) expect(JSON.stringify(ours.body), place).toMatch(new RegExp(`(?<!z_)${code}`));
    }
  }
});

test("each path that is renamed alone leaves all others where they are", async () => {
  const { paths: all } = (await send(service.baseUrl, "GET", "/openapi.json")).body as { paths: object };
  const known = Object.keys(all).filter((path) => path.startsWith("/v2/"));
  expect(known).toContain("/v2/events/stream");
  for (const path of known) {
    const { paths } = createDialect({ ...OWN_WORDS, paths: new Map([[path, `/v2/z${path}`]]) });
    for (const other of known) paths?.know(other);
    const routed = known.map((other) => [other, paths?.taken(filled(other === path ? `/v2/z${path}` : other))]);
    expect(routed).toEqual(known.map((other) => [other, filled(other)]));
    expect(known.map(filled)).not.toContain(paths?.taken(filled(path)));
  }
});

const filled = (path: string): string => path.replaceAll(/[{}]/g, "");

test("the stream of events stays where it is when only the path of an event is renamed", async () => {
  const dialect = join(folder, "news.json");
  await writeFile(dialect, JSON.stringify({ paths: { "/v2/events/{id}": "/v2/news/{id}" } }));
  const { baseUrl } = await service.another({ dialect });
  const stream = await fetch(`${baseUrl}/v2/events/stream`, { headers: { authorization: `Bearer ${acme.token}` } });
  await stream.body?.cancel();
  expect([stream.status, stream.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const { events } = (await send(baseUrl, "GET", "/v2/events?limit=1")).body as { events: [{ id: string }] };
  const [event] = events;
  expect(await send(baseUrl, "GET", `/v2/news/${event.id}`)).toMatchObject({ status: 200, body: event });
  for (const path of [`/v2/events/${event.id}`, "/v2/news/stream"]) {
    expect(await send(baseUrl, "GET", path)).toMatchObject({ status: 404, body: { detail: "no such path" } });
  }
});
