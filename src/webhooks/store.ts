/** The SQL of what is delivered: webhook_progress, webhook_delivery, webhook_attempt. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Webhook, WebhookId } from "../customers/webhooks/webhook.ts";
import { type Queryable, sqlTime } from "../postgres/database.ts";
import { HISTORY } from "../postgres/history.ts";
import type { Lease } from "../postgres/leases.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { lowestId, type Uuid } from "../std/id.ts";
import type { Attempt } from "./attempt.ts";
import type { Changes, OpenRow, Progress } from "./queues/delivery-queue.ts";

// Progress -----------------------------------------------------------------------------------------------------------

export interface StoredProgress extends Progress {
  readonly webhookId: WebhookId;
  readonly customerId: CustomerId;
  readonly version: bigint;
}

interface ProgressRow {
  readonly webhook_id: WebhookId;
  readonly customer_id: CustomerId;
  readonly read_to: string;
  readonly accepted_behind: readonly string[];
  readonly batch_end: string | null;
  readonly failing_since: Instant | null;
  readonly last_failure_at: Instant | null;
  readonly last_success_at: Instant | null;
  readonly version: string;
}

const PROGRESS =
  "webhook_id, customer_id, read_to, accepted_behind, batch_end, failing_since, last_failure_at, last_success_at, version";

function progressOf(row: ProgressRow): StoredProgress {
  return {
    webhookId: row.webhook_id,
    customerId: row.customer_id,
    readTo: BigInt(row.read_to),
    accepted: row.accepted_behind.map(BigInt),
    batchEnd: row.batch_end === null ? undefined : BigInt(row.batch_end),
    failingSince: row.failing_since ?? undefined,
    lastFailureAt: row.last_failure_at ?? undefined,
    lastSuccessAt: row.last_success_at ?? undefined,
    version: BigInt(row.version),
  };
}

/** Of a webhook that is being created. */
export async function beginProgress(
  database: Queryable,
  { webhookId, customerId, readTo }: Pick<StoredProgress, "webhookId" | "customerId" | "readTo">,
): Promise<void> {
  await database.rows(
    `insert into webhook_progress (webhook_id, customer_id, read_to, version) values ($1, $2, $3, 1)`,
    [webhookId, customerId, readTo],
  );
}

/** Who delivers, in the history of the database in which it began: in another one the same versions may stand for something else. */
export interface Claimant {
  readonly lease: Lease;
  readonly history: string;
}

/**
 * Takes webhooks over: the process that delivered to them before cannot write what it did since. Locks them to the end of the
 * transaction, in the order of their ids.
 * @returns those that are still active and of this version; none if the lease is no longer this one, or another history has begun
 */
export async function claimProgress(
  transaction: Queryable,
  { lease, history }: Claimant,
  webhooks: readonly Pick<Webhook, "id" | "version">[],
): Promise<StoredProgress[]> {
  const rows = await transaction.rows<ProgressRow>(
    `with locked as (
       select p.webhook_id
         from unnest($1::uuid[], $2::bigint[]) as asked(id, version)
              join webhook w on w.id = asked.id and w.version = asked.version and w.active_place is not null
              join webhook_progress p on p.webhook_id = w.id
        order by p.webhook_id for update of p)
     update webhook_progress set version = version + 1
      where webhook_id in (select webhook_id from locked)
        and exists (select from lease where name = $3 and fence = $4 and holder = $5)
        and ${HISTORY} = $6
     returning ${PROGRESS}`,
    [
      webhooks.map(({ id }) => id),
      webhooks.map(({ version }) => version),
      lease.name,
      lease.fence,
      lease.holder,
      history,
    ],
  );
  return rows.map(progressOf);
}

/** Locks it to the end of the transaction, before it is decided from what it says. */
export async function lockProgress(
  transaction: Queryable,
  customerId: CustomerId,
  webhookId: WebhookId,
): Promise<StoredProgress> {
  const [row] = await transaction.rows<ProgressRow>(
    `select ${PROGRESS} from webhook_progress where webhook_id = $1 and customer_id = $2 for update`,
    [webhookId, customerId],
  );
  return progressOf(must(row, "a webhook has a place since it was created"));
}

