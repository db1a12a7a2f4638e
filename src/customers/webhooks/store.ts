import type { FlattenedJWE } from "jose";
import { type Queryable, sqlTime } from "../../postgres/database.ts";
import { waitForStandby } from "../../postgres/durability.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { CustomerId } from "../customer-id.ts";
import { byId, listOf, sql } from "../list-queries.ts";
import type { DisabledReason, ReceiverAccess, Webhook, WebhookId, WebhookSettings } from "./webhook.ts";

export const MOST_ACTIVE = 10;

// Webhooks -----------------------------------------------------------------------------------------------------------

const PUBLIC_KEYS = `array(select public_key from webhook_secret
         where webhook_id = webhook.id and kind = 'v1a' and (expires_at is null or expires_at > now())
         order by created_at desc, webhook_secret.id desc) as public_keys`;

const COLUMNS = `webhook.id, customer_id, name, url, types, body, delivery_order, deliveries_per_second, receiver_access,
  disabled_reason, disabled_at, webhook.created_at, updated_at, version::text,
  ${PUBLIC_KEYS}`;

interface WebhookRow {
  readonly id: WebhookId;
  readonly customer_id: CustomerId;
  readonly name: string;
  readonly url: string;
  readonly types: string[];
  readonly body: Webhook["body"];
  readonly delivery_order: Webhook["deliveryOrder"];
  readonly deliveries_per_second: number;
  readonly receiver_access: StoredAccess | null;
  readonly disabled_reason: DisabledReason | null;
  readonly disabled_at: Instant | null;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly version: string;
  readonly public_keys: string[];
}

type StoredAccess =
  | { readonly kind: "api_key"; readonly header: string }
  | { readonly kind: "oauth"; readonly token_url: string; readonly client_id: string; readonly scope?: string };

function webhookOf(row: WebhookRow): Webhook {
  return {
    id: row.id,
    customerId: row.customer_id,
    name: row.name,
    url: row.url,
    types: row.types,
    body: row.body,
    deliveryOrder: row.delivery_order,
    deliveriesPerSecond: row.deliveries_per_second,
    receiverAccess: row.receiver_access === null ? undefined : accessOf(row.receiver_access),
    status: row.disabled_at === null ? "ACTIVE" : "DISABLED",
    disabledReason: row.disabled_reason ?? undefined,
    disabledAt: row.disabled_at ?? undefined,
    publicKeys: row.public_keys,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: BigInt(row.version),
  };
}

function accessOf(stored: StoredAccess): ReceiverAccess {
  if (stored.kind === "api_key") return stored;
  return { kind: "oauth", tokenUrl: stored.token_url, clientId: stored.client_id, scope: stored.scope };
}

function storedAccess(access: ReceiverAccess | undefined): StoredAccess | null {
  if (access === undefined) return null;
  if (access.kind === "api_key") return access;
  const { kind, tokenUrl, clientId, scope } = access;
  return { kind, token_url: tokenUrl, client_id: clientId, ...(scope !== undefined && { scope }) };
}

/**
 * Held to the end of the transaction, so that of a customer's webhooks one at a time is created, renamed or enabled: then
 * names and places are what was read.
 */
export async function lockWebhooksOf(transaction: Queryable, customerId: CustomerId): Promise<void> {
  await transaction.rows("select pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1::text, 0))", [customerId]);
}

/** What limits a new webhook of the customer, of those that are not deleted. */
export interface Taken {
  readonly count: number;
  /** A place for an active one; undefined when all are taken. */
  readonly freePlace: number | undefined;
  /** The one that has the name. */
  readonly nameHolder: WebhookId | undefined;
}

export async function readTaken(transaction: Queryable, customerId: CustomerId, name: string): Promise<Taken> {
  const [row] = await transaction.rows<{ count: number; place: number | null; holder: WebhookId | null }>(
    `select count(*)::int as count,
            (select min(place) from generate_series(1, ${MOST_ACTIVE}) place
              where place not in (
                    select active_place from webhook where customer_id = $1 and active_place is not null)) as place,
            (select id from webhook where customer_id = $1 and name = $2 and deleted_at is null) as holder
       from webhook where customer_id = $1 and deleted_at is null`,
    [customerId, name],
  );
  return { count: row?.count ?? 0, freePlace: row?.place ?? undefined, nameHolder: row?.holder ?? undefined };
}

export async function insertWebhook(
  transaction: Queryable,
  { id, customerId, ...settings }: WebhookSettings & Pick<Webhook, "id" | "customerId">,
  place: number,
  now: Instant,
): Promise<void> {
  await transaction.rows(
    `insert into webhook (id, customer_id, name, url, types, body, delivery_order, deliveries_per_second,
                          receiver_access, active_place, created_at, updated_at, version)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, 1)`,
    [id, customerId, ...settingValues(settings), place, formatInstant(now)],
  );
}

