import { readFileSync } from "node:fs";
import pg from "pg";
import { describe, expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import { DatabaseAway } from "../../postgres/database.ts";
import { IdSource } from "../../std/id.ts";
import { refIdClaims } from "../../transfers/transfer.ts";
import type { Claim } from "../decision.ts";
import { isConflict, isContention } from "./batch-conflicts.ts";

const schema = readFileSync(new URL("../../../migrations/0001-schema.sql", import.meta.url), "utf8");
const [, ofBatch = ""] = /^create table batch \(\n(.*?)^\);/ms.exec(schema) ?? [];
const CONSTRAINTS = [...ofBatch.matchAll(/^ {2}constraint (\w+)/gm)].map(([, name]) => name as string);
/** A batch that violates one of these was built wrong. */
const SHAPE = ["slot_from_1_to_64", "number_not_negative", "hash_of_32_bytes", "void_decides_nothing"];

function sent(code: string, constraint?: string, table = "batch"): Error {
  return Object.assign(new pg.DatabaseError("as the server words it", 0, "error"), { code, constraint, table });
}

describe("a batch that fails on", () => {
  test.each(CONSTRAINTS)("the constraint %s is decided again, unless it was built wrong", (constraint) => {
    expect(isContention(sent("23514", constraint), [])).toBe(!SHAPE.includes(constraint));
  });

  test("a ref_id that a row of claim or an index has is decided again", () => {
    const [claim] = refIdClaims("acme" as CustomerId & string, "once", new IdSource().next()) as [Claim];
    const taken = sent("23505", claim.keptBy?.index.constraint);
    expect(isContention(taken, [claim])).toBe(true);
    // Without such a claim, the index rejected what no command asked for.
    expect(isContention(taken, [])).toBe(false);
    expect(isContention(sent("23505", "another_index"), [claim])).toBe(false);
    expect(isContention(sent("23505", "claim_pkey"), [])).toBe(true);
  });

  // Codes and names as in appendix A of PostgreSQL's manual.
  test.each([
    ["40P01", "deadlock_detected", true],
    ["40001", "serialization_failure", true],
    ["55P03", "lock_not_available", true],
    ["57014", "query_canceled", true],
    ["25P03", "idle_in_transaction_session_timeout", true],
    ["42601", "syntax_error", false],
    ["22P02", "invalid_text_representation", false],
    ["23502", "not_null_violation", false],
  ])("the error %s, %s, is decided again: %s", (code, _name, expected) => {
    expect(isContention(sent(code), [])).toBe(expected);
  });

  test("anything that PostgreSQL did not send is no contention", () => {
    expect(isContention(new DatabaseAway("the database cannot be reached"), [])).toBe(false);
    expect(isContention(new Error("a bug"), [])).toBe(false);
  });
});

/** Then the lane goes on with the number, the session and the clocks that it has; else it looks what has become of them. */
test("of a conflict another process was first with a row or a ref_id, and nothing else has happened", () => {
  const [claim] = refIdClaims("acme" as CustomerId & string, "once", new IdSource().next()) as [Claim];
  const index = claim.keptBy?.index.constraint ?? "";
  const conflicts = [...CONSTRAINTS, "claim_pkey", index, "another_index"].filter((constraint) =>
    isConflict(sent("23514", constraint), [claim]),
  );
  expect(conflicts.toSorted()).toEqual(
    ["claim_pkey", "claims_already_made", "rows_changed_meanwhile", index].toSorted(),
  );
  expect(isConflict(sent("23505", index), [])).toBe(false);
  // A rule of another table, which what was decided on stale rows breaks.
  expect(isConflict(sent("23514", "incoming_count_not_negative", "profile"), [])).toBe(true);
  expect(isConflict(sent("23505", "profile_pkey", "profile"), [])).toBe(false);
  for (const error of [sent("40P01"), sent("57014"), new DatabaseAway("the database cannot be reached")])
    expect(isConflict(error, [claim])).toBe(false);
});

test("the constraints of the table are found", () => {
  expect(CONSTRAINTS).toEqual(expect.arrayContaining([...SHAPE, "rows_changed_meanwhile", "too_late"]));
});
