/**
 * Leases: at most one process holds each. Expiry is decided by the database's clock alone. A lease by itself does not stop
 * a stale holder: the holder writes the fencing token, or a sequence issued under it, into the rows that it guards.
 */
import type { Queryable } from "./database.ts";

export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** The fencing token; rises with every new holder. */
  readonly fence: bigint;
}

export const LEASE_MS = 15_000;

/** How far the database's clock may be set back. A lease that lasts longer than LEASE_MS plus this is invalid. */
export const LEASE_SLACK_MS = 15_000;

/**
 * Takes a lease that is free, expired or held under the same holder name, which belongs to one living process at a time.
 * Also takes one that lasts implausibly long: it was renewed while the database's clock was ahead, and its holder may be
 * dead; a living one is fenced off. A failed attempt writes nothing, so it never waits for a synchronous standby.
 *
 * @param leaseMs Must be the same for all users of the lease.
 * @returns Undefined while another process holds the lease.
 */
export async function takeLease(
  database: Queryable,
  name: string,
  holder: string,
  leaseMs: number,
): Promise<Lease | undefined> {
  const [row] = await database.rows<{ fence: string }>(
    `insert into lease (name, holder, fence, expires_at)
     select $1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond'
      where not exists (
              select from lease
               where name = $1 and holder <> $2
                 and expires_at between clock_timestamp() and clock_timestamp() + $4 * interval '1 millisecond')
     on conflict (name) do update
        set holder = excluded.holder, fence = lease.fence + 1, expires_at = excluded.expires_at
      where lease.expires_at < clock_timestamp() or lease.holder = excluded.holder
         or lease.expires_at > clock_timestamp() + $4 * interval '1 millisecond'
     returning fence`,
    [name, holder, leaseMs, leaseMs + LEASE_SLACK_MS],
  );
  return row === undefined ? undefined : { name, holder, fence: BigInt(row.fence) };
}

/**
 * Extends a lease. The commit does not wait for a synchronous standby: a renewal lost in a failover only makes the lease
 * expire earlier.
 *
 * @returns False if another process holds it by now, or it was released.
 */
export async function renewLease(database: Queryable, lease: Lease, leaseMs: number): Promise<boolean> {
  const renewed = await database.rows(
    `update lease set expires_at = clock_timestamp() + $3 * interval '1 millisecond'
      where name = $1 and fence = $2 and holder = $4
        and set_config('synchronous_commit', 'local', true) is not null returning 1`,
    [lease.name, lease.fence, leaseMs, lease.holder],
  );
  return renewed.length === 1;
}

/**
 * Releases a lease before it expires. The fencing token rises, so that a renewal still in flight fails.
 */
export async function releaseLease(database: Queryable, lease: Lease): Promise<void> {
  await database.rows(
    "update lease set expires_at = clock_timestamp(), fence = fence + 1 where name = $1 and fence = $2 and holder = $3",
    [lease.name, lease.fence, lease.holder],
  );
}

/** Releases all leases of a holder. */
export async function releaseLeasesOf(database: Queryable, holder: string): Promise<void> {
  await database.rows(
    `update lease set expires_at = clock_timestamp(), fence = fence + 1
      where holder = $1 and expires_at > clock_timestamp()`,
    [holder],
  );
}

/** Lets another process take the lease at once. */
export async function endLease(database: Queryable, name: string): Promise<void> {
  await database.rows("update lease set expires_at = clock_timestamp() - interval '1 second' where name = $1", [name]);
}

/** Whether the lease is still this one, and has not expired. */
export async function hasLease(database: Queryable, { name, holder, fence }: Lease): Promise<boolean> {
  const rows = await database.rows(
    "select from lease where name = $1 and holder = $2 and fence = $3 and expires_at > clock_timestamp()",
    [name, holder, fence],
  );
  return rows.length === 1;
}

/** A lock of one transaction, until it ends. @returns false while another transaction has it */
export async function tryTurn(transaction: Queryable, name: string): Promise<boolean> {
  const [row] = await transaction.rows<{ taken: boolean }>("select pg_try_advisory_xact_lock(hashtext($1)) as taken", [
    `parbook ${name}`,
  ]);
  return row?.taken === true;
}
