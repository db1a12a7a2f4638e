/**
 * Invalid input: always a 4xx that names the field, never an effect. Bad values follow from each input's schema in the
 * OpenAPI document, so a new field or parameter is covered when it is documented.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { nearestName } from "../../../src/std/nearest-name.ts";
import { expectBooksBalance } from "../../support/books.ts";
import {
  addressOf,
  bodyOf,
  type Input,
  type Operation,
  readDocument,
  responseTo,
  type Schema,
  withValue,
} from "../../support/openapi.ts";
import { expectProblem } from "../../support/problems.ts";
import { type Answer, startTestService, type TestService } from "../../support/service.ts";
import { makerOf, type Owner, ownerOfEverything } from "../../tenancy/belongings.ts";
import { SAMPLES } from "../../tenancy/inputs.ts";

let service: TestService;
let acme: Owner;
let all: readonly Operation[];
let operations: readonly Operation[];
let before: unknown;
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 86_400_000 });
  acme = await ownerOfEverything(service, "acme", await makerOf(service));
  all = (await readDocument(service)).operations;
  operations = all.filter(({ scopes }) => scopes.length > 0);
  before = await effects();
});
afterAll(async () => {
  expect(await effects()).toEqual(before);
  await expectBooksBalance(service.db.owner);
  await service.close();
});

/** Whatever a request could have changed. */
async function effects(): Promise<unknown> {
  const counted = ["transfer", "conversion", "orders", "profile", "posting", "claim", "account"].map(
    (table) => `(select count(*) from ${table}) as ${table}`,
  );
  const rows = await service.db.owner.rows(
    `select ${counted.join(", ")}, (select string_agg(p::text, ',' order by id) from profile p) as profiles`,
  );
  return rows[0];
}

const call = (method: string, path: string, body?: unknown, headers = {}): Promise<Answer> =>
  service.call(method, path, { as: acme.token, body, headers });

type Values = readonly (readonly [string, unknown])[];
/** A value that is not sent at all. */
const MISSING = undefined;

const NOT_STRINGS: Values = [
  ["a number", 1],
  ["true", true],
  ["an object", {}],
  ["a list", ["1"]],
];
const NUL: Values = [
  ["NUL", "a\0b"],
  ["half a surrogate pair", "a\ud800"],
  ["2,000 characters", "a".repeat(2_000)],
];
const NEVER_ABSENT: Values = [
  ["missing", MISSING],
  ["null", null],
];

const BAD_UUID: Values = [
  ...NOT_STRINGS,
  ...NUL,
  ["empty", ""],
  ["no UUID", "treasury"],
  ["a UUID without hyphens", "0190d5a47e1b7c3d8a2f5b6c7d8e9f00"],
  ["a UUID in braces", "{0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00}"],
  ["a UUID and more", "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f000"],
  ["a UUID and a line", "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00\n"],
  ["a UUID with Arabic digits", "٠190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00"],
];
const BAD_AMOUNT: Values = [
  ...NOT_STRINGS,
  ...NUL,
  ["empty", ""],
  ["a blank before", " 1"],
  ["a blank behind", "1 "],
  ["a line behind", "1\n"],
  ["an exponent", "1e3"],
  ["a minus", "-1"],
  ["a plus", "+1"],
  ["no digit behind the point", "5."],
  ["a point alone", "."],
  ["two points", "1.2.3"],
  ["a comma", "1,5"],
  ["hexadecimal", "0x10"],
  ["Infinity", "Infinity"],
  ["Arabic digits", "١"],
  ["full-width digits", "１"],
  ["zero", "0"],
  ["zero with decimals", "00.000"],
  ["10^18", "1000000000000000000"],
  ["10^18 with too many decimals", `1000000000000000000.${"1".repeat(30)}`],
  ["61 digits", `${"0".repeat(60)}1`],
];
/** What no schema says: a code must be known. */
const UNKNOWN_CODES: Values = [
  ["in small letters", "usd"],
  ["unknown", "XXX"],
  ["in letters that look alike", "UЅD"],
];
const seven = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`key${index}`, ""]));
const BAD_METADATA: Values = [
  ["a text", "x"],
  ["a number", 1],
  ["a list", []],
  ["a list of texts", ["x"]],
  ["7 pairs", seven],
  ["a key of 101 characters", { ["k".repeat(101)]: "" }],
  ["an empty key", { "": "x" }],
  ["a value of 101 characters", { k: "v".repeat(101) }],
  ["a number inside", { k: 1 }],
  ["null inside", { k: null }],
  ["an object inside", { k: { l: "m" } }],
  ["NUL in a value", { k: "\0" }],
  ["NUL in a key", { "\0": "k" }],
  ["half a surrogate pair in a key", { "\udc00": "k" }],
];

