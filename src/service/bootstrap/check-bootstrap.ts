/**
 * Checks a bootstrap file against scopes, the catalogue and the database, before anything of it is applied. An id that
 * belongs to another customer is rejected, and so is what a customer has twice: of it only the first would take effect.
 */
import type { Catalogue } from "../../catalogue/catalogue.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { composedName, parseCustomerName } from "../../customers/customer-name.ts";
import type { Customers, Owners } from "../../customers/customers.ts";
import type { NamedBalance, NamedProfile, SuspectOpening } from "../../customers/opening-balances.ts";
import type { ProfileId } from "../../ledger/accounts.ts";
import { isHouseOwner } from "../../ledger/house-accounts.ts";
import { parseAmount, writtenDecimals } from "../../money/amount.ts";
import { isScope } from "../../oauth/scopes.ts";
import type { Uuid } from "../../std/id.ts";
import type { Config } from "../config/config.ts";
import { BootstrapError, type BootstrapFile, idOf } from "./bootstrap-file.ts";

type CustomerEntry = BootstrapFile["customers"][number];
type ClientEntry = NonNullable<CustomerEntry["clients"]>[number];
type ProfileEntry = NonNullable<CustomerEntry["profiles"]>[number];

export const customerIdOf = (customer: CustomerEntry): CustomerId =>
  (customer.id ?? idOf("customer", customer.name)) as CustomerId;

export const profileIdOf = (customerId: CustomerId, { id, nickname }: ProfileEntry): ProfileId =>
  (id ?? idOf("profile", customerId, nickname)) as ProfileId;

/** Throws a `BootstrapError` with a line for each entry that cannot be applied. */
export async function checkBootstrap(
  {
    customers,
    catalogue,
    mode,
  }: {
    readonly customers: Pick<Customers, "ownersOf">;
    readonly catalogue: Pick<Catalogue, "findAsset">;
    readonly mode: Config["mode"];
  },
  file: BootstrapFile,
): Promise<void> {
  const clients = file.customers.flatMap((customer) => customer.clients ?? []);
  const profiles = file.customers.flatMap((customer) =>
    (customer.profiles ?? []).map((profile) => [customer, profile] as const),
  );
  const nicknames = profiles.map(([customer, profile]) => namedOf(customer, profile));
  const balances = profiles.flatMap(([customer, profile]) => balancesOf(customer, profile));
  const stored = await customers.ownersOf({
    clients: clients.map((client) => client.client_id),
    profiles: nicknames.map(({ id }) => id),
    customers: file.customers.map((customer) => {
      return { id: customerIdOf(customer), name: composedName(customer.name), isByName: customer.id === undefined };
    }),
    nicknames,
    // A sandbox is given one file after another.
    balances: mode === "production" ? balances : [],
  });
  // The first entry of the file that names a free id owns it from then on.
  const owners = { clients: new Map(stored.clients), profiles: new Map(stored.profiles), names: new Map(stored.names) };
  const names = new Map<CustomerId, string>();
  const named = new Set<string>();
  const lines = file.customers.flatMap((customer) => {
    const customerId = customerIdOf(customer);
    const isRepeated = (kind: string, name: string | undefined): boolean => {
      if (name === undefined) return false;
      const key = JSON.stringify([customerId, kind, name]);
      const wasThere = named.has(key);
      named.add(key);
      return wasThere;
    };
    const isOthers = (of: Map<string, CustomerId>, id: string): boolean => {
      const owner = of.get(id) ?? customerId;
      of.set(id, owner);
      return owner !== customerId;
    };
    // Names of customers are unique, however they are written.
    const name = composedName(customer.name);
    const otherName = names.get(customerId) ?? name;
    names.set(customerId, otherName);
    const isTaken = isOthers(owners.names, name);
    const where = stored.names.has(name) ? "in the database" : "of the file";
    return [
      ...nameFaults(customer, stored),
      ...(otherName === name
        ? []
        : [`  customer ${JSON.stringify(name)}: its id ${customerId} is that of ${JSON.stringify(otherName)} too`]),
      ...(isTaken
        ? [`  customer ${JSON.stringify(name)}: another customer ${where} has this name`]
        : renameFaults(`customer ${JSON.stringify(name)}`, customerId, stored)),
      ...(customer.clients ?? []).flatMap((entry) =>
        clientFaults(entry, isRepeated("client", entry.client_id), isOthers(owners.clients, entry.client_id)),
      ),
      ...(customer.profiles ?? []).flatMap((entry) => {
        const id = profileIdOf(customerId, entry);
        return [
          ...repeatedIn(entry, stored.profiles.has(id), isRepeated),
          ...nicknameFaults(id, entry, stored),
          ...profileFaults(catalogue, entry, entry.id !== undefined && isOthers(owners.profiles, entry.id)),
        ];
      }),
    ];
  });
  lines.push(...stored.openings.map((opening) => openingFault(opening, stored)));
  if (lines.length > 0) throw new BootstrapError("the bootstrap file cannot be applied:", ...lines);
}

/** An existing customer keeps its name: an earlier version took any. */
function nameFaults(customer: CustomerEntry, { customers }: Owners): string[] {
  const name = parseCustomerName(customer.name);
  if (name.kind === "done" || customers.has(customerIdOf(customer))) return [];
  return [`  customer ${JSON.stringify(customer.name)}: its name ${name.rejection}`];
}

