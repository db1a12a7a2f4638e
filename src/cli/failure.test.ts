import { expect, test } from "vitest";
import { WrongSettings } from "../config/config.ts";
import { notFound } from "../http/problems.ts";
import { DatabaseAway, OutcomeUnknown } from "../postgres/database.ts";
import { Refused, WrongUsage } from "./command.ts";
import { failureOf } from "./failure.ts";

test("what was asked wrongly ends with 2, what was refused with 1", () => {
  expect(failureOf(new WrongSettings(["PARBOOK_X is wrong"]))).toEqual({
    text: "These settings are wrong, and nothing was started:\n  PARBOOK_X is wrong",
    exitCode: 2,
  });
  expect(failureOf(new WrongUsage("set both"))).toEqual({ text: "set both", exitCode: 2 });
  expect(failureOf(new Refused("profile not found: 1"))).toEqual({ text: "profile not found: 1", exitCode: 1 });
  expect(failureOf(notFound("profile not found: 1"))).toEqual({ text: "profile not found: 1", exitCode: 1 });
});

test("of a database that is away the innermost reason is told", () => {
  const refused = new AggregateError([new Error("connect ECONNREFUSED ::1:5432"), new Error("another")]);
  const away = new DatabaseAway("the database cannot be reached", { cause: new Error("pool", { cause: refused }) });
  expect(failureOf(away).text).toBe(
    "the database cannot be reached (connect ECONNREFUSED ::1:5432): start it, or correct PARBOOK_DATABASE_URL",
  );
});

test("of a change whose outcome is unknown it is said to look before it is repeated", () => {
  expect(failureOf(new OutcomeUnknown(new Error("read ECONNRESET")))).toEqual({
    text: "it is not known whether this was done (read ECONNRESET): look before you repeat it",
    exitCode: 1,
  });
});

test("a file that cannot be used is named", () => {
  const error = Object.assign(new Error("EACCES"), { code: "EACCES", syscall: "open", path: "/data/demo.json" });
  expect(failureOf(error)).toEqual({ text: "/data/demo.json cannot be used (open: EACCES)", exitCode: 1 });
});

test("a bug is told with the place where it came up", () => {
  const { text, exitCode } = failureOf(new TypeError("x is not a function"));
  expect(text).toMatch(/^TypeError: x is not a function\n +at .*failure\.test\.ts/);
  expect(exitCode).toBe(1);
});
