/** Customers: the organisations that own profiles and API clients. */
import type { ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import type { Database } from "../postgres/database.ts";
import type { Clock } from "../std/clock.ts";
import type { IdSource } from "../std/id.ts";
import type { CustomerId } from "./customer-id.ts";
import { openProfile } from "./profiles/profiles.ts";
import { type Customer, findCustomer, findOwners, insertCustomer, type Owners } from "./store.ts";

export { type Customer, findCustomer, type Owners } from "./store.ts";

export interface Customers {
  /**
   * Creates a customer with its DEFAULT profile. Idempotent, and completes an interrupted attempt.
   */
  ensure(id: CustomerId, name: string, caller: Caller): Promise<Customer>;
  find(id: CustomerId): Promise<Customer | undefined>;
  /** Whose clients and profiles these are, of those that exist. */
  ownersOf(clientIds: readonly string[], profileIds: readonly string[]): Promise<Owners>;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export function createCustomers({ database, lane, ids, clock }: Parts): Customers {
  return {
    ensure: async (id, name, caller) => {
      const customer = await insertCustomer(database, { id, name, createdAt: clock.now() });
      // The claim on the nickname keeps a retry from creating a second DEFAULT profile.
      const profile = { customerId: id, nickname: "default", description: undefined };
      await lane.execute(openProfile(ids.next() as ProfileId, "DEFAULT", clock.now(), profile, caller, "again"));
      return customer;
    },
    find: (id) => findCustomer(database, id),
    ownersOf: (clientIds, profileIds) => findOwners(database, clientIds, profileIds),
  };
}