export async function setSettings(
  transaction: Queryable,
  id: WebhookId,
  settings: WebhookSettings,
  now: Instant,
): Promise<void> {
  await transaction.rows(
    `update webhook
        set name = $2, url = $3, types = $4, body = $5, delivery_order = $6, deliveries_per_second = $7,
            receiver_access = $8, updated_at = $9, version = version + 1
      where id = $1`,
    [id, ...settingValues(settings), formatInstant(now)],
  );
}

function settingValues(settings: WebhookSettings): readonly unknown[] {
  const { name, url, types, body, deliveryOrder, deliveriesPerSecond, receiverAccess } = settings;
  return [name, url, types, body, deliveryOrder, deliveriesPerSecond, storedAccess(receiverAccess)];
}

/** One of the customer's that is not deleted. */
export async function findWebhook(
  database: Queryable,
  customerId: CustomerId,
  id: WebhookId,
): Promise<Webhook | undefined> {
  const [row] = await database.rows<WebhookRow>(
    `select ${COLUMNS} from webhook where id = $1 and customer_id = $2 and deleted_at is null`,
    [id, customerId],
  );
  return row && webhookOf(row);
}

/** The same, locked to the end of the transaction. What refers to it, as its deliveries do, can be written meanwhile. */
export async function lockWebhook(
  transaction: Queryable,
  customerId: CustomerId,
  id: WebhookId,
): Promise<Webhook | undefined> {
  await transaction.rows("select from webhook where id = $1 for no key update", [id]);
  return findWebhook(transaction, customerId, id);
}

const CONDITIONS = {
  isDeleted: (isDeleted: boolean) => sql`(deleted_at is not null) = ${isDeleted}`,
  isActive: (isActive: boolean) => sql`(disabled_at is null) = ${isActive}`,
};

export const listWebhooks = listOf({
  table: { name: "webhook", columns: COLUMNS, read: webhookOf },
  sortKey: byId,
  conditions: CONDITIONS,
});

/** @returns false if there is durably no such active webhook of this version */
export async function setDisabled(
  database: Queryable,
  id: WebhookId,
  version: bigint,
  reason: DisabledReason,
  at: Instant,
): Promise<boolean> {
  const found = await database.rows(
    `update webhook
        set active_place = null, disabled_reason = $3, disabled_at = $4, updated_at = $4, version = version + 1
      where id = $1 and version = $2 and active_place is not null
     returning 1`,
    [id, version, reason, formatInstant(at)],
  );
  if (found.length === 0) await waitForStandby(database);
  return found.length === 1;
}

export async function setActive(transaction: Queryable, id: WebhookId, place: number, now: Instant): Promise<void> {
  await transaction.rows(
    `update webhook
        set active_place = $2, disabled_reason = null, disabled_at = null, updated_at = $3, version = version + 1
      where id = $1`,
    [id, place, formatInstant(now)],
  );
}

/** Deletes it and its secrets. The row stays, for what its attempts say. */
export async function setDeleted(transaction: Queryable, id: WebhookId, now: Instant): Promise<void> {
  await transaction.rows(
    `update webhook set active_place = null, deleted_at = $2, updated_at = $2, version = version + 1 where id = $1`,
    [id, formatInstant(now)],
  );
  await transaction.rows("delete from webhook_secret where webhook_id = $1", [id]);
}

/** That its secrets were changed. */
export async function raiseVersion(transaction: Queryable, id: WebhookId, now: Instant): Promise<void> {
  await transaction.rows("update webhook set updated_at = $2, version = version + 1 where id = $1", [
    id,
    formatInstant(now),
  ]);
}

export async function readActiveVersions(database: Queryable): Promise<Map<WebhookId, bigint>> {
  const rows = await database.rows<{ id: WebhookId; version: string }>(
    `select id, version::text from webhook where active_place is not null
        and not exists (select from customer where customer.id = customer_id and disabled_at is not null)`,
  );
  return new Map(rows.map(({ id, version }) => [id, BigInt(version)]));
}

export async function readWebhooks(database: Queryable, ids: readonly WebhookId[]): Promise<Webhook[]> {
  const rows = await database.rows<WebhookRow>(
    `select ${COLUMNS} from webhook where id = any($1) and active_place is not null`,
    [ids],
  );
  return rows.map(webhookOf);
}

/** Of one that is not deleted, the newest first. */
export async function readPublicKeys(database: Queryable, id: WebhookId): Promise<readonly string[] | undefined> {
  const [row] = await database.rows<Pick<WebhookRow, "public_keys">>(
    `select ${PUBLIC_KEYS} from webhook where id = $1 and deleted_at is null`,
    [id],
  );
  return row?.public_keys;
}

