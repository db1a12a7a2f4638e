/** `parbook customer` and `parbook profile`. */
import type { Command } from "commander";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Customer, type Customers, findCustomer } from "../../customers/customers.ts";
import { findCustomerByName, findOwner, listCustomers } from "../../customers/operator-queries.ts";
import { findProfile, hasDefaultProfile, listProfiles, type Profile } from "../../customers/profiles/profiles.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import type { OperatorCaller } from "../../ledger/caller.ts";
import type { Queryable } from "../../postgres/database.ts";
import { formatInstant } from "../../std/clock.ts";
import { parseUuid } from "../../std/id.ts";
import type { Result } from "../../std/result.ts";
import { type CustomerReference, readCustomer, readCustomerName, readText, readUuid } from "../arguments.ts";
import {
  addCommand,
  addGroup,
  CommandRejected,
  type CommandResult,
  setAction,
  setWritingAction,
  withCore,
  withFoundation,
} from "../command.ts";
import { LIST_LIMIT, listing } from "../listing.ts";
import { hintFor } from "../not-found.ts";
import { shellWord } from "../shell-word.ts";

const CUSTOMER = "0190d5a4-0000-7000-8000-000000000002";
const CUSTOMER_ARGUMENT = ["<customer>", "the customer's id or name", readCustomer] as const;
export const CUSTOMER_OPTION = ["--customer <customer>", "the customer's id or name", readCustomer] as const;

export function addCustomerCommands(program: Command): void {
  const customer = addGroup(program, "customer", "the organisations that own profiles and API clients");
  const create = addCommand(customer, "create", {
    summary: "create a customer with its DEFAULT profile",
    examples: ["customer create --name Acme"],
  }).requiredOption("--name <name>", "its name, 1 to 100 characters", readCustomerName);
  setWritingAction(create, createCustomer);

  const rename = addCommand(customer, "rename", {
    summary: "give a customer another name",
    examples: ["customer rename Acme --name 'Acme Ltd'"],
  })
    .argument(...CUSTOMER_ARGUMENT)
    .requiredOption("--name <name>", "its name, 1 to 100 characters", readCustomerName);
  setWritingAction(rename, (operator, customer: CustomerReference, { name }: { name: string }) =>
    changeCustomer(customer, (customers, id) => customers.rename(id, name, operator)),
  );

  const disable = addCommand(customer, "disable", {
    summary: "reject all API clients of a customer, within 5 s; its money and its orders stay",
    examples: ["customer disable Acme", `customer disable ${CUSTOMER}`],
  }).argument(...CUSTOMER_ARGUMENT);
  setWritingAction(disable, (operator, customer: CustomerReference) =>
    changeCustomer(customer, (customers, id) => customers.disable(id, operator)),
  );

  const enable = addCommand(customer, "enable", {
    summary: "accept the API clients of a disabled customer again",
    examples: ["customer enable Acme"],
  }).argument(...CUSTOMER_ARGUMENT);
  setWritingAction(enable, (operator, customer: CustomerReference) =>
    changeCustomer(customer, (customers, id) => customers.enable(id, operator)),
  );

  const list = addCommand(customer, "list", { summary: "list the customers", examples: ["customer list --json"] });
  setAction(list, listAll);

  addProfileCommands(program);
}

function addProfileCommands(program: Command): void {
  const profile = addGroup(program, "profile", "the profiles of a customer, which hold balances");
  const create = addCommand(profile, "create", {
    summary: "create a profile of a customer",
    examples: ["profile create --customer Acme --nickname treasury"],
  })
    .requiredOption(...CUSTOMER_OPTION)
    .requiredOption("--nickname <text>", "its name, which none of the customer's profiles has or had", readText)
    .option("--description <text>", "what it is for", readText);
  setWritingAction(create, createProfile);

  const profiles = addCommand(profile, "list", {
    summary: "list the profiles of a customer, including inactive ones",
    examples: [
      "profile list --customer Acme",
      `profile list --customer ${CUSTOMER} --after 0190d5a4-0000-7000-8000-000000000004`,
    ],
  })
    .requiredOption(...CUSTOMER_OPTION)
    .option("--after <id>", "continue the list after this profile", readUuid);
  setAction(profiles, listOfCustomer);
}

