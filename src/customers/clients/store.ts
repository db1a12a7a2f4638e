import type { Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { type Network, parseNetwork } from "../../std/network.ts";
import { type Check, PASSED, reject } from "../../std/result.ts";
import type { CustomerId } from "../customer-id.ts";
import { joined, sql, statementOf, textOf } from "../list-queries.ts";
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
    `select client.client_id, client.customer_id, client.scopes, client.networks::text[], client.disabled_at,
            secret.id, secret.scheme, secret.salt, secret.digest, secret.expires_at, secret.last_used_at
       from client
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

/** Locks a client that is not disabled, so that rotations and disabling it are serialised. */
export async function lockClient(
  transaction: Queryable,
  clientId: string,
): Promise<Check<"client_not_found" | "client_disabled">> {
  const [found] = await transaction.rows<{ disabled: boolean }>(
    "select disabled_at is not null as disabled from client where client_id = $1 for update",
    [clientId],
  );
  if (found === undefined) return reject("client_not_found");
  return found.disabled ? reject("client_disabled") : PASSED;
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

/** An already disabled client keeps its time. @returns false if there is no such client */
export async function setDisabled(database: Queryable, clientId: string, now: Instant): Promise<boolean> {
  const found = await database.rows(
    "update client set disabled_at = coalesce(disabled_at, $2) where client_id = $1 returning 1",
    [clientId, formatInstant(now)],
  );
  return found.length === 1;
}

/** Disables a client of this customer; an already disabled one keeps its time. */
export async function setDisabledOf(
  database: Queryable,
  customerId: CustomerId,
  clientId: string,
  now: Instant,
): Promise<ListedClient | undefined> {
  const [row] = await database.rows<ListedRow>(
    `update client set disabled_at = coalesce(disabled_at, $3) where client_id = $1 and customer_id = $2
     returning client_id, scopes, networks::text[], created_at, disabled_at`,
    [clientId, customerId, formatInstant(now)],
  );
  return row && listedClient(row);
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

/** Undefined does not filter. */
export interface ClientFilter {
  readonly customerId: CustomerId;
  /** Each client has to be in all of these lists. */
  readonly clientIds: readonly (readonly string[] | undefined)[];
  readonly isDisabled: boolean | undefined;
  readonly order: "ASC" | "DESC";
  readonly after: ClientPosition | undefined;
  readonly limit: number;
}

/** In order of creation. */
export interface ClientPosition {
  readonly createdAt: Instant;
  readonly clientId: string;
}

export async function listClients(database: Queryable, filter: ClientFilter): Promise<ListedClient[]> {
  const { customerId, clientIds, isDisabled, order, after, limit } = filter;
  const where = [sql`customer_id = ${customerId}`];
  for (const ids of clientIds) if (ids !== undefined) where.push(sql`client_id = any(${ids})`);
  if (isDisabled !== undefined) where.push(sql`(disabled_at is not null) = ${isDisabled}`);
  const isForth = order === "ASC";
  if (after !== undefined) {
    const position = sql`(${formatInstant(after.createdAt)}::timestamptz, ${after.clientId})`;
    where.push(sql`(created_at, client_id) ${textOf(isForth ? ">" : "<")} ${position}`);
  }
  const sorted = textOf(isForth ? "created_at, client_id" : "created_at desc, client_id desc");
  const { text, values } = statementOf(
    sql`select client_id, scopes, networks::text[], created_at, disabled_at from client
         where ${joined(where, " and ")} order by ${sorted} limit ${limit}`,
  );
  const rows = await database.rows<ListedRow>(text, values);
  return rows.map(listedClient);
}

/** @returns false if there is no such client */
export async function setNetworks(
  database: Queryable,
  clientId: string,
  networks: readonly Network[] | undefined,
): Promise<boolean> {
  const found = await database.rows(
    "update client set networks = $2::text[]::cidr[] where client_id = $1 returning 1",
    [clientId, sqlNetworks(networks)],
  );
  return found.length === 1;
}

/** A client that is limited to networks; to none if it is disabled. */
export interface RestrictedClient {
  readonly clientId: string;
  /** Parsed on demand, because every node reads the whole list every two seconds. */
  readonly networks: () => readonly Network[];
}

/** Clients disabled at this time or later, and clients limited to networks. */
export async function listRestricted(database: Queryable, since: Instant): Promise<RestrictedClient[]> {
  const rows = await database.rows<{ client_id: string; networks: string }>(
    `select client_id, case when disabled_at is null then array_to_string(networks, ',') else '' end as networks
       from client
      where disabled_at >= $1 or networks is not null`,
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

interface ListedRow {
  readonly client_id: string;
  readonly scopes: string[];
  readonly networks: string[] | null;
  readonly created_at: Instant;
  readonly disabled_at: Instant | null;
}

const listedClient = (row: ListedRow): ListedClient => ({
  clientId: row.client_id,
  scopes: row.scopes,
  networks: row.networks ?? undefined,
  createdAt: row.created_at,
  disabledAt: row.disabled_at ?? undefined,
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