/** Before the place is set or deliveries are repeated: the node that delivers opens the webhook anew. */
export async function raiseVersion(transaction: Queryable, webhookId: WebhookId): Promise<void> {
  await transaction.rows("update webhook_progress set version = version + 1 where webhook_id = $1", [webhookId]);
}

/** Those whose version is no longer this one. */
export async function findStale(database: Queryable, known: ReadonlyMap<WebhookId, bigint>): Promise<WebhookId[]> {
  const rows = await database.rows<{ webhook_id: WebhookId }>(
    `select p.webhook_id
       from unnest($1::uuid[], $2::bigint[]) as known(webhook_id, version)
            join webhook_progress p on p.webhook_id = known.webhook_id and p.version <> known.version`,
    [[...known.keys()], [...known.values()]],
  );
  return rows.map(({ webhook_id }) => webhook_id);
}

/** Whether a strict webhook has given up the batch behind its place. */
export async function isStopped(transaction: Queryable, { webhookId, readTo }: StoredProgress): Promise<boolean> {
  const rows = await transaction.rows(
    "select from webhook_delivery where webhook_id = $1 and number > $2 and status = 'UNDELIVERED' limit 1",
    [webhookId, readTo],
  );
  return rows.length > 0;
}

export async function setPlace(transaction: Queryable, webhookId: WebhookId, readTo: bigint): Promise<void> {
  await transaction.rows(
    "update webhook_progress set read_to = $2, accepted_behind = '{}', batch_end = null where webhook_id = $1",
    [webhookId, readTo],
  );
}

/** Those whose place, or what was accepted behind it, is behind the last event of their customer; with a place that is not. */
export async function findBeyondEvents(
  transaction: Queryable,
  ids: readonly WebhookId[],
): Promise<Map<WebhookId, bigint>> {
  const rows = await transaction.rows<{ webhook_id: WebhookId; place: string }>(
    `select p.webhook_id, least(p.read_to, coalesce(e.last, 0)) as place
       from webhook_progress p
            left join lateral (select first_number + count - 1 as last from event
                                where customer_id = p.customer_id order by first_number desc limit 1) e on true
      where p.webhook_id = any($1::uuid[]) and coalesce(e.last, 0) < any(p.accepted_behind || p.read_to)`,
    [ids],
  );
  return new Map(rows.map(({ webhook_id, place }) => [webhook_id, BigInt(place)]));
}

/** As if nothing had failed yet. */
export async function forgetFailing(transaction: Queryable, webhookId: WebhookId): Promise<void> {
  await transaction.rows("update webhook_progress set failing_since = null where webhook_id = $1", [webhookId]);
}

/** What a webhook did since the last write. */
export interface WebhookChanges extends Changes {
  readonly webhookId: WebhookId;
  readonly version: bigint;
}

/**
 * Writes what was done, of many webhooks in one statement. Does not wait for a synchronous standby: what a failover loses is
 * sent again.
 * @param history in which they were claimed: a restored database may have the same versions, and earlier places
 * @returns those that still have this version, in this history: of the others only the attempts were written
 */
