import { type Queryable, sqlTime } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import type { CustomerId } from "../customer-id.ts";
import { type Filter, listOf, sql } from "../list-queries.ts";
import type { SecretDigest } from "./secrets.ts";

/** A secret as stored. Not valid from `expiresAt` on. */
export interface StoredSecret extends SecretDigest {
  readonly id: Uuid;
  readonly expiresAt: Instant | undefined;
  readonly lastUsedAt: Instant | undefined;
}

export interface StoredClient {
  readonly clientId: string;
  readonly customerId: CustomerId;
  /** As the operator wrote them; `*` stands for all. */
  readonly scopes: readonly string[];
  /** The networks that it may call from; undefined: any. */
  readonly networks: readonly Network[] | undefined;
  /** Of the client, or else of its customer. */
  readonly disabledAt: Instant | undefined;
  readonly secrets: readonly StoredSecret[];
}

/** Inserts a client and its first secret. @returns false if the client_id is taken */
export async function insertClient(
  database: Queryable,
  client: Pick<StoredClient, "clientId" | "customerId" | "scopes" | "networks">,
  secret: SecretDigest & { id: Uuid },
  now: Instant,
): Promise<boolean> {
  const made = await database.rows(
    `with made as (
       insert into client (client_id, customer_id, scopes, created_at, networks)
       values ($1, $2, $3, $4, $9::text[]::cidr[])
       on conflict (client_id) do nothing
       returning client_id
     )
     insert into client_secret (client_id, id, scheme, salt, digest, created_at)
     select client_id, $5, $6, $7, $8, $4 from made
     returning 1`,
    [
      client.clientId,
      client.customerId,
      client.scopes,
      formatInstant(now),
      secret.id,
      secret.scheme,
      secret.salt,
      secret.digest,
      sqlNetworks(client.networks),
    ],
  );
  return made.length === 1;
}

