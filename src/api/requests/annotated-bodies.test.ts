import type { Static } from "typebox";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { pairs, text } from "../../ledger/annotations.ts";
import { annotatedBodies } from "./annotated-bodies.ts";
import { Metadata, OrEmpty, ShortText } from "./schemas.ts";

const { requestSchemas, responseSchemas, read, write } = annotatedBodies({
  endUser: text("end_user", "Who it is for.", "ann"),
  metadata: pairs("metadata"),
});
const Body = Type.Object({ amount: Type.String(), ...requestSchemas });

test("annotations have the schemas of a short text, which may be empty in a request, and of metadata", () => {
  const endUser = ShortText("Who it is for.", "ann");
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

test("a body with an annotation of another type, or one that is not described, does not compile", () => {
  // @ts-expect-error a text is not a number
  const number: Static<typeof Body> = { amount: "1", end_user: 1 };
  // @ts-expect-error it is called end_user
  expect(write({ end_user: "ann" })).not.toEqual(number);
});