/** @throws CommandRejected when there is no such customer: an empty list would hide a mistyped one. */
export async function getCustomer(database: Queryable, reference: CustomerReference): Promise<Customer> {
  const id = parseUuid(reference) as CustomerId | undefined;
  const found = (id && (await findCustomer(database, id))) ?? (await findCustomerByName(database, reference));
  if (found !== undefined) return found;
  const names = (await listCustomers(database, LIST_LIMIT)).map(({ name }) => name);
  throw new CommandRejected(`customer not found: ${reference}${hintFor(reference, names)}`);
}

/** @throws CommandRejected also when its creation was interrupted: it could not use its clients and profiles. */
export async function getCreatedCustomer(database: Queryable, reference: CustomerReference): Promise<Customer> {
  const customer = await getCustomer(database, reference);
  if (await hasDefaultProfile(database, customer.id)) return customer;
  const command = `customer create --name ${shellWord(customer.name)}`;
  throw new CommandRejected(`the creation of this customer was interrupted: complete it with ${command}`);
}

export async function getOwner(database: Queryable, profileId: ProfileId): Promise<CustomerId> {
  const customerId = await findOwner(database, profileId);
  if (customerId === undefined) throw new CommandRejected(`profile not found: ${profileId}`);
  return customerId;
}

function createCustomer(operator: OperatorCaller, { name }: { name: string }) {
  return withCore(async ({ customers, profiles }) => {
    const made = await customers.create(name, operator);
    if (made.kind === "rejected") throw new CommandRejected(NAME_TAKEN);
    const customer = made.value;
    const { id } = await profiles.getDefault(customer.id);
    return {
      json: { ...customerRecord(customer), default_profile_id: id },
      prose: [`customer        ${customer.id}`, `default profile ${id}`],
    };
  });
}

const NAME_TAKEN = "another customer has this name: customer list shows which";

type Change = (
  customers: Customers,
  id: CustomerId,
) => Promise<Result<Customer, "customer_name_taken" | "customer_not_found">>;

function changeCustomer(reference: CustomerReference, change: Change): Promise<CommandResult> {
  return withCore(async ({ database, customers }) => {
    const { id } = await getCustomer(database, reference);
    const changed = await change(customers, id);
    if (changed.kind === "rejected")
      throw new CommandRejected(changed.rejection === "customer_name_taken" ? NAME_TAKEN : `customer not found: ${id}`);
    const { name, disabledAt } = changed.value;
    const state = disabledAt === undefined ? "enabled" : "disabled";
    return { json: customerRecord(changed.value), prose: [`customer ${id} (${name}) is ${state}`] };
  });
}

interface NewProfileOptions {
  readonly customer: CustomerReference;
  readonly nickname: string;
  readonly description?: string;
}

function createProfile(
  operator: OperatorCaller,
  { customer, nickname, description }: NewProfileOptions,
): Promise<CommandResult> {
  return withCore(async ({ database, profiles }) => {
    const { id: customerId, name } = await getCreatedCustomer(database, customer);
    const made = await profiles.create({ customerId, nickname, description }, operator);
    if (made.kind !== "done")
      throw new CommandRejected(`a profile of this customer has or had the nickname ${JSON.stringify(nickname)}`);
    return { json: profileRecord(made.value), prose: [`profile ${made.value.id} (${nickname}) of ${name}`] };
  });
}

function listAll() {
  return withFoundation(async ({ database }) => {
    const found = (await listCustomers(database, LIST_LIMIT + 1)).map(customerRecord);
    return listing(found, ["id", "state", "created at", "name"], ({ id, name, created_at, disabled_at }) => [
      id,
      disabled_at === undefined ? "enabled" : "disabled",
      created_at,
      name,
    ]);
  });
}

function customerRecord({ id, name, createdAt, disabledAt }: Customer) {
  const disabled_at = disabledAt && formatInstant(disabledAt);
  return { id, name, created_at: formatInstant(createdAt), disabled_at };
}

interface ProfileListOptions {
  readonly customer: CustomerReference;
  readonly after?: ProfileId;
}

function listOfCustomer({ customer, after }: ProfileListOptions) {
  return withFoundation(async ({ database }) => {
    const { id: customerId } = await getCustomer(database, customer);
    const last = after === undefined ? undefined : await getProfile(database, customerId, after);
    const filter = { customerId, order: "ASC", after: last, limit: LIST_LIMIT + 1 } as const;
    const found = (await listProfiles(database, filter)).map(profileRecord);
    return listing(
      found,
      ["id", "type", "status", "nickname"],
      ({ id, type, status, nickname }) => [id, type, status, nickname],
      ({ id }) => `Next page: profile list --customer ${customerId} --after ${id}`,
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
