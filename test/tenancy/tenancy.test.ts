/**
 * Nobody learns of, or touches, what is somebody else's (docs/contract/requests.md#tenancy).
 *
 * The test walks the OpenAPI document and sends every id and name of one customer to every input of every operation as
 * another customer: the answer is that to an id that never existed, byte by byte, and nothing happens. A new operation
 * or input has to be named in `inputs.ts` before this passes. How long an answer takes is not compared: a difference of
 * microseconds behind a database does not tell one from the other, and ids cannot be guessed.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { IdSource } from "../../src/std/id.ts";
import { expectBooksBalance } from "../support/books.ts";
import { digestOfTables } from "../support/effects.ts";
import { type Call, type Document, type Input, type Operation, readDocument, withValue } from "../support/openapi.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type Asking, answerOf } from "./answers.ts";
import { type Belongings, makerOf, type Owner, ownerOfEverything } from "./belongings.ts";
import { namingOf, SAMPLES, uncovered } from "./inputs.ts";

// Each is thousands of requests, which a busy machine takes its time for.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let service: TestService;
let document: Document;
let operations: readonly Operation[];
/** Who asks, and whose things are asked for. */
let mallory: Owner;
let acme: Owner;
let acmeBefore: unknown;
let maker: Awaited<ReturnType<typeof makerOf>>;
const about = ({ customer, profile, spareProfile, defaultProfile }: Belongings) => [
  ...[customer, profile, spareProfile, defaultProfile],
];

beforeAll(async () => {
  // Settlements would be effects of nobody's doing.
  service = await startTestService({ settlementDelayMs: 86_400_000 });
  document = await readDocument(service);
  operations = document.operations.filter(({ scopes }) => scopes.length > 0);
  maker = await makerOf(service);
  [mallory, acme] = [
    await ownerOfEverything(service, "mallory", maker),
    await ownerOfEverything(service, "acme", maker),
  ];
  await quiet();
  acmeBefore = await digestOfTables(service.db.owner, about(acme.has));
});
/** Waits until the market has dealt with every order: what it does after an answer is no effect of the next request. */
const quiet = () =>
  until("no order waits for its market", async () => {
    const rows = await service.db.owner.rows("select 1 from orders where status = 'PENDING_SUBMISSION' limit 1");
    return rows.length === 0;
  });
