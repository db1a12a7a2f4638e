import type { Queryable } from "../postgres/database.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";
import type { SecretDigest } from "./clients-secrets.ts";
import type { CustomerId } from "./customer-id.ts";

/** A secret as it is kept. Not valid from `expiresAt` on. */
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
  readonly disabledAt: Instant | undefined;
  readonly secrets: readonly StoredSecret[];
}

/** A client and its first secret, in one statement. False: the client_id is taken, nothing happened. */
export async function insertClient(
  database: Queryable,
  client: { clientId: string; customerId: CustomerId; scopes: readonly string[] },
  secret: SecretDigest & { id: Uuid },
  now: Instant,
): Promise<boolean> {
  const made = await database.rows(
    `with made as (
       insert into client (client_id, customer_id, scopes, created_at)
       values ($1, $2, $3, $4)
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
    ],
  );
  return made.length === 1;
}

/** A client with its secrets, the expired ones included, oldest first. */
export async function findClient(database: Queryable, clientId: string): Promise<StoredClient | undefined> {
  const rows = await database.rows<ClientRow>(
    `select client.client_id, client.customer_id, client.scopes, client.disabled_at,
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

/** Locks a client, so that rotations of its secrets follow one another. False: there is no such client. */
export async function lockClient(transaction: Queryable, clientId: string): Promise<boolean> {
  const found = await transaction.rows("select 1 from client where client_id = $1 for update", [clientId]);
  return found.length === 1;
}

/** Removes the secrets that have expired, and lets those that live end at `until` at the latest. */
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

/** A client that is disabled already keeps its time. False: there is no such client. */
export async function setDisabled(database: Queryable, clientId: string, now: Instant): Promise<boolean> {
  const found = await database.rows(
    "update client set disabled_at = coalesce(disabled_at, $2) where client_id = $1 returning 1",
    [clientId, formatInstant(now)],
  );
  return found.length === 1;
}

export async function listDisabledSince(database: Queryable, since: Instant): Promise<string[]> {
  const rows = await database.rows<{ client_id: string }>("select client_id from client where disabled_at >= $1", [
    formatInstant(since),
  ]);
  return rows.map((row) => row.client_id);
}

/** Nothing happens when a use after `unlessAfter` is recorded: of several nodes that record one, the first does. */
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

interface ClientRow extends Partial<SecretRow> {
  readonly client_id: string;
  readonly customer_id: CustomerId;
  readonly scopes: string[];
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

/** The left join leaves the columns of the secret null where a client has none. */
function hasSecret(row: ClientRow): row is ClientRow & SecretRow {
  return (row.id ?? null) !== null;
}