/** Of assets with fewer decimals. */
const TOO_PRECISE: Values = [["far too precise", "0.0000000000000000000000001"]];

/** Not taken from the document, so that a schema without a bound is red. */
const LONGEST: Readonly<Record<string, number>> = { description: 500, page_cursor: 1_024 };
const longest = (name: string): number => LONGEST[name] ?? 100;
/** document.test.ts says which texts of bodies count as absent when they are empty. */
const mayBeEmpty = (name: string, { minLength }: Schema): boolean => name in LONGEST || minLength === 0;

const CODES = new Set(["asset", "source_asset", "target_asset", "market"]);

/** Values of a field that its schema does not allow. */
function badValuesOf({ name, required, schema }: Input): Values {
  return [
    ...(required ? NEVER_ABSENT : []),
    ...wrongFor(name, schema),
    ...(CODES.has(name) ? UNKNOWN_CODES : []),
    ...(name === "amount" ? TOO_PRECISE : []),
  ];
}

function wrongFor(name: string, schema: Schema): Values {
  const { type, enum: choices, minimum, maximum, check } = schema;
  if (check === "amount") return BAD_AMOUNT.filter(([, value]) => value !== "" || !mayBeEmpty(name, schema));
  if (check === "profile_id") return [...BAD_UUID, ["default in capitals", "DEFAULT"]];
  if (check === "uuid") return [...BAD_UUID, ["default, which is a profile", "default"]];
  if (type === "object") return BAD_METADATA;
  if (type === "boolean") return [...NOT_STRINGS.filter(([, value]) => value !== true), ["a text", "true"]];
  if (choices !== undefined) {
    const [first = ""] = choices;
    return [...NOT_STRINGS, ["empty", ""], ["no choice", "NOPECOIN"], ["in other letters", inOtherLetters(first)]];
  }
  if (type === "integer") {
    return [
      ...[["a text", "1"] as const, ["a fraction", 1.5] as const],
      ...(minimum === undefined ? [] : [["too low", minimum - 1] as const]),
      ...(maximum === undefined ? [] : [["too high", maximum + 1] as const]),
    ];
  }
  return [
    ...NOT_STRINGS,
    ...NUL,
    ...(mayBeEmpty(name, schema) ? [] : [["empty", ""] as const]),
    ["too long", "a".repeat(longest(name) + 1)],
  ];
}

function inOtherLetters(word: string): string {
  return word === word.toLowerCase() ? word.toUpperCase() : word.toLowerCase();
}

test("each field of each body is rejected for each bad value, and named", async () => {
  expect(writes().length).toBeGreaterThan(6);
  for (const operation of writes()) {
    const { operationId, method } = operation;
    const sample = SAMPLES[operationId]?.(acme.has) ?? {};
    for (const input of operation.inputs.filter(({ where }) => where === "body" || where === "item")) {
      const { where, name } = input;
      for (const [what, value] of badValuesOf(input)) {
        const asked = withValue(sample, input, value);
        const answer = await call(method, addressOf(operation, asked), bodyOf(asked));
        const { status, body } = responseTo(asked, answer);
        expect([operationId, name, what, status, body?.status]).toEqual([operationId, name, what, 400, 400]);
        expect([operationId, what, body.detail]).toEqual([operationId, what, expect.stringContaining(name)]);
        if (where === "body") expect(answer.headers.get("content-type")).toBe("application/problem+json");
      }
    }
  }
});

