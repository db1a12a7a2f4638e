/** One thing that is wrong with a request, after which it has to be rejected, whatever else is in it. */
import fc from "fast-check";
import { type Input, type Operation, type Schema, withValue } from "../support/openapi.ts";
import type { HttpRequest } from "./http-request.ts";
import { calls, type Draft, requestOf } from "./requests.ts";
import type { World } from "./world.ts";

/** Values that an input must not have, each with what is wrong with it. */
type Wrong = readonly (readonly [what: string, value: unknown])[];

export function mutatedRequests(operation: Operation, world: World): fc.Arbitrary<HttpRequest> {
  const ofInputs = operation.inputs.flatMap((input) =>
    wrongValues(input).map(([what, value]) => ({ what: `the ${input.where}'s ${input.name} ${what}`, input, value })),
  );
  const mutations: ((request: HttpRequest, call: Draft) => HttpRequest)[] = [
    ...ofInputs.map(
      ({ what, input, value }) =>
        (_: HttpRequest, call: Draft) =>
          requestOf(changed(call, input, value), world, { wrong: what }),
    ),
    ...carrierMutations(operation),
  ];
  return fc.tuple(calls(operation, world), fc.nat(mutations.length - 1)).map(([call, index]) => {
    const request = requestOf(call, world);
    return mutations[index]?.(request, call) ?? request;
  });
}

/** How many different things can be wrong with the requests of an operation. */
export function mutationCount(operation: Operation): number {
  return operation.inputs.flatMap(wrongValues).length + carrierMutations(operation).length;
}

function changed(call: Draft, input: Input, value: unknown): Draft {
  const isList = input.schema.type === "array" && value !== undefined && !Array.isArray(value);
  return { ...call, ...withValue(call, input, isList ? [value] : value) };
}

const LONG = "x".repeat(1_500);
const NUL_OR_HALF: Wrong = [
  ["holds NUL", "a\0b"],
  ["is longer than any field", LONG],
];

function wrongValues(input: Input): Wrong {
  switch (input.where) {
    case "path":
      // Longer parts of a path are rejected before there is an operation.
      return wrongTexts(input.schema).filter(([, value]) => value !== "" && String(value).length < 1_000);
    case "query":
      return wrongQueries(input);
    case "body":
      return wrongFields(input);
    case "item":
      // A wrong item does not make its bulk wrong.
      return [];
  }
}

function wrongQueries({ schema, name }: Input): Wrong {
  const { items, type, minimum = 0, maximum = 0, maxItems = 0 } = schema;
  const twice: Wrong = [["is given twice", ["a", "b"]]];
  const empty: Wrong = name === "page_cursor" ? [["is garbage", "garbage"]] : [["is empty", ""]];
  if (items !== undefined) {
    const tooMany = Array.from({ length: maxItems + 1 }, () => "x");
    return [["has too many values", tooMany], ...empty, ...wrongTexts(items)];
  }
  if (type !== "integer") return [...twice, ...empty, ...wrongTexts(schema)];
  const numbers = [minimum - 1, maximum + 1, "1.5", "1e1", "0x10", "ten", "9".repeat(30), " 1", "+1"];
  return [...twice, ...empty, ...numbers.map((value) => [`is ${value}`, String(value)] as const)];
}

const NO_STRINGS: Wrong = [
  ["is a number", 1],
  ["is a large number", 1e20],
  ["is true", true],
  ["is an object", { a: "b" }],
  ["is a list", ["a"]],
];

