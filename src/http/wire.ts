/** From what the schemas have let pass to what the domain folders take, and back. */

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

/** An amount that has passed its schema. One that no asset can hold goes on as such: the asset's name is told with it. */
export function requestedAmount(checked: string): RequestedAmount {
  const amount = parseAmount(checked);
  assert(typeof amount === "bigint" || amount === "too_precise", "the schema has checked that this is an amount");
  return amount;
}

export const profileIdOf = (checked: string): ProfileId => uuidOf(checked) as ProfileId;

/** The profile that a path names: `default` is the caller's DEFAULT one. Whether there is such a profile is not asked. */
export async function profileInPath(
  profiles: Pick<Profiles, "getDefault">,
  customerId: CustomerId,
  checked: string,
): Promise<ProfileId> {
  return checked === "default" ? (await profiles.getDefault(customerId)).id : profileIdOf(checked);
}

/** Reads the position in a cursor of a list that is ordered by id. */
export function idPosition(position: readonly string[]): Uuid | undefined {
  return position.length === 1 ? parseUuid(position[0] ?? "") : undefined;
}

/**
 * What a command came to: its value, or the problem that its caller hears. `existing` is the problem of a name that
 * the record with this id has; a command without a name of the caller's needs none.
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
      throw await must(existing, "only a name of the caller's can be taken")(outcome.id);
  }
}

/** The problem of a name that was used before: `field` is the body's field that has it. */
export function nameTaken(field: "ref_id" | "nickname", sent: Sent, existing: object | undefined): Problem {
  return alreadyExists(
    `${field} ${JSON.stringify(sent[field])} was used before`,
    must(existing, "what has taken a name is there for its customer"),
  );
}

type Present<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** Fields that may have no value, as a body has them: who writes JSON leaves out what is undefined. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  return fields as Present<Fields>;
}
