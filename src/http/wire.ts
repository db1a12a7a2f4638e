/** Conversions between validated requests and domain types. */

import type { CustomerId } from "../customers/customer-id.ts";
import type { Profiles } from "../customers/profiles/profiles.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import type { Outcome } from "../ledger/decision.ts";
import type { RequestedAmount } from "../ledger/rejections.ts";
import { parseAmount } from "../money/amount.ts";
import { assert, must } from "../std/assert.ts";
import { parseUuid, type Uuid } from "../std/id.ts";
import { alreadyExists, type Problem } from "./problems/problems.ts";
import { type DomainRejection, problemOf, type Sent } from "./problems/rejection-problems.ts";
import { uuidOf } from "./requests/schemas.ts";

/** Parses an amount that has passed its schema. "too_precise" is rejected later, with the name of the asset. */
export function requestedAmount(checked: string): RequestedAmount {
  const amount = parseAmount(checked);
  assert(typeof amount === "bigint" || amount === "too_precise", "the schema has checked that this is an amount");
  return amount;
}

export const profileIdOf = (checked: string): ProfileId => uuidOf(checked) as ProfileId;

/** The profile that a path names; `default` is the caller's DEFAULT profile. Does not check that it exists. */
export async function profileInPath(
  profiles: Pick<Profiles, "getDefault">,
  customerId: CustomerId,
  checked: string,
): Promise<ProfileId> {
  return checked === "default" ? (await profiles.getDefault(customerId)).id : profileIdOf(checked);
}

/** The position in a cursor of a list that is ordered by id. */
export function idPosition(position: readonly string[]): Uuid | undefined {
  return position.length === 1 ? parseUuid(position[0] ?? "") : undefined;
}

/**
 * The value of a command's outcome.
 * @param sent the request's fields, for error texts
 * @param existing makes the problem of a ref_id or nickname that the record with this id already has
 * @throws Problem when the command was rejected
 */
export async function valueOrThrow<Value>(
  outcome: Outcome<Value, DomainRejection>,
  sent: Sent,
  existing?: (id: Uuid) => Promise<Problem>,
): Promise<Value> {
  switch (outcome.kind) {
    case "done":
      return outcome.value;
    case "rejected":
      throw problemOf(outcome.rejection, sent);
    case "exists":
      throw await must(existing, "only a command with a ref_id or nickname can find it in use")(outcome.id);
  }
}

/** The problem of a ref_id or nickname that is already in use. */
export function nameTaken(field: "ref_id" | "nickname", sent: Sent, existing: object | undefined): Problem {
  return alreadyExists(
    `${field} ${JSON.stringify(sent[field])} is already in use`,
    must(existing, "the customer can read the record that has its ref_id or nickname"),
  );
}

/** Every key, also of what may be undefined: a mapping that forgets one does not compile. */
export type Every<Fields> = {
  [Name in keyof Fields]-?: Record<never, never> extends Pick<Fields, Name> ? Fields[Name] | undefined : Fields[Name];
};

/** A body from all of its fields, of which JSON leaves out those that are undefined. */
export function present<Body extends object>(fields: Every<Body>): Body {
  return fields as Body;
}
