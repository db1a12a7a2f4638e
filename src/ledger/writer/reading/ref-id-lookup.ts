/** Looks up in the database which records hold ref_ids, for commands that may be retries. */
import type { Queryable } from "../../../postgres/database.ts";
import { SERIALIZED_COMMIT_MARKER } from "../../../postgres/durability.ts";
import { must } from "../../../std/assert.ts";
import type { Clock, Instant } from "../../../std/clock.ts";
import type { Uuid } from "../../../std/id.ts";
import { type Claim, type ClaimKind, claimKey } from "../../decision.ts";
import type { UniqueIndex } from "../../tables.ts";
import type { Decider } from "../decider.ts";
import type { PendingCommand } from "../pending-command.ts";
import { ExpiringSet } from "./expiring-set.ts";

/** The record that holds a ref_id. */
interface Holder {
  readonly id: Uuid;
  /** Undefined while it is open, and if no claim asked for it. */
  readonly closedAt: Instant | undefined;
}

/** Lookups of a command's ref_id before it fails as unavailable. */
const MAX_ROUNDS = 5;
/** How long the ref_ids of a customer that repeats them are looked up first. */
const REPEATING_MS = 10_000;

export class RefIdLookup {
  readonly #database: Queryable;
  readonly #decider: Decider;
  readonly #repeating: ExpiringSet;

  constructor(database: Queryable, clock: Clock, decider: Decider) {
    this.#database = database;
    this.#decider = decider;
    this.#repeating = new ExpiringSet(clock, REPEATING_MS);
  }