export async function writeChanges(
  database: Queryable,
  history: string,
  changes: readonly WebhookChanges[],
  attempts: readonly Attempt[],
  now: Instant,
): Promise<Set<WebhookId>> {
  const rows = changes.flatMap(({ webhookId, rows }) =>
    [...rows].map(([number, row]) => ({ webhookId, number, row: row ?? undefined })),
  );
  const removed = rows.filter(({ row }) => row === undefined);
  const kept = rows.flatMap(({ webhookId, row }) => (row === undefined ? [] : [{ webhookId, row }]));
  const written = await database.rows<{ webhook_id: WebhookId }>(WRITE_CHANGES, [
    changes.map(({ webhookId }) => webhookId),
    changes.map(({ version }) => version),
    changes.map(({ progress }) => progress.readTo),
    // PostgreSQL has no arrays of arrays of different lengths.
    changes.map(({ progress }) => `{${progress.accepted.join()}}`),
    changes.map(({ progress }) => progress.batchEnd ?? null),
    changes.map(({ progress }) => sqlTime(progress.failingSince)),
    changes.map(({ progress }) => sqlTime(progress.lastFailureAt)),
    changes.map(({ progress }) => sqlTime(progress.lastSuccessAt)),
    removed.map(({ webhookId }) => webhookId),
    removed.map(({ number }) => number),
    kept.map(({ webhookId }) => webhookId),
    ...columnsOfRows(kept.map(({ row }) => row)),
    sqlTime(now),
    ...columnsOfAttempts(attempts),
    history,
  ]);
  return new Set(written.map(({ webhook_id }) => webhook_id));
}

const WRITE_CHANGES = `with written as (
  update webhook_progress p
     set read_to = w.read_to, accepted_behind = w.accepted_behind::bigint[], batch_end = w.batch_end,
         failing_since = w.failing_since, last_failure_at = w.last_failure_at, last_success_at = w.last_success_at
    from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::timestamptz[],
                $7::timestamptz[], $8::timestamptz[])
           as w(webhook_id, version, read_to, accepted_behind, batch_end, failing_since, last_failure_at,
                last_success_at)
   where p.webhook_id = w.webhook_id and p.version = w.version and ${HISTORY} = $29
     and set_config('synchronous_commit', 'local', true) is not null
  returning p.webhook_id, p.customer_id),
removed as (
  delete from webhook_delivery d
   using written, unnest($9::uuid[], $10::bigint[]) as r(webhook_id, number)
   where d.webhook_id = r.webhook_id and d.number = r.number and r.webhook_id = written.webhook_id),
kept as (
  insert into webhook_delivery (webhook_id, number, customer_id, object_id, status, attempts, next_attempt_at, last_error,
                                created_at, updated_at)
  select k.webhook_id, k.number, written.customer_id, k.object_id, k.status, k.attempts, k.next_attempt_at, k.last_error,
         $18, $18
    from unnest($11::uuid[], $12::bigint[], $13::text[], $14::text[], $15::int[], $16::timestamptz[], $17::text[])
           as k(webhook_id, number, object_id, status, attempts, next_attempt_at, last_error)
         join written on written.webhook_id = k.webhook_id
      on conflict (webhook_id, number) do update
     set status = excluded.status, attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at,
         last_error = excluded.last_error, updated_at = excluded.updated_at),
tried as (
  insert into webhook_attempt (webhook_id, id, message_id, number, events, at, ms, status, error, answer)
  select * from unnest($19::uuid[], $20::uuid[], $21::text[], $22::bigint[], $23::int[], $24::timestamptz[],
                       $25::int[], $26::smallint[], $27::text[], $28::bytea[])
      on conflict do nothing)
select webhook_id from written`;

function columnsOfRows(rows: readonly OpenRow[]): unknown[][] {
  return [
    rows.map(({ number }) => number),
    rows.map(({ objectId }) => objectId),
    rows.map(({ status }) => status),
    rows.map(({ attempts }) => attempts),
    rows.map(({ nextAttemptAt }) => sqlTime(nextAttemptAt)),
    rows.map(({ lastError }) => lastError ?? null),
  ];
}

// Rows ---------------------------------------------------------------------------------------------------------------

/**
 * The open rows of these webhooks; of a strict one that has given its batch up also those.
 */