const isBulk = ({ inputs }: Operation): boolean => inputs.some(({ where }) => where === "item");

const writes = (): Operation[] => operations.filter(({ mediaTypes }) => mediaTypes.length > 0);

/** The call that is accepted. */
function sampleOf(operation: Operation) {
  const sample = SAMPLES[operation.operationId]?.(acme.has) ?? {};
  return { method: operation.method, address: addressOf(operation, sample), body: bodyOf(sample) };
}

test("each body is rejected for a field that it does not have, __proto__ included", async () => {
  for (const operation of writes()) {
    const { method, address, body } = sampleOf(operation);
    for (const field of ["amounts", "profileId", "AMOUNT", "id", "constructor"]) {
      const answer = await call(method, address, { ...body, [field]: "x" });
      const names = operation.inputs.flatMap(({ where, name }) => (where === "body" ? [name] : []));
      if (isBulk(operation)) names.push("items");
      const near = nearestName(field, names);
      const rule = `is not a field of this request${near === undefined ? "" : `: did you mean ${near}?`}`;
      expectProblem(answer, { status: 400, detail: `${field} ${rule}`, meta: { errors: [{ field, rule }] } });
    }
    const text = JSON.stringify({ ...body, nothing: 1 }).replace('"nothing":1', '"__proto__":{"amount":"1"}');
    expect([operation.operationId, (await call(method, address, text)).status]).toEqual([operation.operationId, 400]);
  }
});

test.each([
  ["nothing", "", 400],
  ["no JSON", "{", 400],
  ["a text after the JSON", "{} x", 400],
  ["a list", "[]", 400],
  ["null", "null", 400],
  ["a number", "1", 400],
  ["a text", '"x"', 400],
  ["JSON a thousand levels deep", `{"metadata":${"[".repeat(1_000)}${"]".repeat(1_000)}}`, 400],
])("each write is rejected with %s for a body", async (_what, text, status) => {
  for (const operation of writes()) {
    const { method, address } = sampleOf(operation);
    const answer = await call(method, address, text, { "content-type": "application/json" });
    expect([operation.operationId, answer.status, answer.body.status]).toEqual([operation.operationId, status, status]);
  }
});

test("each write is rejected with a body of more than 64 KiB; a bulk, of more than 1 MiB", async () => {
  for (const operation of writes()) {
    const { method, address } = sampleOf(operation);
    const most = isBulk(operation) ? 1_048_576 : 65_536;
    const text = JSON.stringify({ ref_id: "x".repeat(most) });
    const answer = await call(method, address, text, { "content-type": "application/json" });
    expectProblem(answer, { status: 413, detail: `the body has more than ${most} bytes` });
  }
});

test.each(["text/plain", "application/x-www-form-urlencoded", "application/xml", "multipart/form-data; boundary=x"])(
  "each write is rejected as %s",
  async (type) => {
    for (const operation of writes()) {
      const { method, address, body } = sampleOf(operation);
      const answer = await call(method, address, JSON.stringify(body), { "content-type": type });
      expectProblem(answer, { status: 415, detail: `the content type is "${type}": send application/json` });
    }
  },
);

const BAD_TIMES = ["yesterday", "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T09:30:00.0000000001Z", "1"];
const BAD_CURSORS = ["garbage", "WzEsImEiLFsiYiJdXQ"];

/** Texts of one value of a parameter that its schema does not allow. */
function wrongTexts(name: string, schema: Schema): string[] {
  const { type, enum: choices, minimum = 0, maximum = 0, check } = schema;
  if (check === "uuid") return ["no-uuid", "default"];
  if (check === "profile_id") return ["no-uuid", "DEFAULT"];
  if (check === "object_id") return ["BTC/USD", "9".repeat(20), "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f0g"];
  if (check === "date_time") return BAD_TIMES;
  if (check === "digits") return ["x", "-1", "1".repeat(21)];
  if (choices !== undefined) {
    const [word = ""] = choices;
    return ["SIDEWAYS", inOtherLetters(word)];
  }
  if (type === "integer") return ["ten", "1.5", String(minimum - 1), String(maximum + 1), "9".repeat(20)];
  return ["\0", "a".repeat(longest(name) + 1), ...(name in LONGEST ? [] : [""])];
}

