/** Customers: the organisations that own profiles and API clients. */
import type { ProfileId } from "../ledger/accounts.ts";
import type { Caller } from "../ledger/caller.ts";
import { recordConfigurationWrite } from "../ledger/configuration-writes.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import { type Database, type Queryable, serverError } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import { type Clock, formatInstant } from "../std/clock.ts";
import type { IdSource, Uuid } from "../std/id.ts";
import { done, type Result, reject } from "../std/result.ts";
import type { CustomerId } from "./customer-id.ts";
import { findCustomerByName } from "./operator-queries.ts";
import { hasDefaultProfile, openProfile } from "./profiles/profiles.ts";
import {
  type Customer,
  findCustomer,
  findOwners,
  insertCustomer,
  lockCustomer,
  NAME_CONSTRAINT,
  type Named,
  type Owners,
  updateCustomer,
} from "./store.ts";

export { type Customer, findCustomer, findOwners, type Named, type Owners } from "./store.ts";

/** Another customer has the name. */
export type NameTaken = "customer_name_taken";

export interface Customers {
  /**
   * Creates a customer with its DEFAULT profile. Idempotent, and completes an interrupted attempt. An existing customer
   * keeps its name.
   */
  ensure(id: CustomerId, name: string, caller: Caller): Promise<Result<Customer, NameTaken>>;
  /** The same with a new id; a customer of this name whose creation was interrupted is completed. */
  create(name: string, caller: Caller): Promise<Result<Customer, NameTaken>>;
  rename(id: CustomerId, name: string, caller: Caller): Promise<Result<Customer, NameTaken | "customer_not_found">>;
  /**
   * Disables a customer: its clients get no more tokens, and valid ones are rejected within seconds. Its money and its
   * orders stay. A disabled customer keeps its time.
   */
  disable(id: CustomerId, caller: Caller): Promise<Result<Customer, "customer_not_found">>;
  /** Its clients may call again; tokens from before that have not expired are accepted again. */
  enable(id: CustomerId, caller: Caller): Promise<Result<Customer, "customer_not_found">>;
  find(id: CustomerId): Promise<Customer | undefined>;
  ownersOf(named: Named): Promise<Owners>;
}

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly ids: IdSource;
  readonly clock: Clock;
}

export function createCustomers({ database, lane, ids, clock }: Parts): Customers {
  const ensure: Customers["ensure"] = async (id, name, caller) => {
    const inserted = await unlessNameTaken(insert(database, { id, name, createdAt: clock.now() }, caller));
    if (inserted.kind === "rejected") return inserted;
    // The claim on the nickname keeps a retry from creating a second DEFAULT profile.
    const profile = { customerId: id, nickname: "default", description: undefined };
    await lane.execute(openProfile(ids.next() as ProfileId, "DEFAULT", clock.now(), profile, caller, "again"));
    return done(must(await findCustomer(database, id), "a customer that was inserted is there"));
  };
  return {
    ensure,
    create: async (name, caller) => {
      const made = await ensure(ids.next() as Uuid as CustomerId, name, caller);
      if (made.kind === "done") return made;
      const existing = await findCustomerByName(database, name);
      if (existing === undefined || (await hasDefaultProfile(database, existing.id))) return made;
      return ensure(existing.id, name, caller);
    },
    rename: async (id, name, caller) => {
      const changed = await unlessNameTaken(change(database, id, (customer) => ({ ...customer, name }), caller));
      return changed.kind === "rejected" ? changed : changed.value;
    },
    disable: (id, caller) =>
      change(database, id, (customer) => ({ ...customer, disabledAt: customer.disabledAt ?? clock.now() }), caller),
    enable: (id, caller) => change(database, id, (customer) => ({ ...customer, disabledAt: undefined }), caller),
    find: (id) => findCustomer(database, id),
    ownersOf: (named) => findOwners(database, named),
  };
}

async function unlessNameTaken<Value>(write: Promise<Value>): Promise<Result<Value, NameTaken>> {
  try {
    return done(await write);
  } catch (error) {
    if (serverError(error)?.constraint === NAME_CONSTRAINT) return reject("customer_name_taken");
    throw error;
  }
}

function insert(
  database: Database,
  customer: Pick<Customer, "id" | "name" | "createdAt">,
  caller: Caller,
): Promise<void> {
  return database.transaction(async (transaction) => {
    if (await insertCustomer(transaction, customer))
      await record(transaction, caller, customer.id, { name: customer.name });
  });
}

function change(
  database: Database,
  id: CustomerId,
  changed: (customer: Customer) => Customer,
  caller: Caller,
): Promise<Result<Customer, "customer_not_found">> {
  return database.transaction(async (transaction) => {
    const before = await lockCustomer(transaction, id);
    if (before === undefined) return reject("customer_not_found");
    const after = changed(before);
    if (after.name === before.name && after.disabledAt === before.disabledAt) return done(after);
    await updateCustomer(transaction, after);
    const { name, disabledAt } = after;
    const state = disabledAt === undefined ? { status: "enabled" } : { disabled_at: formatInstant(disabledAt) };
    const former = name === before.name ? {} : { former_name: before.name };
    await record(transaction, caller, id, { name, ...former, ...state });
    return done(after);
  });
}

function record(
  transaction: Queryable,
  caller: Caller,
  id: CustomerId,
  details: Readonly<Record<string, string>>,
): Promise<void> {
  return recordConfigurationWrite(transaction, caller, { kind: "customer", subject: id, customerId: id, details });
}
