import type { FastifyRequest } from "fastify";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Profiles, profileNotFound } from "../../customers/profiles/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { problemFor, profileIdOf, type RequestDocumenting } from "../domain-mapping.ts";

/**
 * The profile in the path of a list.
 * @throws Problem 404 when the caller has no such profile
 */
export async function ownProfile(
  profiles: Pick<Profiles, "find">,
  request: RequestDocumenting<"profile_not_found"> & Pick<FastifyRequest, "grant">,
  checked: string,
): Promise<ProfileId> {
  const { customerId } = request.grant;
  const id = profileIdOf(checked);
  if ((await profiles.find(customerId, id)) === undefined) throw problemFor(request, profileNotFound(checked));
  return id;
}

/**
 * The profile that a filter names. A profile that the caller does not have matches nothing. It must not reach the query,
 * which would scan all records of another customer.
 */
export async function filteredProfile(
  profiles: Pick<Profiles, "find">,
  customerId: CustomerId,
  checked: string | undefined,
): Promise<ProfileId | "matches_nothing" | undefined> {
  if (checked === undefined) return undefined;
  return (await profiles.find(customerId, profileIdOf(checked)))?.id ?? "matches_nothing";
}
