/**
 * Every bound of an input that the OpenAPI document names, from both sides: a value at the bound is not rejected for it, one past
 * it is 400 and names the field and the bound. The ids in the requests are nobody's, so no money moves.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../../support/books.ts";
import {
  addressOf,
  bodyOf,
  type Call,
  type Input,
  type Operation,
  readDocument,
  responseTo,
  type Schema,
  withValue,
} from "../../support/openapi.ts";
import { startTestService, type TestCustomer, type TestService } from "../../support/service.ts";
import type { Belongings } from "../../tenancy/belongings.ts";
import { SAMPLES } from "../../tenancy/inputs.ts";

let service: TestService;
let acme: TestCustomer;
let inputs: readonly { readonly operation: Operation; readonly input: Input }[];
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer();
  const { operations } = await readDocument(service);
  // The form of the token endpoint has rules of its own.
  const ours = operations.filter(({ operationId }) => operationId !== "issueToken");
  inputs = ours.flatMap((operation) => operation.inputs.map((input) => ({ operation, input })));
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

const NOBODYS = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const NOTHING = new Proxy({} as Belongings, { get: () => NOBODYS });

/** A value at a bound and one past it; the field that the latter is rejected for, and what is said of it. */
interface Edge {
  readonly at: unknown;
  readonly past: unknown;
  readonly field: string;
  readonly says: string;
}

test("a value at a bound is accepted, and one beyond it is rejected", async () => {
  const wrong: unknown[] = [];
  let count = 0;
  for (const { operation, input } of inputs) {
    for (const { at, past, field, says } of edgesOf(input)) {
      count += 1;
      const [fine, rejected] = await Promise.all([at, past].map((value) => send(operation, input, value)));
      const isTold = (answer: typeof fine) =>
        answer?.errors.some((error) => error.field === field && error.rule.includes(says));
      if (isTold(fine)) wrong.push({ operation: operation.operationId, field, says, at, fine });
      if (rejected?.status !== 400 || !isTold(rejected))
        wrong.push({ operation: operation.operationId, field, says, past, rejected });
    }
  }
  expect(wrong).toEqual([]);
  // The walk has found what it is about.
  expect(count).toBeGreaterThan(100);
});

test("no input is without a bound", () => {
  const isBounded = ({ type, enum: choices, check, maxLength, items, ...rest }: Schema): boolean => {
    switch (type) {
      case "string":
        return choices !== undefined || check !== undefined || maxLength !== undefined;
      case "integer":
        return rest.minimum !== undefined && rest.maximum !== undefined;
      case "array":
        return rest.maxItems !== undefined && items !== undefined && isBounded(items);
      case "object":
        // Its fields are bounded as those of a body are.
        if (rest.properties !== undefined) return rest.additionalProperties === false;
        return rest.maxProperties !== undefined && rest.propertyNames?.maxLength !== undefined;
      default:
        return choices !== undefined || type === "boolean";
    }
  };
  const unbounded = inputs.filter(({ input }) => !isBounded(input.schema));
  expect(unbounded.map(({ input }) => input.name)).toEqual([]);
});

/** A call that is right but for one input, and its response. */
async function send({ operationId, method, path, mediaTypes }: Operation, { where, name }: Input, value: unknown) {
  const right: Call = SAMPLES[operationId]?.(NOTHING) ?? { path: { market: "BTCUSD", id: NOBODYS } };
  const sent = where === "body" || where === "item" || Array.isArray(value) ? value : String(value);
  const call = withValue(right, { where, name }, sent);
  const body = mediaTypes.length > 0 ? { body: bodyOf(call) } : {};
  const answer = await service.call(method, addressOf({ path }, call), { as: acme.token, ...body });
  const response = where === "item" ? responseTo(call, answer) : answer;
  const errors: { field: string; rule: string }[] = response.body?.meta?.errors ?? [];
  return { status: response.status, errors };
}

function edgesOf({ where, name, schema }: Input): Edge[] {
  const edges = [...textEdges(name, schema), ...numberEdges(name, schema), ...pairEdges(name, schema)];
  const { items, maxItems } = schema;
  if (items === undefined) return edges;
  if (maxItems !== undefined) {
    const [at, past] = [maxItems, maxItems + 1].map((length) => Array<string>(length).fill(fineItem(items)));
    edges.push({ at, past, field: name, says: `more than ${maxItems} entries` });
  }
  for (const { at, past, says } of textEdges(name, items)) {
    // In a query an empty value is that of the parameter.
    const field = where === "query" && past === "" ? name : `${name}[0]`;
    edges.push({ at: [at], past: [past], field, says });
  }
  return edges;
}

function fineItem({ enum: choices, check }: Schema): string {
  return choices?.[0] ?? (check === "uuid" ? NOBODYS : "USD");
}

/** Lengths count code points; this is one, and two units of UTF-16. */
const CLEF = "\u{1d11e}";

function textEdges(field: string, { minLength, maxLength, check }: Schema): Edge[] {
  const edges: Edge[] = [];
  if (minLength === 1) edges.push({ at: CLEF, past: "", field, says: "is empty" });
  if (maxLength === undefined) return edges;
  const texts = (length: number): string => {
    if (check !== undefined) return "1".padStart(length, "0");
    // A cursor is ASCII, and as long as any text may be in units.
    return (maxLength < 1_024 ? CLEF : "a").repeat(length);
  };
  const said: Readonly<Record<string, string>> = {
    amount: `up to ${maxLength} characters`,
    digits: `1 to ${maxLength} decimal digits`,
  };
  const says = said[check ?? ""];
  edges.push({
    at: texts(maxLength),
    past: texts(maxLength + 1),
    field,
    says: says ?? `more than ${maxLength} characters`,
  });
  return edges;
}

function numberEdges(field: string, { minimum, maximum }: Schema): Edge[] {
  const edges: Edge[] = [];
  if (minimum !== undefined) edges.push({ at: minimum, past: minimum - 1, field, says: `is below ${minimum}` });
  if (maximum !== undefined) edges.push({ at: maximum, past: maximum + 1, field, says: `is above ${maximum}` });
  return edges;
}

/** Of metadata: how many there are, how long a name is, how long a value. */
function pairEdges(field: string, { maxProperties, propertyNames = {}, additionalProperties: values }: Schema): Edge[] {
  if (maxProperties === undefined) return [];
  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key ${i}`, ""]));
  const named = (name: unknown) => ({ [String(name)]: "" });
  return [
    { at: pairs(maxProperties), past: pairs(maxProperties + 1), field, says: `more than ${maxProperties} pairs` },
    ...textEdges(field, propertyNames).map(({ at, past }) => {
      return { at: named(at), past: named(past), field, says: "has a name that is not allowed" };
    }),
    ...textEdges(`${field}.k`, typeof values === "object" ? values : {}).map((edge) => {
      return { ...edge, at: { k: edge.at }, past: { k: edge.past } };
    }),
  ];
}
