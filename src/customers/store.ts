import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import type { CustomerId } from "./customer-id.ts";
import { findSuspectOpenings, type NamedBalance, type NamedProfile, type SuspectOpening } from "./opening-balances.ts";

export interface Customer {
  readonly id: CustomerId;
  readonly name: string;
  readonly createdAt: Instant;
  /** Undefined: it is enabled. */
  readonly disabledAt: Instant | undefined;
}

export interface CustomerRow {
  readonly id: CustomerId;
  readonly name: string;
  readonly created_at: Instant;
  readonly disabled_at: Instant | null;
}

/** What a SELECT lists for `customerOf`. */
export const CUSTOMER_COLUMNS = "id, name, created_at, disabled_at";

export const customerOf = ({ id, name, created_at, disabled_at }: CustomerRow): Customer => ({
  ...{ id, name },
  createdAt: created_at,
  disabledAt: disabled_at ?? undefined,
});

/** What a statement fails with when another customer has the name. */
export const NAME_CONSTRAINT = "customer_names_differ";

/** An existing customer keeps its name. @returns whether it was inserted */
export async function insertCustomer(
  transaction: Queryable,
  { id, name, createdAt }: Pick<Customer, "id" | "name" | "createdAt">,
): Promise<boolean> {
  const inserted = await transaction.rows(
    "insert into customer (id, name, created_at) values ($1, $2, $3) on conflict (id) do nothing returning 1",
    [id, name, new Date(createdAt)],
  );
  return inserted.length === 1;
}

export async function findCustomer(database: Queryable, id: CustomerId): Promise<Customer | undefined> {
  const [row] = await database.rows<CustomerRow>(`select ${CUSTOMER_COLUMNS} from customer where id = $1`, [id]);
  return row && customerOf(row);
}

/** Locks a customer, so that changes of it are made one after the other. */
export async function lockCustomer(transaction: Queryable, id: CustomerId): Promise<Customer | undefined> {
  const [row] = await transaction.rows<CustomerRow>(
    `select ${CUSTOMER_COLUMNS} from customer where id = $1 for no key update`,
    [id],
  );
  return row && customerOf(row);
}

export async function updateCustomer(
  transaction: Queryable,
  { id, name, disabledAt }: Pick<Customer, "id" | "name" | "disabledAt">,
): Promise<void> {
  const disabled = disabledAt === undefined ? null : new Date(disabledAt);
  await transaction.rows("update customer set name = $2, disabled_at = $3 where id = $1", [id, name, disabled]);
}

/** What a bootstrap file names. */
export interface Named {
  readonly clients: readonly string[];
  readonly profiles: readonly string[];
  /**
   * With names in the form NFC. One that exists keeps its own name. `isByName`: its id follows from the name, and not the
   * other way round.
   */
  readonly customers: readonly { readonly id: CustomerId; readonly name: string; readonly isByName: boolean }[];
  readonly nicknames: readonly NamedProfile[];
  /** Of which none is to be made anew, under another name; empty when any may be. */
  readonly balances: readonly NamedBalance[];
}

/** Whose these are, of those that exist. */
export interface Owners {
  /** By client_id. */
  readonly clients: ReadonlyMap<string, CustomerId>;
  readonly profiles: ReadonlyMap<string, CustomerId>;
  readonly customers: ReadonlySet<CustomerId>;
  /** By the names of customers: who has them, where it is another one. */
  readonly names: ReadonlyMap<string, CustomerId>;
  /** By the ids that profiles are to have: the other ones of the profiles that have their nicknames. */
  readonly nicknames: ReadonlyMap<string, string>;
  /** The same of the profiles with nicknames that look the same: of new profiles only. */
  readonly lookalikes: ReadonlyMap<string, string>;
  /**
   * By the ids that follow from the names of new customers and profiles: those whose names are the same but for case, width or
   * ligatures, and that the file does not name itself.
   */
  readonly variants: ReadonlyMap<string, string>;
  readonly openings: readonly SuspectOpening[];
}