function wrongFields({ schema, required }: Input): Wrong {
  const missing: Wrong = required
    ? [
        ["is missing", undefined],
        ["is null", null],
      ]
    : [];
  if (schema.type === "object") return [...missing, ...wrongMetadata(schema)];
  if (schema.type === "integer") {
    const { minimum = 0, maximum = 0 } = schema;
    const values: readonly unknown[] = [minimum - 1, maximum + 1, 1.5, "1", true, {}, [1], 1e30];
    return [...missing, ...values.map((value) => [`is ${String(value)}`, value] as const)];
  }
  if (schema.type === undefined) return [["is there", "x"]];
  if (schema.type === "boolean") return [...missing, ["is a text", "true"], ["is a number", 1], ["is a list", [true]]];
  return [...missing, ...NO_STRINGS, ...wrongTexts(schema), ["is half a surrogate pair", "a\ud800"]];
}

function wrongTexts({ check, enum: words, minLength = 0, maxLength }: Schema): Wrong {
  const wrong: [string, unknown][] = [...NUL_OR_HALF.map(([what, value]) => [what, value] as [string, unknown])];
  if (words !== undefined)
    wrong.push(["is not one of its words", "OTHER"], ["is in other letters", inOtherLetters(words[0])]);
  if (minLength > 0) wrong.push(["is empty", ""]);
  if (maxLength !== undefined) wrong.push(["is a character too long", "1".repeat(maxLength + 1)]);
  for (const value of WRONG_BY_CHECK[check ?? ""] ?? []) wrong.push([`is ${value}`, value]);
  return wrong;
}

function inOtherLetters(word = ""): string {
  return word === word.toLowerCase() ? word.toUpperCase() : word.toLowerCase();
}

const WRONG_BY_CHECK: Readonly<Record<string, readonly string[]>> = {
  amount: ["0", "-1", "1e3", "1.", "1,5", " 1", "0x1", "١", "1000000000000000000", "NaN", "1\n"],
  date_time: ["yesterday", "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T00:00:00", "2026-11-21T24:00:00Z"],
  digits: ["-1", "1.0", "x", "1e3"],
  uuid: ["default", "x", "0190d5a47e1b7c3d8a2f5b6c7d8e9f00", "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f0g"],
  object_id: ["", "BTC/USD", "9".repeat(20), "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f0g"],
  profile_id: ["DEFAULT", "x", "{0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00}"],
};

function wrongMetadata({ maxProperties = 0 }: Schema): Wrong {
  const keys = Array.from({ length: maxProperties + 1 }, (_, index) => [`key ${index}`, ""]);
  return [
    ["has too many pairs", Object.fromEntries(keys)],
    ["has an empty key", { "": "a" }],
    ["has a key that is too long", { ["k".repeat(101)]: "a" }],
    ["has a value that is too long", { a: "v".repeat(101) }],
    ["has a number in it", { a: 1 }],
    ["has null in it", { a: null }],
    ["has an object in it", { a: {} }],
    ["holds NUL", { a: "\0" }],
    ["is a list", []],
    ["is a text", "a"],
  ];
}

