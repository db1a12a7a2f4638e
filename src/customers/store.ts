import type { Queryable } from "../postgres/database.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import type { CustomerId } from "./customer-id.ts";

export interface Customer {
  readonly id: CustomerId;
  readonly name: string;
  readonly createdAt: Instant;
}

/** Returns the stored customer: an existing one keeps its name. */
export async function insertCustomer(database: Queryable, { id, name, createdAt }: Customer): Promise<Customer> {
  await database.rows("insert into customer (id, name, created_at) values ($1, $2, $3) on conflict do nothing", [
    id,
    name,
    new Date(createdAt),
  ]);
  return must(await findCustomer(database, id), "a customer that was inserted is there");
}

export async function findCustomer(database: Queryable, id: CustomerId): Promise<Customer | undefined> {
  const [row] = await database.rows<{ id: CustomerId; name: string; created_at: Instant }>(
    "select id, name, created_at from customer where id = $1",
    [id],
  );
  return row && { id: row.id, name: row.name, createdAt: row.created_at };
}

/** Whose API clients and profiles these are, by client_id and by profile id, of those that exist. */
export interface Owners {
  readonly clients: ReadonlyMap<string, CustomerId>;
  readonly profiles: ReadonlyMap<string, CustomerId>;
}

export async function findOwners(
  database: Queryable,
  clientIds: readonly string[],
  profileIds: readonly string[],
): Promise<Owners> {
  const rows = await database.rows<{ kind: string; id: string; customer_id: CustomerId }>(
    `select 'client' as kind, client_id as id, customer_id from client where client_id = any($1)
     union all
     select 'profile', id::text, customer_id from profile where id = any($2::uuid[])`,
    [clientIds, profileIds],
  );
  const ownersOf = (kind: string) =>
    new Map(rows.filter((row) => row.kind === kind).map((row) => [row.id, row.customer_id]));
  return { clients: ownersOf("client"), profiles: ownersOf("profile") };
}