export async function readOpenRows(
  transaction: Queryable,
  ids: readonly WebhookId[],
): Promise<Map<WebhookId, OpenRow[]>> {
  const rows = await transaction.rows<{
    webhook_id: WebhookId;
    number: string;
    object_id: string;
    status: OpenRow["status"];
    attempts: number;
    next_attempt_at: Instant | null;
    last_error: string | null;
  }>(
    `select d.webhook_id, d.number, d.object_id, d.status, d.attempts, d.next_attempt_at, d.last_error
       from webhook_delivery d join webhook_progress p using (webhook_id)
      where d.webhook_id = any($1::uuid[]) and (d.status <> 'UNDELIVERED' or d.number > p.read_to)`,
    [ids],
  );
  const open = new Map(ids.map((id): [WebhookId, OpenRow[]] => [id, []]));
  for (const row of rows)
    open.get(row.webhook_id)?.push({
      number: BigInt(row.number),
      objectId: row.object_id,
      status: row.status,
      attempts: row.attempts,
      nextAttemptAt: row.next_attempt_at ?? undefined,
      lastError: row.last_error ?? undefined,
    });
  return open;
}

/** Those behind the place: their events come again. */
export async function removeRowsBehindPlace(transaction: Queryable, ids: readonly WebhookId[]): Promise<void> {
  await transaction.rows(
    `delete from webhook_delivery d using webhook_progress p
      where d.webhook_id = any($1::uuid[]) and p.webhook_id = d.webhook_id and d.number > p.read_to`,
    [ids],
  );
}

/** Those from this number on: their events come again. */
export async function removeRowsFrom(transaction: Queryable, webhookId: WebhookId, number: bigint): Promise<void> {
  await transaction.rows("delete from webhook_delivery where webhook_id = $1 and number >= $2", [webhookId, number]);
}

/** What still waits for its receiver is given up. */
export async function giveUpRows(transaction: Queryable, webhookId: WebhookId, now: Instant): Promise<void> {
  await transaction.rows(
    `update webhook_delivery set status = 'UNDELIVERED', next_attempt_at = null, updated_at = $2
      where webhook_id = $1 and status <> 'UNDELIVERED'`,
    [webhookId, sqlTime(now)],
  );
}

/**
 * What waits for its time is tried now, as if for the first time: a try that somebody asked for is none of the schedule's. What
 * is due already is not written again. @returns how many are tried
 */
export async function retryNow(transaction: Queryable, webhookId: WebhookId, now: Instant): Promise<number> {
  const [row] = await transaction.rows<{ count: number }>(
    `with due as (
       update webhook_delivery set attempts = 0, next_attempt_at = $2
        where webhook_id = $1 and status = 'RETRYING' and next_attempt_at > $2)
     select count(*)::int as count from webhook_delivery where webhook_id = $1 and status = 'RETRYING'`,
    [webhookId, sqlTime(now)],
  );
  return row?.count ?? 0;
}

/** The first of those behind a number that were given up are tried again, as if for the first time. @returns how many */
export async function retryUndelivered(
  transaction: Queryable,
  webhookId: WebhookId,
  now: Instant,
  limit: number,
  behind = 0n,
): Promise<number> {
  const rows = await transaction.rows(
    `update webhook_delivery set status = 'RETRYING', attempts = 0, next_attempt_at = $2, updated_at = $2
      where webhook_id = $1
        and number in (select number from webhook_delivery
                        where webhook_id = $1 and status = 'UNDELIVERED' and number > $4 order by number limit $3)
     returning 1`,
    [webhookId, sqlTime(now), limit, behind],
  );
  return rows.length;
}

/** Of each of these events of a customer, how many of its webhooks have given it up; absent: none. */
export async function countUndelivered(
  database: Queryable,
  customerId: CustomerId,
  numbers: readonly bigint[],
): Promise<Map<bigint, number>> {
  const rows = await database.rows<{ number: string; count: number }>(
    `select number, count(*)::int as count from webhook_delivery
      where customer_id = $1 and number = any($2::bigint[]) and status = 'UNDELIVERED' group by number`,
    [customerId, numbers],
  );
  return new Map(rows.map(({ number, count }) => [BigInt(number), count]));
}

// Attempts -----------------------------------------------------------------------------------------------------------

export async function insertAttempt(database: Queryable, attempt: Attempt): Promise<void> {
  await database.rows(
    `insert into webhook_attempt (webhook_id, id, message_id, number, events, at, ms, status, error, answer)
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::int[], $6::timestamptz[], $7::int[],
                          $8::smallint[], $9::text[], $10::bytea[])`,
    columnsOfAttempts([attempt]),
  );
}