/** What can be wrong with the request around its values. */
function carrierMutations(operation: Operation): ((request: HttpRequest) => HttpRequest)[] {
  const wrong =
    (what: string, over: (request: HttpRequest) => Partial<HttpRequest>) =>
    (request: HttpRequest): HttpRequest => ({ ...request, ...over(request), wrong: what });
  const headers = (more: Record<string, string>) => (request: HttpRequest) => ({
    headers: { ...request.headers, ...more },
  });
  const astray = (address: (old: string) => string) => (request: HttpRequest) => ({
    address: address(request.address),
    astray: true,
  });
  const always = [
    wrong("its method is PATCH", () => ({ method: "PATCH", astray: true })),
    wrong("its method is PROPFIND", () => ({ method: "PROPFIND", astray: true })),
    wrong(
      "its path goes on",
      astray((address) => address.replace(/(\?|$)/, "/more$1")),
    ),
    wrong(
      "its path ends with a slash",
      astray((address) => address.replace(/(\?|$)/, "/$1")),
    ),
    wrong(
      "its path has two slashes",
      astray((address) => address.replace("/v2/", "/v2//").replace("/oauth2/", "//oauth2/")),
    ),
    wrong(
      "its path has an encoded slash",
      astray((address) => address.replace("/", "/%2f")),
    ),
    wrong(
      "its path has dot segments",
      astray((address) => `/x/..${address}`),
    ),
    wrong(
      "its path is in capitals",
      astray((address) => address.replace(/v2|oauth2/, (text) => text.toUpperCase())),
    ),
    wrong(
      "its path has bad percent-encoding",
      astray((address) => address.replace("/", "/%zz")),
    ),
    wrong(
      "its path is longer than any",
      astray((address) => address.replace(/(\?|$)/, `/${"y".repeat(2_000)}$1`)),
    ),
  ];
  const guarded =
    operation.scopes.length === 0
      ? []
      : [
          wrong("it has no token", ({ headers: { authorization: _, ...others } }) => ({ headers: others })),
          wrong("its token is nobody's", headers({ authorization: "Bearer x.y.z" })),
          wrong("its token has one character changed", ({ headers: sent }) => ({
            headers: { ...sent, authorization: sent.authorization?.replace(/.{5}$/, "AAAAA") ?? "" },
          })),
        ];
  return [...always, ...guarded, ...(operation.mediaTypes.length === 0 ? [] : bodyMutations(wrong, headers))];
}

function bodyMutations(
  wrong: (what: string, over: (request: HttpRequest) => Partial<HttpRequest>) => (request: HttpRequest) => HttpRequest,
  headers: (more: Record<string, string>) => (request: HttpRequest) => Partial<HttpRequest>,
) {
  const text = (change: (body: string) => string | Buffer) => (request: HttpRequest) => ({
    body: change(String(request.body)),
  });
  const extended = (member: string) => text((body) => body.replace(/^\{/, `{${member}${body === "{}" ? "" : ","}`));
  return [
    wrong("it has a field that is not known", extended('"amuont":"1"')),
    wrong("it has a field of Object.prototype", extended('"__proto__":{"amount":"1"}')),
    wrong("it has the field constructor", extended('"constructor":{"prototype":{"x":"y"}}')),
    wrong(
      "it has a field twice",
      text((body) => (body === "{}" ? '{"a":1,"a":1}' : body.replace(/^\{("[^"]*":(?:"[^"]*"|[^,}]*))/, "{$1,$1"))),
    ),
    wrong("it is nested a thousand levels deep", extended(`"metadata":${"[".repeat(1_000)}${"]".repeat(1_000)}`)),
    wrong("it is nested 30,000 levels deep", extended(`"metadata":${"[".repeat(30_000)}${"]".repeat(30_000)}`)),
    wrong("its body is missing", () => ({ body: undefined, headers: {} })),
    wrong(
      "its body is a list",
      text((body) => `[${body}]`),
    ),
    wrong(
      "its body is null",
      text(() => "null"),
    ),
    wrong(
      "its body is cut off",
      text((body) => body.slice(0, -1)),
    ),
    wrong(
      "its body goes on",
      text((body) => `${body}}`),
    ),
    wrong(
      "its body has a comment",
      text((body) => `${body}// x`),
    ),
    wrong(
      "its body is not UTF-8",
      text((body) => Buffer.concat([Buffer.from(body), Buffer.from([0xff, 0xfe])])),
    ),
    wrong(
      "its body begins with a byte order mark",
      text((body) => `\ufeff${body}`),
    ),
    wrong(
      "its body is in UTF-16",
      text((body) => Buffer.from(body, "utf16le")),
    ),
    wrong(
      "its body is too long",
      text((body) => body.padEnd(1_100_000)),
    ),
    wrong("its body is text/plain", headers({ "content-type": "text/plain" })),
    wrong("its body is XML", headers({ "content-type": "application/xml" })),
    wrong("its content type is no media type", headers({ "content-type": "json" })),
    wrong("its body is said to be compressed", headers({ "content-encoding": "gzip" })),
  ];
}
