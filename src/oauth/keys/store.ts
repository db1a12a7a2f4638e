import type { JWK } from "jose";
import type { Queryable } from "../../postgres/database.ts";
import { COMMIT_MARKER, waitForStandby } from "../../postgres/durability.ts";
import { must } from "../../std/assert.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import type { StoredPrivateKey } from "./key-encryption.ts";

/** A signing key as stored. Retired keys only verify. */
export interface StoredKey {
  readonly kid: string;
  readonly privateJwk: StoredPrivateKey;
  readonly publicJwk: JWK;
  readonly createdAt: Instant;
  readonly retiredAt: Instant | undefined;
}

export type NewKey = Omit<StoredKey, "createdAt" | "retiredAt">;

/** All keys of an algorithm, oldest first. Of two keys of the same millisecond, the retired one is older. */
export async function listKeys(database: Queryable, algorithm: string): Promise<StoredKey[]> {
  const rows = await database.rows<KeyRow>(
    `select kid, private_jwk, public_jwk, created_at, retired_at
       from signing_key where algorithm = $1 order by created_at, retired_at nulls last`,
    [algorithm],
  );
  return rows.map((row) => ({
    kid: row.kid,
    privateJwk: row.private_jwk,
    publicJwk: row.public_jwk,
    createdAt: row.created_at,
    retiredAt: row.retired_at ?? undefined,
  }));
}

/** Makes a key current unless there is a current one: of several nodes, one succeeds. @returns whether this one did */
export async function insertKey(database: Queryable, algorithm: string, key: NewKey, now: Instant): Promise<boolean> {
  const made = await database.rows(
    `insert into signing_key (kid, algorithm, private_jwk, public_jwk, created_at)
     values ($1, $2, $3, $4, $5)
     on conflict do nothing
     returning 1`,
    [key.kid, algorithm, key.privateJwk, key.publicJwk, formatInstant(now)],
  );
  return made.length === 1;
}

/** Does nothing if the key is no longer current. */
export async function retireCurrentKey(transaction: Queryable, kid: string, now: Instant): Promise<void> {
  await transaction.rows("update signing_key set retired_at = $2 where kid = $1 and retired_at is null", [
    kid,
    formatInstant(now),
  ]);
}

/** Replaces the private half of keys retired by then with the public half. */
export async function erasePrivateHalves(database: Queryable, bound: Instant): Promise<void> {
  await database.rows(
    "update signing_key set private_jwk = public_jwk where retired_at <= $1 and private_jwk <> public_jwk",
    [formatInstant(bound)],
  );
}

/** @returns false if there is durably no such key, as in a retry after an unknown outcome */
export async function deleteKey(database: Queryable, kid: string): Promise<boolean> {
  const deleted = await database.rows("delete from signing_key where kid = $1 returning 1", [kid]);
  if (deleted.length === 0) await waitForStandby(database);
  return deleted.length === 1;
}

export async function deleteKeysRetiredBefore(transaction: Queryable, bound: Instant): Promise<void> {
  await transaction.rows("delete from signing_key where retired_at < $1", [formatInstant(bound)]);
}

export async function getCurrentKid(transaction: Queryable): Promise<string> {
  // Another node may have created it, in a commit that the standby lacks.
  const [row] = await transaction.rows<{ kid: string }>(
    `select kid, ${COMMIT_MARKER} as committed_behind from signing_key where retired_at is null`,
  );
  return must(row, "a key that was made, or that another made first, is the current one").kid;
}

interface KeyRow {
  readonly kid: string;
  readonly private_jwk: StoredPrivateKey;
  readonly public_jwk: JWK;
  readonly created_at: Instant;
  readonly retired_at: Instant | null;
}