/** SQL: equal for names that a person may take for the same. */
const likenessOf = (name: string): string => `lower(normalize(${name}, nfkc))`;

/** SQL: whether the file names this profile of the customer, by its id or its nickname. */
const isNamed = (customer: string, profile: string): string =>
  `exists (select from wanted as other
                  left join claim c on (c.customer_id, c.kind, c.ref_id) = (other.customer_id, 'nickname', other.nickname)
            where other.customer_id = ${customer} and ${profile} in (other.id, c.id))`;

/** An earlier version stored the names of bootstrap files as they were written: they are compared in the form NFC. */
export async function findOwners(database: Queryable, named: Named): Promise<Owners> {
  const { clients, profiles, customers, nicknames, balances } = named;
  const rows = await database.rows<{ kind: string; id: string; owner: string }>(
    `with named as (select * from unnest($3::uuid[], $4::text[], $5::boolean[]) as n(id, name, is_by_name)),
     new_by_name as (select * from named where is_by_name and not exists (select from customer where id = named.id)),
     wanted as (
       select * from unnest($6::uuid[], $7::text[], $8::uuid[], $9::boolean[]) as w(customer_id, nickname, id, is_by_id)),
     without_profile as (
       select * from wanted where not exists (select from profile where (customer_id, id) = (wanted.customer_id, wanted.id))),
     new_nickname as (
       select * from without_profile as w
        where not exists (select from claim where (customer_id, kind, ref_id) = (w.customer_id, 'nickname', w.nickname)))
     select 'client' as kind, client_id as id, customer_id as owner from client where client_id = any($1)
     union all
     select 'profile', id::text, customer_id from profile where id = any($2::uuid[])
     union all
     select 'customer', id::text, id from customer where id = any($3::uuid[])
     union all
     select 'name', named.name, taken.id
       from named
            left join customer existing on existing.id = named.id
            join customer taken on normalize(taken.name, nfc) = named.name
      where taken.id <> named.id
        and (existing.id is null or named.is_by_name and normalize(existing.name, nfc) <> named.name)
     union all
     select 'nickname', w.id::text, taken.id
       from without_profile as w
            join claim taken on (taken.customer_id, taken.kind, taken.ref_id) = (w.customer_id, 'nickname', w.nickname)
      where taken.id <> w.id and w.is_by_id
     union all
     select 'lookalike', w.id::text, taken.id
       from new_nickname as w
            join claim taken on (taken.customer_id, taken.kind) = (w.customer_id, 'nickname')
                            and normalize(taken.ref_id, nfc) = normalize(w.nickname, nfc)
     union all
     select 'variant', w.id::text, taken.id
       from new_nickname as w
            join claim taken on (taken.customer_id, taken.kind) = (w.customer_id, 'nickname')
                            and ${likenessOf("taken.ref_id")} = ${likenessOf("w.nickname")}
      where not w.is_by_id and not ${isNamed("w.customer_id", "taken.id")}
     union all
     select 'variant', n.id::text, taken.id
       from new_by_name as n join customer taken on ${likenessOf("taken.name")} = ${likenessOf("n.name")}
      where taken.id <> all($3::uuid[])`,
    [
      ...[clients, profiles, customers.map(({ id }) => id), customers.map(({ name }) => name)],
      customers.map(({ isByName }) => isByName),
      ...[nicknames.map(({ customer }) => customer), nicknames.map(({ nickname }) => nickname)],
      ...[nicknames.map(({ id }) => id), nicknames.map(({ isById }) => isById)],
    ],
  );
  const ownersOf = <Owner extends string>(kind: string) =>
    new Map(rows.filter((row) => row.kind === kind).map(({ id, owner }) => [id, owner as Owner]));
  return {
    clients: ownersOf("client"),
    profiles: ownersOf("profile"),
    customers: new Set(ownersOf<CustomerId>("customer").values()),
    names: ownersOf("name"),
    nicknames: ownersOf("nickname"),
    lookalikes: ownersOf("lookalike"),
    variants: ownersOf("variant"),
    openings: await findSuspectOpenings(database, balances),
  };
}
