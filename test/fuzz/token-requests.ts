/** Requests for tokens: forms, right ones and such as have to be rejected. */
import fc from "fast-check";
import { must } from "../../src/std/assert.ts";
import type { Operation } from "../support/openapi.ts";
import type { HttpRequest } from "./http-request.ts";
import type { World } from "./world.ts";

const URL_ENCODED = "application/x-www-form-urlencoded";

export function tokenRequests(world: World): fc.Arbitrary<HttpRequest> {
  const scope = fc.constantFrom(undefined, "", "exchange:read_order", "transfer:read_transfer  transfer:read_transfer");
  return fc.tuple(scope, fc.constantFrom("urlencoded", "multipart", "basic")).map(([asked, way]) => {
    const fields = [...right(world), ...(asked === undefined ? [] : [["scope", asked] as const])];
    if (way === "multipart") return multipart(world, fields);
    if (way === "urlencoded") return urlEncoded(world, fields);
    const basic = Buffer.from(`${world.clientId}:${world.secret}`).toString("base64");
    const { headers, ...rest } = urlEncoded(
      world,
      fields.filter(([name]) => !name.startsWith("client_")),
    );
    return { ...rest, headers: { ...headers, authorization: `Basic ${basic}` } };
  });
}

type Fields = readonly (readonly [name: string, value: string])[];

const right = ({ clientId, secret }: World): Fields => [
  ["grant_type", "client_credentials"],
  ["client_id", clientId],
  ["client_secret", secret],
];

/** What is wrong with a form, which is then sent in either encoding. */
const WRONG: Readonly<Record<string, (fields: Fields) => Fields>> = {
  "it is empty": () => [],
  "grant_type is missing": (fields) => fields.slice(1),
  "client_id is missing": ([grant, _, secret]) => [must(grant, "a grant type"), must(secret, "a secret")],
  "client_secret is missing": (fields) => fields.slice(0, 2),
  "it asks for another grant": (fields) => [["grant_type", "password"], ...fields.slice(1)],
  "its secret is wrong": (fields) => [...fields.slice(0, 2), ["client_secret", "x"]],
  "its secret is longer than any": (fields) => [...fields.slice(0, 2), ["client_secret", "x".repeat(5_000)]],
  "its secret holds NUL": (fields) => [...fields.slice(0, 2), ["client_secret", "a\0b"]],
  "its client holds NUL": (fields) => [must(fields[0], "a grant type"), ["client_id", "a\0b"], ["client_secret", "x"]],
  "its client is SQL": (fields) => [
    must(fields[0], "a grant type"),
    ["client_id", "' or 1=1 --"],
    ["client_secret", "x"],
  ],
  "a parameter occurs twice": (fields) => [...fields, ["client_id", "acme"]],
  "an unknown parameter occurs twice": (fields) => [...fields, ["x", "1"], ["x", "2"]],
  "it has a hundred parameters": (fields) => [
    ...fields,
    ...Array.from({ length: 100 }, (_, n) => [`p${n}`, ""] as const),
  ],
  "it asks for a scope that there is not": (fields) => [...fields, ["scope", "admin"]],
  "it asks for every scope": (fields) => [...fields, ["scope", "*"]],
  "its scope is malformed": (fields) => [...fields, ["scope", 'a"b\\c\u0001']],
  "its scope is longer than any": (fields) => [...fields, ["scope", "a ".repeat(1_500)]],
};

/** What is wrong around the form. */
const AROUND: Readonly<Record<string, (request: HttpRequest) => Partial<HttpRequest>>> = {
  "it is JSON": () => ({ headers: { "content-type": "application/json" } }),
  "its content type is missing": () => ({ headers: {} }),
  "its content type has no boundary": () => ({ headers: { "content-type": "multipart/form-data" } }),
  "its boundary is another one": () => ({ headers: { "content-type": "multipart/form-data; boundary=other" } }),
  "its body is missing": () => ({ body: undefined }),
  "it is too long": ({ body }) => ({ body: `${body}&x=${"x".repeat(20_000)}` }),
  "the client is in the address": () => ({ address: "/oauth2/token?client_id=acme&client_secret=x" }),
  "it has a header of its client that cannot be read": ({ headers }) => ({
    headers: { ...headers, authorization: "Basic %%%" },
  }),
  "its client is in the header and in the form": ({ headers }) => ({
    headers: { ...headers, authorization: "Basic YWNtZTphY21l" },
  }),
  "its method is GET": () => ({ method: "GET", body: undefined, astray: true }),
  "its method is PUT": () => ({ method: "PUT", astray: true }),
  "its path goes on": () => ({ address: "/oauth2/token/more", astray: true }),
  "its path has bad percent-encoding": () => ({ address: "/oauth2/token%zz", astray: true }),
};

export function mutatedTokenRequests(world: World): fc.Arbitrary<HttpRequest> {
  const forms = Object.entries(WRONG).flatMap(([wrong, change]) => [
    { ...urlEncoded(world, change(right(world))), wrong },
    { ...multipart(world, change(right(world))), wrong },
  ]);
  const around = Object.entries(AROUND).map(([wrong, over]) => {
    const request = urlEncoded(world, right(world));
    return { ...request, ...over(request), wrong };
  });
  return fc.constantFrom(...forms, ...around);
}

const tokenOperation = ({ document }: World): Operation =>
  must(
    document.operations.find(({ operationId }) => operationId === "issueToken"),
    "the document has the token endpoint",
  );

function urlEncoded(world: World, fields: Fields): HttpRequest {
  return {
    operation: tokenOperation(world),
    method: "POST",
    address: "/oauth2/token",
    headers: { "content-type": URL_ENCODED },
    body: new URLSearchParams(fields.map(([name, value]): [string, string] => [name, value])).toString(),
  };
}

function multipart(world: World, fields: Fields): HttpRequest {
  const parts = fields.map(
    ([name, value]) => `--b0undary\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    ...urlEncoded(world, []),
    headers: { "content-type": "multipart/form-data; boundary=b0undary" },
    body: `${parts.join("")}--b0undary--\r\n`,
  };
}