function columnsOfAttempts(attempts: readonly Attempt[]): unknown[][] {
  return [
    attempts.map(({ webhookId }) => webhookId),
    attempts.map(({ id }) => id),
    attempts.map(({ messageId }) => messageId),
    attempts.map(({ number }) => number ?? null),
    attempts.map(({ events }) => events),
    attempts.map(({ at }) => sqlTime(at)),
    attempts.map(({ ms }) => ms),
    attempts.map(({ status }) => status ?? null),
    attempts.map(({ error }) => error ?? null),
    attempts.map(({ answer }) => answer ?? null),
  ];
}

/** Latest first. @param before only those before this one */
export async function listAttempts(
  database: Queryable,
  webhookId: WebhookId,
  { before, limit }: { readonly before: Uuid | undefined; readonly limit: number },
): Promise<Attempt[]> {
  const rows = await database.rows<{
    id: Uuid;
    message_id: string;
    number: string | null;
    events: number;
    at: Instant;
    ms: number;
    status: number | null;
    error: string | null;
    answer: Buffer | null;
  }>(
    `select id, message_id, number, events, at, ms, status, error, answer from webhook_attempt
      where webhook_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3`,
    [webhookId, before ?? null, limit],
  );
  return rows.map((row) => ({
    webhookId,
    id: row.id,
    messageId: row.message_id,
    number: row.number === null ? undefined : BigInt(row.number),
    events: row.events,
    at: row.at,
    ms: row.ms,
    status: row.status ?? undefined,
    error: row.error ?? undefined,
    answer: row.answer ?? undefined,
  }));
}

// Retention ----------------------------------------------------------------------------------------------------------

const KEPT_ATTEMPTS = 1_000;

/** Removes attempts of a webhook beyond the last thousand, at most as many at once. */
export async function trimAttempts(database: Queryable, webhookId: WebhookId): Promise<void> {
  await database.rows(
    `delete from webhook_attempt
      where webhook_id = $1
        and id in (select id from webhook_attempt where webhook_id = $1 order by id desc offset $2 limit $2)`,
    [webhookId, KEPT_ATTEMPTS],
  );
}

/** Removes at most `limit` attempts before this time. @returns how many */
export async function removeOldAttempts(database: Queryable, before: Instant, limit: number): Promise<number> {
  const rows = await database.rows(
    `delete from webhook_attempt
      where (webhook_id, id) in (
            select a.webhook_id, a.id
              from webhook_progress p
                   cross join lateral (select webhook_id, id from webhook_attempt
                                        where webhook_id = p.webhook_id and id < $1 order by id limit $2) a
             limit $2)
     returning 1`,
    [lowestId(before), limit],
  );
  return rows.length;
}

/** Removes at most `limit` rows of webhooks that were deleted. */
export async function removeRowsOfDeleted(database: Queryable, limit: number): Promise<number> {
  const rows = await database.rows(
    `delete from webhook_delivery
      where (webhook_id, number) in (
            select d.webhook_id, d.number from webhook w join webhook_delivery d on d.webhook_id = w.id
             where w.deleted_at is not null limit $1)
     returning 1`,
    [limit],
  );
  return rows.length;
}

/** Customers with events that were given up. */
export async function listCustomersWithUndelivered(database: Queryable): Promise<CustomerId[]> {
  const rows = await database.rows<{ customer_id: CustomerId }>(
    "select distinct customer_id from webhook_delivery where status = 'UNDELIVERED'",
  );
  return rows.map(({ customer_id }) => customer_id);
}

/** Removes what was given up of events before this number, which are no longer kept in this history of the database. */
export async function removeUndeliveredBefore(
  database: Queryable,
  history: string,
  customerId: CustomerId,
  number: bigint,
): Promise<void> {
  await database.rows(
    `delete from webhook_delivery
      where customer_id = $1 and number < $2 and status = 'UNDELIVERED' and ${HISTORY} = $3`,
    [customerId, number, history],
  );
}
