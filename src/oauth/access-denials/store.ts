import type { Queryable } from "../../postgres/database.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import type { AccessDenial, CountedDenial } from "./access-denial.ts";

/**
 * Stores a client_id only if such a client exists: a caller that confuses two fields may have sent its secret. Existing
 * rows are kept; an earlier attempt wrote them.
 */
export async function insertDenials(
  database: Queryable,
  rows: readonly (CountedDenial & { readonly id: Uuid })[],
): Promise<void> {
  await database.rows(
    `insert into access_denial (id, kind, client_id, token_id, address, operation, first_at, last_at, count)
     select k.id, k.kind, c.client_id, k.token_id, k.address, k.operation, k.first_at, k.last_at, k.count
       from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::timestamptz[],
                   $8::timestamptz[], $9::bigint[])
              as k(id, kind, client_id, token_id, address, operation, first_at, last_at, count)
       left join client c on c.client_id = k.client_id
         on conflict do nothing`,
    [
      rows.map(({ id }) => id),
      rows.map(({ kind }) => kind),
      rows.map(({ clientId }) => clientId ?? null),
      rows.map(({ tokenId }) => tokenId ?? null),
      rows.map(({ address }) => address ?? null),
      rows.map(({ operation }) => operation ?? null),
      rows.map(({ firstAt }) => formatInstant(firstAt)),
      rows.map(({ lastAt }) => formatInstant(lastAt)),
      rows.map(({ count }) => count),
    ],
  );
}

/** Removes at most `limit` rows; the next call removes more. */
export async function removeDenials(database: Queryable, below: Uuid, limit: number): Promise<void> {
  await database.rows(
    "delete from access_denial where id in (select id from access_denial where id < $1 order by id limit $2)",
    [below, limit],
  );
}

/**
 * Lists denials, latest first.
 * @param from the lowest id
 * @param clientId absent: of all clients
 */
export async function listDenials(
  database: Queryable,
  { from, clientId, limit }: { readonly from: Uuid; readonly clientId: string | undefined; readonly limit: number },
): Promise<CountedDenial[]> {
  const rows = await database.rows<{
    kind: AccessDenial["kind"];
    client_id: string | null;
    token_id: Uuid | null;
    address: string | null;
    operation: string | null;
    first_at: Instant;
    last_at: Instant;
    count: string;
  }>(
    `select kind, client_id, token_id, address, operation, first_at, last_at, count from access_denial
      where id >= $1 and ($2::text is null or client_id = $2) order by id desc limit $3`,
    [from, clientId ?? null, limit],
  );
  return rows.map((row) => ({
    kind: row.kind,
    clientId: row.client_id ?? undefined,
    tokenId: row.token_id ?? undefined,
    address: row.address ?? undefined,
    operation: row.operation ?? undefined,
    firstAt: row.first_at,
    lastAt: row.last_at,
    count: Number(row.count),
  }));
}
