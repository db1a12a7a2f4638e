import { expect, test } from "vitest";
import { shownError } from "./logger.ts";

test("of an error that carries a connection, only what may be read by others is logged", () => {
  const cause = Object.assign(new Error("terminating connection"), {
    code: "57P01",
    detail: "Key (ref_id)=(abc) already exists.",
    client: { secretKey: 42, password: "hidden" },
  });
  const shown = JSON.stringify(shownError(new Error("the database cannot be reached", { cause })));
  expect(JSON.parse(shown)).toEqual({
    type: "Error",
    message: "the database cannot be reached",
    stack: expect.stringContaining("the database cannot be reached"),
    cause: { type: "Error", message: "terminating connection", code: "57P01", stack: cause.stack },
  });
});

test("what was thrown without being an error is told by its type alone", () => {
  expect(shownError({ secret: "hidden" })).toBe("object");
});

test("the errors of several are told one by one", () => {
  expect(shownError(new AggregateError([new Error("one"), "two"], "both"))).toMatchObject({
    message: "both",
    errors: [{ message: "one" }, "string"],
  });
});
