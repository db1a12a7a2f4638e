import type { CustomerId } from "../../customers/customer-id.ts";
import { type Profiles, profileNotFound } from "../../customers/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { problemOf } from "../refusals.ts";
import { profileInPath } from "../wire.ts";

/** The profile that the path of a list names. One that the caller does not have is a problem, not an empty list. */
export async function ownProfile(
  profiles: Pick<Profiles, "find" | "getDefault">,
  customerId: CustomerId,
  checked: string,
): Promise<ProfileId> {
  const id = await profileInPath(profiles, customerId, checked);
  if ((await profiles.find(customerId, id)) === undefined) throw problemOf(profileNotFound(checked));
  return id;
}