/** A client with its secrets, including expired ones, oldest first. */
export async function findClient(database: Queryable, clientId: string): Promise<StoredClient | undefined> {
  const rows = await database.rows<ClientRow>(
    `select client.client_id, client.customer_id, client.scopes, client.networks::text[],
            coalesce(client.disabled_at, customer.disabled_at) as disabled_at,
            secret.id, secret.scheme, secret.salt, secret.digest, secret.expires_at, secret.last_used_at
       from client
       join customer on customer.id = client.customer_id
       left join client_secret secret on secret.client_id = client.client_id
      where client.client_id = $1
      order by secret.id`,
    [clientId],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  return {
    clientId: first.client_id,
    customerId: first.customer_id,
    scopes: first.scopes,
    networks: first.networks?.map(networkOf),
    disabledAt: first.disabled_at ?? undefined,
    secrets: rows.filter(hasSecret).map((row) => ({
      id: row.id,
      scheme: row.scheme,
      salt: row.salt,
      digest: row.digest,
      expiresAt: row.expires_at ?? undefined,
      lastUsedAt: row.last_used_at ?? undefined,
    })),
  };
}

export async function hasClient(database: Queryable, customerId: CustomerId, clientId: string): Promise<boolean> {
  const rows = await database.rows(
    "select from client where client_id = $1 and customer_id = $2",
    [clientId, customerId],
    "once",
  );
  return rows.length === 1;
}

/** Locks a client, so that changes of it are serialised. */
export async function lockClient(
  transaction: Queryable,
  clientId: string,
  customerId: CustomerId | undefined,
): Promise<LockedClient | undefined> {
  const [found] = await transaction.rows<{ customer_id: CustomerId; disabled: boolean }>(
    `select customer_id, disabled_at is not null as disabled
       from client where client_id = $1 and ($2::uuid is null or customer_id = $2) for no key update`,
    [clientId, customerId ?? null],
  );
  return found && { customerId: found.customer_id, isDisabled: found.disabled };
}

export interface LockedClient {
  readonly customerId: CustomerId;
  readonly isDisabled: boolean;
}

/** Removes expired secrets, and makes valid ones expire at `until` at the latest. */
export async function endSecrets(
  transaction: Queryable,
  clientId: string,
  now: Instant,
  until: Instant,
): Promise<void> {
  await transaction.rows("delete from client_secret where client_id = $1 and expires_at <= $2", [
    clientId,
    formatInstant(now),
  ]);
  await transaction.rows(
    `update client_secret set expires_at = $2
      where client_id = $1 and (expires_at is null or expires_at > $2)`,
    [clientId, formatInstant(until)],
  );
}

export async function insertSecret(
  transaction: Queryable,
  clientId: string,
  secret: SecretDigest & { id: Uuid },
  now: Instant,
): Promise<void> {
  await transaction.rows(
    `insert into client_secret (client_id, id, scheme, salt, digest, created_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [clientId, secret.id, secret.scheme, secret.salt, secret.digest, formatInstant(now)],
  );
}

export async function setDisabled(transaction: Queryable, clientId: string, now: Instant): Promise<void> {
  await transaction.rows("update client set disabled_at = $2 where client_id = $1", [clientId, formatInstant(now)]);
}

export async function getListedClient(transaction: Queryable, clientId: string): Promise<ListedClient> {
  const [row] = await transaction.rows<ListedRow>(`select ${LISTED_COLUMNS} from client where client_id = $1`, [
    clientId,
  ]);
  return listedClient(must(row, "a locked client is there"));
}

/** A customer's client without its secrets. */
export interface ListedClient {
  readonly clientId: string;
  /** As the operator wrote them; `*` stands for all. */
  readonly scopes: readonly string[];
  /** The networks that it may call from; undefined: any. */
  readonly networks: readonly string[] | undefined;
  readonly createdAt: Instant;
  readonly disabledAt: Instant | undefined;
}

/** In order of creation. */
export interface ClientPosition {
  readonly createdAt: Instant;
  readonly clientId: string;
}

const BY_CREATION = {
  columns: ["created_at", "client_id"],
  valuesAt: ({ createdAt, clientId }: ClientPosition) => [sqlTime(createdAt), clientId],
};

const CONDITIONS = {
  ids: (ids: readonly string[]) => sql`client_id = any(${ids})`,
  clientIds: (clientIds: readonly string[]) => sql`client_id = any(${clientIds})`,
  isDisabled: (isDisabled: boolean) => sql`(disabled_at is not null) = ${isDisabled}`,
};

export type ClientFilter = Filter<typeof CONDITIONS, ClientPosition>;

export async function setNetworks(
  transaction: Queryable,
  clientId: string,
  networks: readonly Network[] | undefined,
): Promise<void> {
  await transaction.rows("update client set networks = $2::text[]::cidr[] where client_id = $1", [
    clientId,
    sqlNetworks(networks),
  ]);
}

/** A client that is limited to networks; to none if it is disabled. */
export interface RestrictedClient {
  readonly clientId: string;
  /** Parsed on demand, because every node reads the whole list every two seconds. */
  readonly networks: () => readonly Network[];
}

/** Clients disabled at this time or later, themselves or with their customer, and clients limited to networks. */
export async function listRestricted(database: Queryable, since: Instant): Promise<RestrictedClient[]> {
  const rows = await database.rows<{ client_id: string; networks: string }>(
    `select client_id, case when disabled_at is null then array_to_string(networks, ',') else '' end as networks
       from client
      where disabled_at >= $1 or networks is not null
     union all
     select client.client_id, '' from customer join client on client.customer_id = customer.id
      where customer.disabled_at >= $1
      -- Of two rows of a client, that without networks comes last, and holds.
      order by networks desc`,
    [formatInstant(since)],
  );
  return rows.map((row) => ({ clientId: row.client_id, networks: networksIn(row.networks) }));
}

/** Does nothing if a use after `unlessAfter` is already recorded, for example by another node. */
export async function setLastUsed(
  database: Queryable,
  { clientId, id }: { clientId: string; id: Uuid },
  now: Instant,
  unlessAfter: Instant,
): Promise<void> {
  await database.rows(
    `update client_secret set last_used_at = $3
      where client_id = $1 and id = $2 and (last_used_at is null or last_used_at <= $4)`,
    [clientId, id, formatInstant(now), formatInstant(unlessAfter)],
  );
}

export interface ListedRow {
  readonly client_id: string;
  readonly scopes: string[];
  readonly networks: string[] | null;
  readonly created_at: Instant;
  readonly disabled_at: Instant | null;
}

export const listedClient = (row: ListedRow): ListedClient => ({
  clientId: row.client_id,
  scopes: row.scopes,
  networks: row.networks ?? undefined,
  createdAt: row.created_at,
  disabledAt: row.disabled_at ?? undefined,
});

export const LISTED_COLUMNS =
  "client.client_id, client.scopes, client.networks::text[], client.created_at, client.disabled_at";

export const listClients = listOf({
  table: { name: "client", columns: LISTED_COLUMNS, read: listedClient },
  sortKey: BY_CREATION,
  conditions: CONDITIONS,
});

interface ClientRow extends Partial<SecretRow> {
  readonly client_id: string;
  readonly customer_id: CustomerId;
  readonly scopes: string[];
  readonly networks: string[] | null;
  readonly disabled_at: Instant | null;
}

interface SecretRow {
  readonly id: Uuid;
  readonly scheme: SecretDigest["scheme"];
  readonly salt: Buffer;
  readonly digest: Buffer;
  readonly expires_at: Instant | null;
  readonly last_used_at: Instant | null;
}

/** The left join gives nulls for a client without secrets. */
function hasSecret(row: ClientRow): row is ClientRow & SecretRow {
  return (row.id ?? null) !== null;
}

function sqlNetworks(networks: readonly Network[] | undefined): string[] | null {
  return networks?.map(({ text }) => text) ?? null;
}

function networkOf(text: string): Network {
  return must(parseNetwork(text), "PostgreSQL returns valid networks");
}

function networksIn(text: string): () => readonly Network[] {
  let networks: readonly Network[] | undefined;
  return () => {
    networks ??= text === "" ? [] : text.split(",").map(networkOf);
    return networks;
  };
}