  /** Claiming a ref_id that was taken long ago fails the whole batch. This limits a series of retries to one failure. */
  isLikelyTaken(claims: readonly Claim[]): boolean {
    return claims.some((claim) => claim.likelyTaken === true || this.#repeating.has(claim.customerId));
  }

  removeExpired(): void {
    this.#repeating.removeExpired();
  }

  /** Completes commands whose ref_id another record holds. @returns the others that still wait, which may claim theirs */
  async lookUp(group: readonly PendingCommand[]): Promise<Set<PendingCommand>> {
    const some = group.filter((pending) => !pending.isComplete);
    const holders = await findAllHolders(
      this.#database,
      some.flatMap(({ claims }) => claims),
    );
    const free = new Set<PendingCommand>();
    for (const pending of some) {
      const taken = pending.claims.filter((claim) => holders.has(claimKey(claim)));
      pending.holders = undefined;
      if (taken.length === 0 || this.#mayTake(pending, taken, holders)) free.add(pending);
    }
    return free;
  }

  /**
   * To be called once the rows of these commands are locked. Remembers which of their ref_ids other records hold by now, durably or
   * not. Another process may have claimed them while the locks were waited for, and a batch that claims them again would be
   * refused. Such commands are decided as taken, and looked up again.
   */
  async rememberTaken(database: Queryable, group: readonly PendingCommand[]): Promise<void> {
    const claims = group.flatMap((pending) => pending.claims);
    const found = await Promise.all(holderQueries(database, claims, NO_MARKER).map((query) => query()));
    for (const [key, { id }] of found.flat()) this.#decider.rememberClaim(key, id);
  }

  /** Whether the taken ref_ids are the command's own or were released. If not, the command completes with `exists`. */
  #mayTake(pending: PendingCommand, taken: readonly Claim[], holders: ReadonlyMap<string, Holder>): boolean {
    pending.attempts += 1;
    if (pending.attempts > MAX_ROUNDS) {
      pending.unavailable("its ref_id is changing hands");
      return false;
    }
    const kept = new Map<string, { id: Uuid; released: boolean }>();
    pending.holders = kept;
    return taken.every((claim) => {
      const key = claimKey(claim);
      const { id, closedAt } = must(holders.get(key), "a taken ref_id has a holder");
      this.#decider.rememberClaim(key, id);
      const isOwn = id === claim.id;
      const { closedBefore } = claim.released ?? {};
      const released = !isOwn && closedAt !== undefined && closedBefore !== undefined && closedAt < closedBefore;
      kept.set(key, { id, released });
      if (released || isOwn) return true;
      // Commands that run at every start are marked, and say nothing about what the customer sends.
      if (claim.likelyTaken !== true) this.#repeating.add(claim.customerId);
      pending.complete({ kind: "exists", id });
      return false;
    });
  }
}

/** In place of a marker, where it does not matter whether what is found is durable. */
const NO_MARKER = "null";

/**
 * The records that hold these ref_ids durably, by claim key; free ones are left out. Waits for one commit per place where claims
 * are kept, however many are found.
 */
async function findAllHolders(database: Queryable, claims: readonly Claim[]): Promise<Map<string, Holder>> {
  const holders = new Map<string, Holder>();
  // At the same time each would take a connection.
  for (const query of holderQueries(database, claims, SERIALIZED_COMMIT_MARKER))
    for (const [key, holder] of await query()) holders.set(key, holder);
  return holders;
}

type Found = [key: string, holder: Holder][];

/** One for each place where claims are kept. */
function holderQueries(database: Queryable, claims: readonly Claim[], marker: string): (() => Promise<Found>)[] {
  const stored = claims.filter(({ keptBy }) => keptBy === undefined);
  const indexes = [...new Set(claims.flatMap(({ keptBy }) => keptBy?.index ?? []))];
  const inIndexes = indexes.map((index) => () => {
    const kept = claims.filter(({ keptBy }) => keptBy?.index === index);
    return findInIndex(database, index, kept, marker);
  });
  return stored.length === 0 ? inIndexes : [() => findStored(database, stored, marker), ...inIndexes];
}

/** Those that a unique index of a table keeps. */
async function findInIndex(
  database: Queryable,
  { table, columns, where }: UniqueIndex,
  claims: readonly Claim[],
  marker: string,
): Promise<Found> {
  const names = columns.map(({ name }) => name);
  const arrays = columns.map(({ type }, i) => `$${i + 1}::${type}[]`);
  const same = columns.map(({ name, expression = `t.${name}` }) => `${expression} = k.${name}`);
  const rows = await database.rows<{ place: string; id: Uuid }>(
    `select k.place, t.id, ${marker} as committed_behind
       from ${table} t join unnest(${arrays.join(", ")}) with ordinality as k(${names.join(", ")}, place)
         on ${[...same, ...(where === undefined ? [] : [where])].join(" and ")}`,
    columns.map((_, i) => claims.map(({ keptBy }) => keptBy?.values[i])),
  );
  return rows.map(({ place, id }) => [claimKey(claims[Number(place) - 1] as Claim), { id, closedAt: undefined }]);
}

interface StoredClaim {
  readonly customer_id: Uuid;
  readonly kind: ClaimKind;
  readonly ref_id: string;
  readonly id: Uuid;
  readonly closed_at: Instant | null;
}

/** Those that rows of `claim` keep. */
async function findStored(database: Queryable, claims: readonly Claim[], marker: string): Promise<Found> {
  const rows = await database.rows<StoredClaim>(
    `select c.customer_id, c.kind, c.ref_id, c.id, ${closingTime(claims)} as closed_at, ${marker} as committed_behind
       from claim c join unnest($1::uuid[], $2::claim_kind[], $3::text[]) as k(customer_id, kind, ref_id)
         on c.customer_id = k.customer_id and c.kind = k.kind and c.ref_id = k.ref_id`,
    [claims.map((claim) => claim.customerId), claims.map((claim) => claim.kind), claims.map((claim) => claim.refId)],
  );
  return rows.map((row) => [
    claimKey({ customerId: row.customer_id, kind: row.kind, refId: row.ref_id }),
    { id: row.id, closedAt: row.closed_at ?? undefined },
  ]);
}

/** SQL for the time at which the record of claim `c` was closed, if these claims ask for it. */
function closingTime(claims: readonly Claim[]): string {
  const tables = [...new Set(claims.flatMap(({ released }) => released?.table ?? []))].sort();
  const times = tables.map(
    (table) => `(select r.closed_at from ${table} r where r.customer_id = c.customer_id and r.id = c.id)`,
  );
  return `coalesce(${[...times, "null"].join(", ")})`;
}
