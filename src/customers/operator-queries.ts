/**
 * Queries across customers, for the operator's commands only. API queries are always limited to the caller's customer.
 */
import type { ProfileId } from "../ledger/accounts.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import type { CustomerId } from "./customer-id.ts";
import type { Customer } from "./store.ts";

/** In order of creation. */
export async function listCustomers(database: Queryable, limit: number): Promise<Customer[]> {
  const rows = await database.rows<{ id: CustomerId; name: string; created_at: Instant }>(
    "select id, name, created_at from customer order by created_at, id limit $1",
    [limit],
  );
  return rows.map((row) => ({ id: row.id, name: row.name, createdAt: row.created_at }));
}

/** The customer of an active or inactive profile. */
export async function findOwner(database: Queryable, profileId: ProfileId): Promise<CustomerId | undefined> {
  const [row] = await database.rows<{ customer_id: CustomerId }>("select customer_id from profile where id = $1", [
    profileId,
  ]);
  return row?.customer_id;
}

/** A client as listed for the operator, with the number of its secrets only. */
export interface ListedClient {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** The networks that it may call from; undefined: any. */
  readonly networks: readonly string[] | undefined;
  readonly createdAt: Instant;
  readonly disabledAt: Instant | undefined;
  /** The number of valid secrets. Two during a rotation. */
  readonly liveSecrets: number;
  readonly lastUsedAt: Instant | undefined;
}

/** In order of creation. */
export async function listClients(database: Queryable, customerId: CustomerId, limit: number): Promise<ListedClient[]> {
  const rows = await database.rows<{
    client_id: string;
    scopes: string[];
    networks: string[] | null;
    created_at: Instant;
    disabled_at: Instant | null;
    live_secrets: number;
    last_used_at: Instant | null;
  }>(
    `select client.client_id, client.scopes, client.networks::text[], client.created_at, client.disabled_at,
            count(secret.id) filter (where secret.expires_at is null or secret.expires_at > now())::integer as live_secrets,
            max(secret.last_used_at) as last_used_at
       from client left join client_secret secret on secret.client_id = client.client_id
      where client.customer_id = $1
      group by client.client_id
      order by client.created_at, client.client_id
      limit $2`,
    [customerId, limit],
  );
  return rows.map((row) => ({
    clientId: row.client_id,
    scopes: row.scopes,
    networks: row.networks ?? undefined,
    createdAt: row.created_at,
    disabledAt: row.disabled_at ?? undefined,
    liveSecrets: row.live_secrets,
    lastUsedAt: row.last_used_at ?? undefined,
  }));
}