afterAll(async () => {
  expect(await digestOfTables(service.db.owner, about(acme.has)), "what is acme's").toEqual(acmeBefore);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const UUID = /^[0-9a-f-]{36}$/;
const ids = new IdSource();
const NEVER_EXISTED = ids.next();
const NEVER_USED = "nobody's name for anything";

const idsOf = (has: Belongings): [string, string][] => Object.entries(has).filter(([, value]) => UUID.test(value));
const wordsOf = (has: Belongings): [string, string][] => Object.entries(has).filter(([, value]) => !UUID.test(value));

/** The ways to write an id, all of which mean the same or nothing. */
const FORMS: Readonly<Record<string, (id: string) => string>> = {
  "as it is": (id) => id,
  "in upper case": (id) => id.toUpperCase(),
  "in braces": (id) => `{${id}}`,
  "as a URN": (id) => `urn:uuid:${id}`,
  "without hyphens": (id) => id.replaceAll("-", ""),
  "with a blank behind": (id) => `${id} `,
};

const answerTo = (operation: Operation, call: Call, { as = mallory.token, ...asked }: Partial<Asking> = {}) =>
  answerOf(service.baseUrl, operation, call, { as, ...asked });

/** A call with a value in one of its inputs; lists take it twice, as one of two values. */
function having(call: Call, { where, name, schema }: Input, value: string): Call {
  return withValue(call, { where, name }, schema.type === "array" ? [value, NEVER_EXISTED] : value);
}

const sampleOf = (operation: Operation, has: Belongings): Call => {
  const sample = SAMPLES[operation.operationId];
  if (sample === undefined) throw new Error(`${operation.operationId} has no sample`);
  return sample(has);
};

const inputsNaming = (operation: Operation, ...namings: unknown[]): Input[] =>
  operation.inputs.filter((input) => namings.includes(namingOf(operation, input)));

/** What a list holds, whatever it is called. */
function listed(text: string): object[] | undefined {
  const { items, events } = JSON.parse(text) as { items?: object[]; events?: object[] };
  return items ?? events;
}

test("every operation with a scope has a sample, and every input a naming", () => {
  expect(operations.length).toBeGreaterThan(20);
  expect(uncovered(operations)).toEqual([]);
});

test("an uncovered operation or input fails this test with a sentence", () => {
  const wallet = { where: "query", name: "wallet_id", required: false, schema: { type: "string" } } as const;
  const limit = { where: "query", name: "limit", required: false, schema: { format: "uuid" } } as const;
  const [known] = operations.filter(({ operationId }) => operationId === "getProfile");
  if (known === undefined) throw new Error("there is no getProfile");
  const made = [
    { ...known, operationId: "getWallet" },
    { ...known, inputs: [wallet, limit] },
  ];
  expect(uncovered(made)).toEqual([
    "getWallet: add to SAMPLES a call of it that its caller may make",
    "getProfile: say in NAMINGS what its input wallet_id names",
    "getProfile: its input limit looks like an id, so it cannot name nothing",
  ]);
});

test("every id of another customer, however it is written, is answered like one that never existed, without an effect", async () => {
  let asked = 0;
  for (const operation of operations) {
    const before = await digestOfTables(service.db.owner);
    for (const input of inputsNaming(operation, "reference")) {
      const sample = sampleOf(operation, mallory.has);
      for (const [form, written] of Object.entries(FORMS)) {
        const answers = async (id: string) =>
          answerTo(operation, having(sample, input, written(id)), { sent: [written(id), id] });
        const never = await answers(NEVER_EXISTED);
        const where = `${operation.operationId} with the ${input.where}'s ${input.name} ${form}`;
        expect([where, never.status]).toEqual([where, expectedStatus(input, form)]);
        // What is rejected for its form is not looked up, whatever it is.
        for (const [kind, id] of idsOf(acme.has).slice(0, never.status === 400 ? 2 : undefined)) {
          expect([`${where}: acme's ${kind}`, await answers(id)]).toEqual([`${where}: acme's ${kind}`, never]);
          asked += 1;
        }
        if (never.status === 200)
          expect([listed(never.text), JSON.parse(never.text).next_page_cursor]).toEqual([[], ""]);
      }
    }
    expect(await digestOfTables(service.db.owner), `effects of ${operation.operationId}`).toEqual(before);
  }
  expect(asked).toBeGreaterThan(500);
});

function expectedStatus(input: Input, form: string): number {
  if (!isText(input) && form !== "as it is" && form !== "in upper case") return 400;
  return input.where === "query" ? 200 : 404;
}

/** Such as a client's id, which may be any. */
const isText = ({ schema: { items, format, pattern } }: Input) =>
  (items?.format ?? items?.pattern ?? format ?? pattern) === undefined;

test("encoded ids, all ids of a path at once, and ids below the caller's own DEFAULT profile are not there either", async () => {
  const everyByte = (text: string) => text.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  for (const operation of operations.filter(({ path }) => path.includes("{"))) {
    const before = await digestOfTables(service.db.owner);
    const sample = sampleOf(operation, mallory.has);
    const inPath = inputsNaming(operation, "reference").filter(({ where }) => where === "path");
    const places = inPath.map(({ name }) => name);
    const answers = (raw: Readonly<Record<string, string>>, sent: readonly string[]) =>
      answerTo(operation, sample, { raw, sent: [...sent] });
    const everywhere = (id: string) => Object.fromEntries(places.map((name) => [name, id]));
    const never = await answers(everywhere(everyByte(NEVER_EXISTED)), [NEVER_EXISTED]);
    if (places.length > 0) expect([operation.operationId, never.status]).toEqual([operation.operationId, 404]);
    for (const [kind, id] of places.length === 0 ? [] : idsOf(acme.has)) {
      const received = await answers(everywhere(everyByte(id)), [id]);
      expect([operation.operationId, kind, received]).toEqual([operation.operationId, kind, never]);
    }
    if (places.includes("profile_id") && places.includes("id")) {
      const own = await answers({ profile_id: "default", id: NEVER_EXISTED }, [NEVER_EXISTED]);
      for (const [kind, id] of idsOf(acme.has)) {
        const received = await answers({ profile_id: "default", id }, [id]);
        expect([operation.operationId, kind, received]).toEqual([operation.operationId, kind, own]);
        // The profile and the order fit together, but they are acme's.
        const theirs = await answers({ profile_id: acme.has.profile, id }, [acme.has.profile, id]);
        const nobodys = await answers(everywhere(NEVER_EXISTED), [NEVER_EXISTED]);
        expect([operation.operationId, kind, theirs]).toEqual([operation.operationId, kind, nobodys]);
      }
    }
    expect(await digestOfTables(service.db.owner), `effects of ${operation.operationId}`).toEqual(before);
  }
});

/** Ids, keys and times that are new with every answer. */
const anew = (text: string): string =>
  text
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>")
    .replace(/(whpk|whsec)_[A-Za-z0-9+/=]+/g, "<$1>")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");

test("a name that another customer uses is as free as an unused one", async () => {
  for (const operation of operations) {
    // A write takes the names, so each has a caller of its own.
    const caller = operation.method === "GET" ? mallory : await ownerOfEverything(service, "mallet", maker);
    for (const input of inputsNaming(operation, "word").filter(({ schema }) => schema.type !== "object")) {
      for (const [kind, word] of wordsOf(acme.has)) {
        const answers = async (value: string) => {
          const call = sampleOf(operation, caller.has);
          const sent = [value, NEVER_EXISTED, String(call.body?.nickname), String(call.item?.ref_id)];
          const { text, ...rest } = await answerTo(operation, having(call, input, value), { sent, as: caller.token });
          // There can be ten active ones.
          if (operation.operationId === "createWebhook")
            await service.call("POST", `/v2/webhooks/${JSON.parse(text).id}/disable`, { as: caller.token });
          return { ...rest, text: anew(text) };
        };
        const where = `${operation.operationId} with acme's ${kind} as ${input.name}`;
        const received = await answers(word);
        expect([where, received]).toEqual([where, await answers(`${NEVER_USED} ${Math.random()}`)]);
        expect([where, received.status]).toEqual([where, 200]);
        if (input.where === "query") expect(listed(received.text)).toEqual([]);
      }
    }
  }
});

test("an execution of another customer is a number to compare with, like the one beside it that never was", async () => {
  const compared = operations.filter((operation) => inputsNaming(operation, "number").length > 0);
  expect(compared.map(({ operationId }) => operationId)).toEqual(["listExecutions", "listProfileExecutions"]);
  for (const operation of compared) {
    const since = (id: string) =>
      answerTo(operation, { ...sampleOf(operation, mallory.has), query: { since_execution_id: id } });
    // Mallory's are older: all of them are shown, and nothing else.
    const received = await since(acme.has.execution);
    expect(received).toEqual(await since(String(BigInt(acme.has.execution) + 2n)));
    expect(JSON.parse(received.text).items.length).toBeGreaterThan(1);
    expect(received.text).not.toContain(acme.has.filledOrder);
  }
});

test("ids of another customer in metadata are text", async () => {
  const metadata = Object.fromEntries(idsOf(acme.has).slice(0, 6));
  const withMetadata = operations.filter(({ inputs }) => inputs.some(({ name }) => name === "metadata"));
  expect(withMetadata.map(({ operationId }) => operationId)).toEqual([
    "createPlatformTransfer",
    "createInternalTransfer",
    "createPlatformTransfers",
    "createInternalTransfers",
    "createStablecoinConversion",
    "placeOrder",
  ]);
  for (const operation of withMetadata) {
    const sample = sampleOf(operation, mallory.has);
    const where = sample.item === undefined ? "body" : "item";
    const { status, text } = await answerTo(operation, withValue(sample, { where, name: "metadata" }, metadata));
    expect([status, JSON.parse(text).metadata]).toEqual([200, metadata]);
  }
});

test("a platform transfer to an inactive or unknown profile is rejected for every customer", async () => {
  const gone = await service.profile(acme);
  const closed = await service.call("PUT", `/v2/profiles/${gone}/deactivate`, { as: acme.token });
  expect(closed.status).toBe(200);
  await quiet();
  acmeBefore = await digestOfTables(service.db.owner, about(acme.has));
  const [operation] = operations.filter(({ operationId }) => operationId === "createPlatformTransfer");
  if (operation === undefined) throw new Error("there is no createPlatformTransfer");
  const sample = sampleOf(operation, mallory.has);
  const before = await digestOfTables(service.db.owner);
  const to = (id: string) => answerTo(operation, { body: { ...sample.body, to_profile_id: id } }, { sent: [id] });
  const never = await to(NEVER_EXISTED);
  expect(never.status).toBe(404);
  expect(await to(gone)).toEqual(never);
  for (const [kind, id] of idsOf(acme.has).filter(([name]) => !name.endsWith("rofile"))) {
    expect([kind, await to(id)]).toEqual([kind, never]);
  }
  expect(await digestOfTables(service.db.owner)).toEqual(before);
});

describe("a cursor", () => {
  const lists = () => operations.filter((operation) => inputsNaming(operation, "cursor").length > 0);
  /** Public data in pages: its cursor tells nothing of anybody. */
  const isPublicData = ({ operationId }: Operation) => operationId === "listHistoricalCandles";

  async function cursorOf(operation: Operation, { has, token }: Owner): Promise<string> {
    const sample = sampleOf(operation, has);
    const { text } = await answerTo(operation, { ...sample, query: { ...sample.query, limit: "1" } }, { as: token });
    const cursor = JSON.parse(text).next_page_cursor;
    expect([operation.operationId, cursor]).toEqual([operation.operationId, expect.stringMatching(/^[\w-]{20,}$/)]);
    return cursor;
  }

  function follow(operation: Operation, page_cursor: string, { has, token }: Owner) {
    const sample = sampleOf(operation, has);
    return answerTo(operation, { ...sample, query: { ...sample.query, page_cursor } }, { as: token });
  }

  /** What mallory wrote into the metadata of his own records does not count. */
  function expectNothingOfAcme(text: string): void {
    const shown = JSON.stringify(listed(text) ?? [], (name, value) => (name === "metadata" ? undefined : value));
    for (const id of about(acme.has)) expect(shown).not.toContain(id);
  }

  test("of another customer is rejected like that of an unknown list", async () => {
    expect(lists().length).toBeGreaterThan(6);
    for (const operation of lists().filter((one) => !isPublicData(one))) {
      const cursor = await cursorOf(operation, acme);
      expect((await follow(operation, cursor, acme)).status).toBe(200);
      const [version, , position] = JSON.parse(Buffer.from(cursor, "base64url").toString());
      const nobodys = Buffer.from(JSON.stringify([version, "0".repeat(16), position])).toString("base64url");
      const received = await follow(operation, cursor, mallory);
      expect([operation.operationId, received.status]).toEqual([operation.operationId, 400]);
      expect(received).toEqual(await follow(operation, nobodys, mallory));
    }
  });

  test("of the caller with another customer's position shows only the caller's records", async () => {
    for (const operation of lists().filter((one) => !isPublicData(one))) {
      const [own, theirs] = [await cursorOf(operation, mallory), await cursorOf(operation, acme)];
      const [version, digest] = JSON.parse(Buffer.from(own, "base64url").toString());
      const [, , position] = JSON.parse(Buffer.from(theirs, "base64url").toString());
      const forged = Buffer.from(JSON.stringify([version, digest, position])).toString("base64url");
      const { status, text } = await follow(operation, forged, mallory);
      expect([operation.operationId, status]).toEqual([operation.operationId, 200]);
      expectNothingOfAcme(text);
    }
  });

  test("with an invented position is rejected, or read like any other", async () => {
    const lowest = "00000000-0000-0000-0000-000000000000";
    const places: unknown[] = [
      ...[[], [""], [lowest], [lowest.replaceAll("0", "f")], [lowest, lowest], ["x", lowest], Array(50).fill("1")],
      ...[["0"], ["-1"], ["9223372036854775807"], ["9223372036854775808"], ["9999999999999999999"], ["1e3"]],
      ...["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59-23:59"].map((at) => [at, lowest]),
      ...[["a\0", lowest], ["\ud800", lowest], [1], [null], {}, "x", null, [["a"]]],
    ];
    for (const operation of lists().filter((one) => !isPublicData(one))) {
      const [version, digest] = JSON.parse(Buffer.from(await cursorOf(operation, mallory), "base64url").toString());
      for (const place of places) {
        const made = Buffer.from(JSON.stringify([version, digest, place])).toString("base64url");
        const { status, text } = await follow(operation, made, mallory);
        const where = `${operation.operationId} after ${JSON.stringify(place)}`;
        expect([where, [200, 400].includes(status)]).toEqual([where, true]);
        expectNothingOfAcme(text);
      }
    }
  });
});

test("no header or parameter changes the caller's identity", async () => {
  const tricks: Readonly<Record<string, string>>[] = [
    { "x-customer-id": acme.id },
    { "x-client-id": acme.clientId, "x-profile-id": acme.has.profile },
    { "x-original-url": "/v2/profiles", "x-rewrite-url": "/v2/profiles" },
    { "x-http-method-override": "DELETE", "x-method-override": "DELETE" },
    { "x-forwarded-user": acme.clientId, "x-forwarded-host": "evil.example", forwarded: "for=127.0.0.1;host=evil" },
    { cookie: `access_token=${acme.token}; customer_id=${acme.id}` },
    { "x-authorization": `Bearer ${acme.token}`, "proxy-authorization": `Bearer ${acme.token}` },
  ];
  await quiet();
  const before = await digestOfTables(service.db.owner);
  for (const operation of operations.filter(({ path }) => path.includes("{id}"))) {
    const sample = sampleOf(operation, acme.has);
    const plain = await answerTo(operation, sample);
    expect([operation.operationId, plain.status]).toEqual([operation.operationId, 404]);
    for (const headers of tricks)
      expect([headers, await answerTo(operation, sample, { headers })]).toEqual([headers, plain]);
    const query = { access_token: acme.token, customer_id: acme.id, "customer_id[]": acme.id };
    // No operation has these parameters.
    expect((await answerTo(operation, { ...sample, query })).status).toBe(400);
  }
  expect(await digestOfTables(service.db.owner)).toEqual(before);
});

test("an own id may be written in upper case, in every path and filter", async () => {
  let found = 0;
  for (const operation of operations.filter(({ method }) => method === "GET")) {
    for (const input of inputsNaming(operation, "reference").filter((one) => !isText(one))) {
      for (const [kind, id] of idsOf(acme.has)) {
        const sample = sampleOf(operation, acme.has);
        const read = async (written: string) => {
          const { status, text } = await answerTo(operation, having(sample, input, written), { as: acme.token });
          // Of a path the status: what it shows of a webhook changes from moment to moment. The first field is the id.
          return [status, ...(input.where === "path" ? [] : (listed(text) ?? [])).map((it) => Object.values(it)[0])];
        };
        const shown = await read(id);
        expect(await read(id.toUpperCase()), `${operation.operationId}: ${kind} as ${input.name}`).toEqual(shown);
        found += shown.length - 1;
      }
    }
  }
  expect(found).toBeGreaterThan(30);
});

// Last: they have effects. Without them, all of the above could be rejected for another reason.
test("the walk's resources exist for their owner", async () => {
  for (const operation of operations) {
    for (const input of inputsNaming(operation, "reference", "word").filter(({ where }) => where === "query")) {
      const sizes: number[] = [];
      for (const [, value] of Object.entries(acme.has)) {
        const { status, text } = await answerTo(operation, having(sampleOf(operation, acme.has), input, value), {
          as: acme.token,
        });
        if (status === 200) sizes.push(listed(text)?.length ?? 0);
      }
      const where = `the largest list of ${operation.operationId} by ${input.name}`;
      expect([where, Math.max(...sizes)]).toEqual([where, expect.not.toBeOneOf([0, Number.NEGATIVE_INFINITY])]);
    }
  }
  for (const operation of operations) {
    const { status, text } = await answerTo(operation, sampleOf(operation, mallory.has));
    expect([operation.operationId, status, status === 200 ? "" : text]).toEqual([operation.operationId, 200, ""]);
  }
});
