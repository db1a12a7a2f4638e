import { expect, test } from "vitest";
import { printableFields, printableLine, shownError } from "./logger.ts";

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

test("a log that is read on a terminal has no control characters but the line breaks of a stack", () => {
  const error = { message: "no\u001b[2J\nname", stack: "Error: no\u009b\n    at here" };
  const line = printableFields(`${JSON.stringify({ level: 30, msg: "a\nb\u202e", error })}\n`);
  expect(JSON.parse(line)).toEqual({
    level: 30,
    msg: "a\\nb\\u202e",
    error: { message: "no\\u001b[2J\\nname", stack: "Error: no\\u009b\n    at here" },
  });
});

test("a log of JSON lines has no character that a terminal would obey, and the same values", () => {
  const fields = { level: 30, name: "a\u009b\u202e\n", msg: "b\u007f\u2028" };
  const line = printableLine(`${JSON.stringify(fields)}\n`);
  expect(line).toMatch(/^[ -~]+\n$/);
  expect(JSON.parse(line)).toEqual(fields);
});