/** Of new profiles, nicknames that look the same are the same: each would get the opening balance. */
function repeatedIn(
  { id, nickname }: ProfileEntry,
  isThere: boolean,
  isRepeated: (kind: string, name: string | undefined) => boolean,
): string[] {
  const profile = `  profile ${JSON.stringify(nickname)}: the`;
  return [
    ...(isRepeated("nickname", isThere ? nickname : composedName(nickname))
      ? [`${profile} nickname is there more than once`]
      : []),
    ...(isRepeated("id", id) ? [`${profile} id ${id} is there more than once`] : []),
  ];
}

/** An existing profile is found by its id, whatever it is called by now. */
function nicknameFaults(profileId: string, entry: ProfileEntry, stored: Owners): string[] {
  const { profiles, nicknames, lookalikes } = stored;
  const { id, nickname } = entry;
  if (profiles.has(profileId)) return [];
  const profile = `  profile ${JSON.stringify(nickname)}:`;
  const other = nicknames.get(profileId);
  if (other !== undefined) return [`${profile} the customer's profile of this nickname has the id ${other}`];
  const lookalike = lookalikes.get(profileId);
  if (lookalike !== undefined)
    return [
      `${profile} the customer's profile ${lookalike} has a nickname that looks the same: give the entry that id`,
    ];
  return id !== undefined && nickname === "default"
    ? [`${profile} so is the DEFAULT profile called, which has an id of its own`]
    : renameFaults(`profile ${JSON.stringify(nickname)}`, profileId, stored);
}

/** Who changes a name in the file may mean the one that is there, and opening balances are made once. */
function renameFaults(what: string, id: string, { variants }: Owners): string[] {
  const variant = variants.get(id);
  return variant === undefined
    ? []
    : [`  ${what}: ${variant} is called almost so: give the entry that id, or one of its own if it is another`];
}

function namedOf(customer: CustomerEntry, profile: ProfileEntry): NamedProfile {
  const id = customerIdOf(customer);
  return {
    ...{ customer: id, nickname: profile.nickname },
    ...{ id: profileIdOf(id, profile), isById: profile.id !== undefined },
  };
}

const balancesOf = (customer: CustomerEntry, profile: ProfileEntry): NamedBalance[] =>
  Object.entries(profile.balances ?? {}).map(([asset, text]) => ({
    ...namedOf(customer, profile),
    ...{ isCustomerById: customer.id !== undefined, asset, isCredited: Number(text) !== 0 },
  }));

/** An opening balance that would be made anew, by whatever edit, while one that was made is gone from the file. */
function openingFault({ entry, made, absent }: SuspectOpening, { customers, profiles }: Owners): string {
  const { nickname, asset, customer } = entry;
  const fault = `  profile ${JSON.stringify(nickname)}: ${asset} would be deposited, and the opening balance of ${absent.asset} of profile ${absent.profile}, which was, is no longer in the file`;
  const restored = 'put that back, if only as "0"';
  if (made === "balance") return `${fault}: ${restored}, or use parbook deposit`;
  const other = `${restored}, or give this entry an id of its own`;
  if (made === "profile" && absent.customer === customer && !profiles.has(absent.profile))
    return `${fault}: if this is that profile, give it that id; if not, ${other}`;
  return made === "customer" && !customers.has(absent.customer)
    ? `${fault}: if its customer is ${absent.customer}, give it that id; if not, ${other}`
    : `${fault}: ${other}`;
}

function clientFaults({ client_id: id, scopes }: ClientEntry, isRepeated: boolean, isOthers: boolean): string[] {
  const client = `client ${JSON.stringify(id)}`;
  const unknown = scopes.filter((scope) => scope !== "*" && !isScope(scope));
  return [
    ...(isRepeated ? [`  ${client}: it is there more than once`] : []),
    ...(isOthers ? [`  ${client}: the client_id belongs to another customer`] : []),
    ...unknown.map((scope) => `  ${client}: ${JSON.stringify(scope)} is not a scope`),
  ];
}

function profileFaults(
  catalogue: Pick<Catalogue, "findAsset">,
  { id, nickname, balances = {} }: ProfileEntry,
  isOthers: boolean,
): string[] {
  const profile = `profile ${JSON.stringify(nickname)}`;
  const faults = Object.entries(balances).flatMap(([code, text]) => {
    const why = balanceFault(catalogue, code, text);
    return why === undefined ? [] : [`  ${profile}: the opening balance ${text} ${code}: ${why}`];
  });
  return [
    ...(isOthers ? [`  ${profile}: the id ${id} belongs to another customer`] : []),
    ...(id !== undefined && isHouseOwner(id as Uuid)
      ? [`  ${profile}: ids from ffffffff on are kept for house accounts`]
      : []),
    ...faults,
  ];
}

function balanceFault(catalogue: Pick<Catalogue, "findAsset">, code: string, text: string): string | undefined {
  const asset = catalogue.findAsset(code);
  if (asset === undefined) return "unknown asset";
  const amount = parseAmount(text);
  if (amount.kind === "rejected" && amount.rejection === "zero") return undefined;
  if (amount.kind === "rejected" && amount.rejection !== "too_precise") return amount.rejection.replaceAll("_", " ");
  // Zeros too: 12.500 may be meant as thousands.
  return writtenDecimals(text) > asset.precision ? `${asset.code} has ${asset.precision} decimals` : undefined;
}
