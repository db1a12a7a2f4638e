/**
 * Queries across customers, for the operator's commands only. API queries are always limited to the caller's customer.
 */
import type { ProfileId } from "../ledger/accounts.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import { LISTED_COLUMNS, type ListedClient, type ListedRow, listedClient } from "./clients/store.ts";
import type { CustomerId } from "./customer-id.ts";
import { CUSTOMER_COLUMNS, type Customer, type CustomerRow, customerOf } from "./store.ts";

/** In order of creation. */
export async function listCustomers(database: Queryable, limit: number): Promise<Customer[]> {
  const rows = await database.rows<CustomerRow>(
    `select ${CUSTOMER_COLUMNS} from customer order by created_at, id limit $1`,
    [limit],
  );
  return rows.map(customerOf);
}

export async function findCustomerByName(database: Queryable, name: string): Promise<Customer | undefined> {
  const [row] = await database.rows<CustomerRow>(`select ${CUSTOMER_COLUMNS} from customer where name = $1`, [name]);
  return row && customerOf(row);
}

/** The names of these customers, by id. */
export async function readNames(database: Queryable, ids: readonly CustomerId[]): Promise<Map<CustomerId, string>> {
  const rows = await database.rows<Pick<CustomerRow, "id" | "name">>(
    "select id, name from customer where id = any($1::uuid[])",
    [ids],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

/** The nicknames of these profiles, by id. */
export async function readNicknames(database: Queryable, ids: readonly ProfileId[]): Promise<Map<ProfileId, string>> {
  const rows = await database.rows<{ id: ProfileId; nickname: string }>(
    "select id, nickname from profile where id = any($1::uuid[])",
    [ids],
  );
  return new Map(rows.map(({ id, nickname }) => [id, nickname]));
}

/** The customer of an active or inactive profile. */
export async function findOwner(database: Queryable, profileId: ProfileId): Promise<CustomerId | undefined> {
  const [row] = await database.rows<{ customer_id: CustomerId }>("select customer_id from profile where id = $1", [
    profileId,
  ]);
  return row?.customer_id;
}

/** A client as listed for the operator, with the number of its secrets only. */
export interface ClientUse extends ListedClient {
  /** The number of valid secrets. Two during a rotation. */
  readonly liveSecrets: number;
  readonly lastUsedAt: Instant | undefined;
}

/** In order of creation. */
export async function listClients(database: Queryable, customerId: CustomerId, limit: number): Promise<ClientUse[]> {
  const rows = await database.rows<ListedRow & { live_secrets: number; last_used_at: Instant | null }>(
    `select ${LISTED_COLUMNS},
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
    ...listedClient(row),
    liveSecrets: row.live_secrets,
    lastUsedAt: row.last_used_at ?? undefined,
  }));
}
