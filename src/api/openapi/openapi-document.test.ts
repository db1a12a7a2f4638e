import { expect, test } from "vitest";
import { finishedDocument, type Json } from "./openapi-document.ts";

const ADDRESSES = { baseUrl: "http://toy.test", tokensUrl: "http://auth.toy.test" };

/** A document of one operation that answers with these schemas. */
function documentWith(tag: string, schemas: readonly Json[]): Json {
  const responses = Object.fromEntries(
    schemas.map((schema, at) => [String(200 + at), { description: "", content: { "application/json": { schema } } }]),
  );
  return {
    paths: { "/v2/toys": { get: { tags: [tag], responses } } },
    components: { securitySchemes: { oauth2: { type: "oauth2", flows: { clientCredentials: { scopes: {} } } } } },
  };
}

test("two different schemas of one name are a mistake of ours", () => {
  const toy = { type: "object", title: "Toy", properties: { id: { type: "string" } } };
  const same = finishedDocument(documentWith("Transfers", [toy, { ...toy, examples: [{ id: "1" }] }]), ADDRESSES);
  expect(Object.keys((same.components as { schemas: Json }).schemas)).toEqual([
    "Token",
    "TokenError",
    "TokenRequest",
    "Toy",
  ]);
  const other = { ...toy, properties: { id: { type: "integer" } } };
  expect(() => finishedDocument(documentWith("Transfers", [toy, other]), ADDRESSES)).toThrow(
    "one schema has the name Toy",
  );
});

test("a tag without a description is a mistake", () => {
  expect(() => finishedDocument(documentWith("Toys", []), ADDRESSES)).toThrow("the tag Toys has a description");
});
