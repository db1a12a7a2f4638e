import { expect, test } from "vitest";
import { createDialect, OWN_DIALECT, OWN_WORDS } from "../../web/dialect/dialect.ts";
import { NamedEnum } from "../requests/schemas.ts";
import { ANSWERS, type Json, SHOWN_AS } from "./document-schemas.ts";
import { finishedDocument } from "./openapi-document.ts";

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
  expect(Object.keys((same.components as { schemas: Json }).schemas)).toContain("Toy");
  const other = { ...toy, properties: { id: { type: "integer" } } };
  expect(() => finishedDocument(documentWith("Transfers", [toy, other]), ADDRESSES)).toThrow(
    "one schema has the name Toy",
  );
});

test("a tag without a description is a mistake", () => {
  expect(() => finishedDocument(documentWith("Toys", []), ADDRESSES)).toThrow("the tag Toys has a description");
});

test("a use of a named enum may have its own description and default", () => {
  const Colour = NamedEnum("Colour", ["RED", "BLUE"], "What it looks like.");
  const toy = { type: "object", properties: { colour: Colour, inside: { ...Colour, description: "Of its inside." } } };
  const query = [{ name: "colour", in: "query", description: "Only these.", schema: { ...Colour, default: "RED" } }];
  const made = documentWith("Transfers", [toy]);
  const { paths, components } = finishedDocument(withOperation(made, { parameters: query }), ADDRESSES) as Finished;
  const operation = paths["/v2/toys"]?.get as Finished;
  const reference = { $ref: "#/components/schemas/Colour" };
  expect(components.schemas.Colour).toEqual({
    type: "string",
    enum: ["RED", "BLUE"],
    description: "What it looks like.",
  });
  expect(operation.responses["200"].content["application/json"].schema.properties).toEqual({
    colour: reference,
    inside: { ...reference, description: "Of its inside." },
  });
  expect(operation.parameters).toEqual([
    { name: "colour", in: "query", description: "Only these.", schema: { ...reference, default: "RED" } },
  ]);
});

test("keywords that only this program reads are not shown", () => {
  const toy = {
    type: "object",
    properties: { id: { type: "string", "x-check": "uuid", examples: ["1"] }, "x-ray": { type: "boolean" } },
  };
  const other = { type: "object", description: "Any.", [SHOWN_AS]: { anyOf: [{ title: "Toy", ...toy }] } };
  const { paths, components } = finishedDocument(documentWith("Transfers", [other]), ADDRESSES) as Finished;
  expect(components.schemas.Toy).toEqual({
    type: "object",
    properties: { id: { type: "string" }, "x-ray": { type: "boolean" } },
  });
  expect(paths["/v2/toys"].get.responses["200"].content["application/json"]).toEqual({
    schema: { description: "Any.", anyOf: [{ $ref: "#/components/schemas/Toy" }] },
  });
});

test("what was recorded stands beside what it is an example of", () => {
  const made = documentWith("Transfers", [{ type: "object" }]);
  const content = { "application/problem+json": { schema: { type: "object" }, [ANSWERS]: ["not-found", "gone"] } };
  const described = {
    parameters: [{ name: "id", in: "path", schema: { type: "string" } }],
    requestBody: { content: { "application/json": { schema: { type: "object" } } } },
    responses: { 404: { description: "", content } },
  };
  const recorded = {
    getToy: { parameters: { id: "7" }, body: { a: 1 }, response: {}, problems: { "not-found": { status: 404 } } },
  };
  const { paths } = finishedDocument(withOperation(made, described), ADDRESSES, OWN_DIALECT, recorded) as Finished;
  const { parameters, requestBody, responses } = paths["/v2/toys"].get;
  expect(parameters[0]).toEqual({ name: "id", in: "path", schema: { type: "string" }, example: "7" });
  expect(requestBody.content["application/json"].example).toEqual({ a: 1 });
  expect(responses["404"].content["application/problem+json"]).toEqual({
    schema: { type: "object" },
    examples: { "not-found": { value: { status: 404 } } },
  });
});

test("where a dialect has nothing but types of problems, the examples of problems have them", () => {
  const made = documentWith("Transfers", []);
  const content = { "application/problem+json": { schema: { type: "object" }, [ANSWERS]: ["not-found"] } };
  const problem = { type: "http://toy.test/problems/not-found", title: "Not Found", status: 404 };
  const { paths } = finishedDocument(
    withOperation(made, { responses: { 404: { description: "", content } } }),
    ADDRESSES,
    createDialect({ ...OWN_WORDS, problemTypes: "https://example.com/problems/" }),
    { getToy: { problems: { "not-found": problem } } },
  ) as Finished;
  expect(paths["/v2/toys"].get.responses["404"].content["application/problem+json"].examples).toEqual({
    "not-found": { value: { ...problem, type: "https://example.com/problems/not-found" } },
  });
});

// biome-ignore lint/suspicious/noExplicitAny: the document is read by its paths, which is what is tested
type Finished = any;

/** The same document, with more of its operation. */
function withOperation(made: Json, more: Json): Json {
  const { get } = (made.paths as { "/v2/toys": { get: Json } })["/v2/toys"];
  return { ...made, paths: { "/v2/toys": { get: { operationId: "getToy", ...get, ...more } } } };
}