test("each parameter of each query is rejected for each bad value, and named", async () => {
  let tried = 0;
  for (const operation of operations) {
    const { operationId, method } = operation;
    const { path = {}, query = {} } = SAMPLES[operationId]?.(acme.has) ?? {};
    for (const { name, schema } of operation.inputs.filter(({ where }) => where === "query")) {
      const { items = schema, maxItems } = schema;
      const wrong = [...wrongTexts(name, items), ...(name === "page_cursor" ? BAD_CURSORS : [])];
      const fine = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
      const many = maxItems === undefined ? [[fine, fine]] : [new Array<string>(maxItems + 1).fill(fine)];
      for (const value of [...wrong, ...many]) {
        const answer = await call(method, addressOf(operation, { path, query: { ...query, [name]: value } }));
        const shown = [operationId, name, String(value).slice(0, 100)];
        expect([...shown, answer.status]).toEqual([...shown, 400]);
        expect([...shown, answer.body.detail]).toEqual([...shown, expect.stringContaining(name)]);
        tried += 1;
      }
    }
  }
  expect(tried).toBeGreaterThan(300);
});

/** What a client may send that was made for another API, or misspelt. None of it is a parameter of any operation. */
const NO_PARAMETERS = ["colour", "range[begin]", "profileId", "ids[0]", "created_at[gte]", "LIMIT", "__proto__", ""];

test("each operation rejects a parameter that it does not have, and lists those that it has", async () => {
  const ofV2 = all.filter(({ path }) => path.startsWith("/v2/"));
  expect(ofV2.length).toBeGreaterThan(28);
  for (const operation of ofV2) {
    const sample = SAMPLES[operation.operationId]?.(acme.has) ?? {};
    const { path = { market: "BTCUSD", id: acme.has.webhook }, query = {} } = sample;
    const names = operation.inputs.flatMap(({ where, name }) => (where === "query" ? [name] : []));
    const taken = names.length === 0 ? "It takes none." : `It takes ${names.join(", ")}.`;
    for (const field of NO_PARAMETERS) {
      const near = nearestName(field, names);
      const rule = `is not a parameter of this operation${near === undefined ? "." : `: did you mean ${near}?`} ${taken}`;
      const address = addressOf(operation, { path, query: { ...query, [field]: "x" } });
      const answer = await call(operation.method, address, bodyOf(sample));
      const problem = { status: 400, detail: `${field} ${rule}`, meta: { errors: [{ field, rule }] } };
      expect([address, answer.status]).toEqual([address, 400]);
      expectProblem(answer, problem);
    }
  }
});

test.each([
  ["/v2/transfer/transfers", "profile_id", "profile_ids"],
  ["/v2/executions", "range[begin]", "range.begin"],
  ["/v2/orders", "refIds", "ref_ids"],
  ["/v2/profiles", "created_at", "created_at.lt"],
])("%s?%s= is rejected with the name %s", async (path, wrong, right) => {
  const { status, body } = await call("GET", `${path}?${encodeURIComponent(wrong)}=x`);
  expect([status, body.detail]).toEqual([400, expect.stringContaining(`did you mean ${right}?`)]);
});

test.each([
  ["GET", "/v2/profiles/ID"],
  ["PUT", "/v2/profiles/ID/deactivate"],
  ["GET", "/v2/profiles/ID/balances"],
  ["GET", "/v2/profiles/ID/balances/USD"],
  ["GET", "/v2/transfer/transfers/ID"],
  ["GET", "/v2/conversion/stablecoins/ID"],
  ["DELETE", "/v2/conversion/stablecoins/ID"],
])("%s %s rejects what is no id", async (method, path) => {
  for (const id of ["treasury", "DEFAULT", "0190d5a47e1b7c3d8a2f5b6c7d8e9f00", "%00", "%F0%9F%98%80", "'or'1'='1"]) {
    const answer = await call(method, path.replace("ID", id));
    expect([id, answer.status, answer.body.status]).toEqual([id, 400, 400]);
  }
});
