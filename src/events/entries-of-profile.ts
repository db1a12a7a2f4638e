/** Which events are of a profile: found by ids alone, so that the objects of all others need not be read. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Uuid } from "../std/id.ts";
import type { Transfers } from "../transfers/transfers.ts";
import type { Entry } from "./event-rows.ts";
import { type ObjectType, objectTypeOf } from "./event-types.ts";
import { findIdsOfProfile } from "./store.ts";

interface Parts {
  readonly database: Queryable;
  readonly transfers: Pick<Transfers, "list">;
}

const TABLES = { execution: "execution", conversion: "conversion", order: "orders" } as const;

/** Those of these entries of one customer whose object is of the profile, or is the profile. */
export async function entriesOfProfile<Of extends { readonly entry: Entry }>(
  { database, transfers }: Parts,
  customerId: CustomerId,
  profileId: string,
  entries: readonly Of[],
): Promise<Of[]> {
  const idsOf = (wanted: ObjectType): Uuid[] => {
    const own = entries.filter(({ entry }) => objectTypeOf(entry.type) === wanted);
    return [...new Set(own.map(({ entry }) => entry.objectId as Uuid))];
  };
  const found = new Set<string>([profileId]);
  for (const [type, table] of Object.entries(TABLES)) {
    const ids = idsOf(type as keyof typeof TABLES);
    if (ids.length === 0) continue;
    for (const id of await findIdsOfProfile(database, table, { customerId, profileId, ids })) found.add(id);
  }
  const ids = idsOf("transfer");
  if (ids.length > 0) {
    const profileIds = [profileId];
    const records = await transfers.list({ customerId, ids, profileIds, order: "ASC", limit: ids.length });
    for (const { id } of records) found.add(id);
  }
  return entries.filter(({ entry }) => found.has(entry.objectId));
}
