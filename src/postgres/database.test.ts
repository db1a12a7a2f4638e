import pg from "pg";
import { describe, expect, test } from "vitest";
import {
  asConnectFault,
  asFault,
  awayReason,
  DatabaseAway,
  DatabaseReadOnly,
  isTimeout,
  OutcomeUnknown,
} from "./database.ts";
import { SessionUnfit } from "./session.ts";

/** An error as PostgreSQL sends it. */
function sent(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError("as the server words it", 0, "error"), { code });
}

/** Codes and names as in appendix A of PostgreSQL's manual. */
describe("an error that PostgreSQL sends", () => {
  test.each([
    ["08006", "connection_failure"],
    ["53100", "disk_full"],
    ["53200", "out_of_memory"],
    ["53300", "too_many_connections"],
    ["58030", "io_error"],
    ["57P01", "admin_shutdown"],
    ["57P02", "crash_shutdown"],
    ["57P03", "cannot_connect_now"],
  ])("with code %s, %s, means that the database is away", (code) => {
    const fault = asFault(sent(code));
    expect(fault).toBeInstanceOf(DatabaseAway);
    expect(awayReason(fault)).toBe("the database cannot be reached");
  });

  test("with code XX000, internal_error, means that it is away while connecting, and is a bug in a statement", () => {
    const error = sent("XX000");
    expect(asConnectFault(error)).toBeInstanceOf(DatabaseAway);
    expect(asFault(error)).toBe(error);
  });

  test("that means no outage is no outage while connecting either", () => {
    const wrongPassword = sent("28P01");
    expect(asConnectFault(wrongPassword)).toBe(wrongPassword);
    expect(asConnectFault(sent("53300"))).toBeInstanceOf(DatabaseAway);
  });

  test("with code 25006, read_only_sql_transaction, means that it is away, because it is read-only", () => {
    const fault = asFault(sent("25006"));
    expect(fault).toBeInstanceOf(DatabaseReadOnly);
    expect(fault).toBeInstanceOf(DatabaseAway);
    expect(awayReason(fault)).toBe("the database is read-only");
  });

  test.each([
    ["23505", "unique_violation"],
    ["23514", "check_violation"],
    ["40001", "serialization_failure"],
    ["42601", "syntax_error"],
    ["22P02", "invalid_text_representation"],
  ])("with code %s, %s, stays what it is: no outage hides a bug", (code) => {
    const error = sent(code);
    expect(asFault(error)).toBe(error);
  });

  test.each([
    ["57014", "query_canceled", true],
    ["55P03", "lock_not_available", true],
    ["40P01", "deadlock_detected", false],
    ["53300", "too_many_connections", false],
  ])("with code %s, %s, is a timeout: %s", (code, _name, expected) => {
    expect(isTimeout(sent(code))).toBe(expected);
    expect(isTimeout(asFault(sent(code)))).toBe(expected);
  });
});

test("an error of the socket, the pool or the session means that the database is away, a bug of ours does not", () => {
  for (const error of [new Error("connect ECONNREFUSED"), new AggregateError([]), new SessionUnfit("a pooler")])
    expect(asFault(error)).toBeInstanceOf(DatabaseAway);
  for (const error of [new TypeError("undefined is not a function"), new RangeError("too long")])
    expect(asFault(error)).toBe(error);
  const unknown = new OutcomeUnknown(new Error("cut off"));
  expect(asFault(unknown)).toBe(unknown);
  expect(asFault("thrown as it is")).not.toBeInstanceOf(DatabaseAway);
});
