import type { Static } from "typebox";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { filter, ofSide, pairs, text } from "../../ledger/annotations.ts";
import { annotatedBodies, annotationFilters, repeatableAnnotationFilters } from "./annotated-bodies.ts";
import { Metadata, OrEmpty, Repeatable, ShortText } from "./schemas.ts";

const { requestSchemas, responseSchemas, read, write } = annotatedBodies({
  endUser: text("end_user", "Who it is for."),
  metadata: pairs("metadata"),
});
const Body = Type.Object({ amount: Type.String(), ...requestSchemas });

test("annotations have the schemas of a short text, which may be empty in a request, and of metadata", () => {
  const endUser = ShortText("Who it is for.");
  const metadata = Type.Optional(Metadata);
  expect(requestSchemas).toEqual({ end_user: OrEmpty(endUser), metadata });
  expect(responseSchemas).toEqual({ end_user: Type.Optional(endUser), metadata });
});

test("annotations are read from a body and written to one, under their names on the wire", () => {
  const body: Static<typeof Body> = { amount: "1", end_user: "ann", metadata: { a: "1" } };
  expect(read(body)).toEqual({ endUser: "ann", metadata: { a: "1" } });
  expect(write({ endUser: "ann", metadata: { a: "1" } })).toEqual({ end_user: "ann", metadata: { a: "1" } });
  expect(read({})).toEqual({});
  expect(write({})).toEqual({});
});

const FILTERED = {
  endUser: { ...text("end_user", "Who it is for."), filter: filter("for", "Only those for this end user.") },
  desk: text("desk", "Whose it is."),
};

test("lists filter by the annotations that say so, by one value or by several", () => {
  const one = annotationFilters(FILTERED);
  expect(one.names).toEqual(["for"]);
  expect(one.schemas).toEqual({ for: Type.Optional(ShortText("Only those for this end user.")) });
  expect(one.read({ for: "ann" })).toEqual({ endUser: "ann" });
  const several = repeatableAnnotationFilters(FILTERED);
  const schema = Repeatable(ShortText("Who it is for."), "Only those for this end user.");
  expect(several.schemas).toEqual({ for: schema });
  expect(several.read({ for: ["ann", "bob"] })).toEqual({ endUsers: ["ann", "bob"] });
});

test("the annotations of a side have its prefix, and are otherwise the same", () => {
  const { read, requestSchemas } = annotatedBodies(ofSide("from_", FILTERED));
  expect(Object.keys(requestSchemas)).toEqual(["from_end_user", "from_desk"]);
  expect(read({ from_end_user: "ann" })).toEqual({ endUser: "ann" });
});

test("a body with an annotation of another type, or one that is not described, does not compile", () => {
  // @ts-expect-error a text is not a number
  const number: Static<typeof Body> = { amount: "1", end_user: 1 };
  // @ts-expect-error it is called end_user
  expect(write({ end_user: "ann" })).not.toEqual(number);
});
