/**
 * Leases: what exactly one process may hold at a time. The database's clock alone decides whether one has ended. A
 * lease that is only looked at fences nobody: whoever holds one writes its fence, or what was numbered under it, into
 * the rows that it guards.
 */
import type { Queryable } from "./database.ts";

export interface Lease {
  readonly name: string;
  readonly holder: string;
  /** Rises with every change of hands. */
  readonly fence: bigint;
}

/** How long a lease lasts unless it is renewed. */
export const LEASE_MS = 15_000;

/** By how much longer than its length a lease may still last: what the database's clock may be set back by. */
export const LEASE_SLACK_MS = 15_000;

/**
 * Takes a lease that is free, has ended, or is this holder's own from before: a holder's name belongs to one living
 * process at a time. Also one that lasts longer than any renewal makes it: the database's clock was ahead then, and its
 * holder may be dead. One that lives has lost it by its fence. Undefined while somebody else has it. All who share a lease
 * name the same length. A try that finds it held writes nothing, so it never waits for a synchronous standby.
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
 * Extends a lease. False: another process holds it by now, or it was released. The commit does not wait for a synchronous
 * standby: a renewal that a failover loses only ends the lease earlier, since the fence stays as it was.
 */
export async function renewLease(database: Queryable, lease: Lease, leaseMs: number): Promise<boolean> {
  const renewed = await database.rows(
    `update lease set expires_at = clock_timestamp() + $3 * interval '1 millisecond'
      where name = $1 and fence = $2 and set_config('synchronous_commit', 'local', true) is not null returning 1`,
    [lease.name, lease.fence, leaseMs],
  );
  return renewed.length === 1;
}

/**
 * Lets go of a lease, so that the next one need not wait for its end. The fence rises, so that a renewal that was under
 * way and comes later holds nothing any more.
 */
export async function releaseLease(database: Queryable, lease: Lease): Promise<void> {
  await database.rows(
    "update lease set expires_at = clock_timestamp(), fence = fence + 1 where name = $1 and fence = $2",
    [lease.name, lease.fence],
  );
}

/** Lets go of all that a holder has, for a process that ends without knowing what it holds. */
export async function releaseLeasesOf(database: Queryable, holder: string): Promise<void> {
  await database.rows(
    `update lease set expires_at = clock_timestamp(), fence = fence + 1
      where holder = $1 and expires_at > clock_timestamp()`,
    [holder],
  );
}
