/** Customers: the organisations that own profiles and API clients. */
import type { ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import type { Lane } from "../ledger/lane/lane.ts";
import type { Database } from "../postgres/database.ts";
import type { Clock } from "../std/clock.ts";
import type { IdSource } from "../std/id.ts";
import type { CustomerId } from "./customer-id.ts";
import { openProfile } from "./profiles/profiles.ts";
import { type Customer, findCustomer, insertCustomer } from "./store.ts";

export { type Customer, findCustomer } from "./store.ts";

export interface Customers {
  /**
   * Makes a customer with its DEFAULT profile. Doing it again changes nothing: it may have been broken off half-way.
   */
  ensure(id: CustomerId, name: string, caller: Caller): Promise<Customer>;
  find(id: CustomerId): Promise<Customer | undefined>;
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
      // The nickname is claimed, so there is one DEFAULT profile, however often this is tried.
      const profile = { customerId: id, nickname: "default", description: undefined };
      await lane.execute(openProfile(ids.next() as ProfileId, "DEFAULT", clock.now(), profile, caller, "again"));
      return customer;
    },
    find: (id) => findCustomer(database, id),
  };
}
