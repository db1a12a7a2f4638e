/** `parbook customer` and `parbook profile`. */
import type { Command } from "commander";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Customer, findCustomer } from "../../customers/customers.ts";
import { findOwner, listCustomers } from "../../customers/operator-queries.ts";
import { findProfile, listProfiles, type Profile } from "../../customers/profiles/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { Queryable } from "../../postgres/database.ts";
import { formatInstant } from "../../std/clock.ts";
import { readText, readUuid } from "../arguments.ts";
import { addCommand, addGroup, CommandRejected, setAction, withCore, withFoundation } from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";
import { operatorOf } from "../operator.ts";

export function addCustomerCommands(program: Command): void {
  const customer = addGroup(program, "customer", "the organisations that own profiles and API clients");
  const create = addCommand(customer, "create", {
    summary: "create a customer with its DEFAULT profile",
    examples: ["customer create --name Acme"],
  }).requiredOption("--name <name>", "its name, 1 to 100 characters", readText);
  setAction(create, createCustomer);

  const list = addCommand(customer, "list", { summary: "list the customers", examples: ["customer list --json"] });
  setAction(list, listAll);

  const profile = addGroup(program, "profile", "the profiles of a customer, which hold balances");
  const profiles = addCommand(profile, "list", {
    summary: "list the profiles of a customer, including inactive ones",
    examples: [
      "profile list --customer 0190d5a4-0000-7000-8000-000000000002",
      "profile list --customer 0190d5a4-0000-7000-8000-000000000002 --after 0190d5a4-0000-7000-8000-000000000004",
    ],
  })
    .requiredOption("--customer <id>", "the customer's id", readUuid)
    .option("--after <id>", "continue the list after this profile", readUuid);
  setAction(profiles, listOfCustomer);
}

/** @throws CommandRejected when there is no such customer: an empty list would hide a mistyped id. */
export async function getCustomer(database: Queryable, id: CustomerId): Promise<Customer> {
  const customer = await findCustomer(database, id);
  if (customer === undefined) throw new CommandRejected(`customer not found: ${id}`);
  return customer;
}

export async function getOwner(database: Queryable, profileId: ProfileId): Promise<CustomerId> {
  const customerId = await findOwner(database, profileId);
  if (customerId === undefined) throw new CommandRejected(`profile not found: ${profileId}`);
  return customerId;
}

function createCustomer({ name }: { name: string }) {
  return withCore(async ({ customers, profiles, ids }) => {
    const customer = await customers.ensure(ids.next() as CustomerId, name, operatorOf("customer create"));
    const { id } = await profiles.getDefault(customer.id);
    return {
      json: { ...customerRecord(customer), default_profile_id: id },
      prose: [`customer        ${customer.id}`, `default profile ${id}`],
    };
  });
}

function listAll() {
  return withFoundation(async ({ database }) => {
    const found = (await listCustomers(database, LIST_LIMIT + 1)).map(customerRecord);
    return listing(found, ["id", "created at", "name"], ({ id, name, created_at }) => [id, created_at, name]);
  });
}

function customerRecord({ id, name, createdAt }: Customer) {
  return { id, name, created_at: formatInstant(createdAt) };
}

interface ProfileListOptions {
  readonly customer: CustomerId;
  readonly after?: ProfileId;
}

function listOfCustomer({ customer, after }: ProfileListOptions) {
  return withFoundation(async ({ database }) => {
    await getCustomer(database, customer);
    const last = after === undefined ? undefined : await getProfile(database, customer, after);
    const filter = { customerId: customer, order: "ASC", after: last, limit: LIST_LIMIT + 1 } as const;
    const found = (await listProfiles(database, filter)).map(profileRecord);
    return listing(
      found,
      ["id", "type", "status", "nickname"],
      ({ id, type, status, nickname }) => [id, type, status, nickname],
      ({ id }) => `Next page: profile list --customer ${customer} --after ${id}`,
    );
  });
}

async function getProfile(database: Queryable, customerId: CustomerId, id: ProfileId): Promise<Profile> {
  const profile = await findProfile(database, customerId, id);
  if (profile === undefined) throw new CommandRejected(`profile not found: ${id}`);
  return profile;
}

function profileRecord({ id, customerId, nickname, description, kind, status, createdAt, updatedAt }: Profile) {
  return {
    id,
    customer_id: customerId,
    nickname,
    description,
    type: kind,
    status,
    created_at: formatInstant(createdAt),
    updated_at: formatInstant(updatedAt),
  };
}