// Secrets ------------------------------------------------------------------------------------------------------------

export type SecretKind = "v1" | "v1a" | "api_key" | "oauth";

/** A secret as stored: in clear, or encrypted. */
export interface StoredSecret {
  readonly id: Uuid;
  readonly webhookId: WebhookId;
  readonly kind: SecretKind;
  readonly secret: string | FlattenedJWE;
  readonly publicKey: string | undefined;
  /** Until then it signs beside its successor. */
  readonly expiresAt: Instant | undefined;
}

export async function insertSecrets(
  transaction: Queryable,
  secrets: readonly Omit<StoredSecret, "expiresAt">[],
  now: Instant,
): Promise<void> {
  await transaction.rows(
    `insert into webhook_secret (id, webhook_id, kind, secret, public_key, created_at)
     select id, webhook_id, kind, secret::json, public_key, $6
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[])
            as given(id, webhook_id, kind, secret, public_key)`,
    [
      secrets.map(({ id }) => id),
      secrets.map(({ webhookId }) => webhookId),
      secrets.map(({ kind }) => kind),
      secrets.map(({ secret }) => JSON.stringify(secret)),
      secrets.map(({ publicKey }) => publicKey ?? null),
      formatInstant(now),
    ],
  );
}

/** A secret with the version of its webhook that has it. */
export interface SecretOfVersion extends StoredSecret {
  readonly webhookVersion: bigint;
}

/** Of each webhook the newest first. */
export async function readSecrets(database: Queryable, ids: readonly WebhookId[]): Promise<SecretOfVersion[]> {
  const rows = await database.rows<SecretRow & { webhook_version: string }>(
    `select ${SECRET}, (select version::text from webhook where webhook.id = webhook_id) as webhook_version
       from webhook_secret where webhook_id = any($1) order by created_at desc, id desc`,
    [ids],
  );
  return rows.map((row) => ({ ...secretOf(row), webhookVersion: BigInt(row.webhook_version) }));
}

const SECRET = "id, webhook_id, kind, secret, public_key, expires_at";

interface SecretRow {
  readonly id: Uuid;
  readonly webhook_id: WebhookId;
  readonly kind: SecretKind;
  readonly secret: string | FlattenedJWE;
  readonly public_key: string | null;
  readonly expires_at: Instant | null;
}

function secretOf(row: SecretRow): StoredSecret {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    kind: row.kind,
    secret: row.secret,
    publicKey: row.public_key ?? undefined,
    expiresAt: row.expires_at ?? undefined,
  };
}

const SECRETS_OF_PAGE = 100;

/** Of all webhooks, in the order of their ids. @param after undefined: from the first on */
export async function pageSecrets(database: Queryable, after: Uuid | undefined): Promise<StoredSecret[]> {
  const rows = await database.rows<SecretRow>(
    `select ${SECRET} from webhook_secret where $1::uuid is null or id > $1 order by id limit ${SECRETS_OF_PAGE}`,
    [after ?? null],
  );
  return rows.map(secretOf);
}

/** Replaces how it is stored. @returns false if it is no longer stored like this */
export async function setSecret(
  database: Queryable,
  { id, secret }: StoredSecret,
  encrypted: FlattenedJWE,
): Promise<boolean> {
  const found = await database.rows(
    "update webhook_secret set secret = $3::json where id = $1 and secret::jsonb = $2::jsonb returning 1",
    [id, JSON.stringify(secret), JSON.stringify(encrypted)],
  );
  return found.length === 1;
}

/** What it shows to its receiver. */
export async function removeReceiverSecrets(transaction: Queryable, id: WebhookId): Promise<void> {
  await transaction.rows("delete from webhook_secret where webhook_id = $1 and kind in ('api_key', 'oauth')", [id]);
}

/** Beside the newest: an answer that was lost is asked for again, and the receiver still has what was there before it. */
const FORMER_OF_KIND = 3;

/**
 * Its signing secrets expire at `until`, or earlier if that was said before. Of each kind the newest three are kept, and none if
 * `until` is now.
 */
export async function endSigningSecrets(
  transaction: Queryable,
  id: WebhookId,
  now: Instant,
  until: Instant,
): Promise<void> {
  await transaction.rows(
    `delete from webhook_secret
      where webhook_id = $1 and kind in ('v1', 'v1a')
        and (not $2 or id not in (select id
               from (select id, row_number() over (partition by kind order by created_at desc, id desc) as place
                       from webhook_secret where webhook_id = $1 and (expires_at is null or expires_at > now())) live
              where place <= ${FORMER_OF_KIND}))`,
    [id, until > now],
  );
  await transaction.rows(
    `update webhook_secret set expires_at = least(expires_at, $2)
      where webhook_id = $1 and kind in ('v1', 'v1a')`,
    [id, sqlTime(until)],
  );
}
