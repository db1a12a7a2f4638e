/**
 * Decides commands on the rows in memory, and builds the batch. Synchronous: nothing else runs between the first and
 * the last decision of a batch.
 */
import { asError } from "../../std/as-error.ts";
import { assert } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { LruCache } from "../../std/lru-cache.ts";
import { type Claim, claimKey, type State } from "../decision.ts";
import { type Key, keyName, type StateRow, type StateTable } from "../tables.ts";
import { Batch, type BatchContent, keysOf } from "./batch.ts";
import type { FoundUnderLock } from "./contested-rows.ts";
import type { LaneBounds } from "./lane-options.ts";
import { claimsOf, type Decided, type PendingCommand } from "./pending-command.ts";
import { RowCache } from "./reading/row-cache.ts";

export interface DecidedBatch {
  readonly content: BatchContent;
  readonly decided: readonly Decided[];
  /** The clock's time, which the database checks. The batch's own time may be later: see `Batch.close`. */
  readonly decidedAt: Instant;
  /** The earliest deadline of its commands. */
  readonly deadline: Instant;
}

export interface Decisions {
  /** Undefined when nothing was decided. */
  readonly batch: DecidedBatch | undefined;
  /** Commands whose rows must be read first. */
  readonly unknown: readonly PendingCommand[];
  /** Commands whose rule threw: bugs. */
  readonly failed: readonly { readonly pending: PendingCommand; readonly error: Error }[];
}

export class Decider {
  readonly #cache: RowCache;
  /** Recently claimed ref_ids and their records. The database catches what is missing here. */
  readonly #claims: LruCache<string>;
  /** Batches never go back in time. */
  #lastDecidedAt = 0 as Instant;
  /** Increments on every reset, so that rows read before it are dropped. */
  #epoch = 0;

  constructor({ cachedBytes, cachedRefIds }: Pick<LaneBounds, "cachedBytes" | "cachedRefIds">) {
    this.#cache = new RowCache(cachedBytes);
    this.#claims = new LruCache(cachedRefIds);
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Whether each row that a command depends on is in memory, or known to be absent. */
  isKnown(pending: PendingCommand): boolean {
    return pending.command.dependsOn.every((key) => this.#isRowKnown(pending, key));
  }

  /** Whether the row is in memory, and so exists. */
  has({ table, key }: Key): boolean {
    return this.#cache.has(table, key);
  }

  /** The rows that must be read before it can be decided. */
  unknown(pending: PendingCommand): Key[] {
    return pending.command.dependsOn.filter((key) => !this.#isRowKnown(pending, key));
  }

  /** Adds rows that were read for these commands; for them alone, keys without a row count as absent. */
  remember(
    keys: readonly Key[],
    rows: readonly (Key & { readonly row: StateRow })[],
    readFor: readonly PendingCommand[],
  ): void {
    // A row that is already cached is newer than what was read.
    for (const { table, key, row } of rows) if (!this.#cache.has(table, key)) this.#cache.set(table, key, row);
    const missing = new Set(keys.map(keyName));
    for (const key of rows) missing.delete(keyName(key));
    for (const pending of readFor) {
      for (const key of this.unknown(pending)) if (missing.has(keyName(key))) pending.addAbsent(keyName(key));
    }
  }

  /**
   * Adds rows that were locked for these commands: what was read of them before may be older.
   * @param keys of these rows, and of some that are absent
   */
  replace(
    keys: readonly Key[],
    rows: readonly (Key & { readonly row: StateRow })[],
    lockedFor: readonly PendingCommand[],
  ): FoundUnderLock {
    const [changed, unchanged]: [string[], string[]] = [[], []];
    for (const found of rows) {
      const known = this.#cache.get(found.table, found.key);
      if (known !== undefined) (known.version === found.row.version ? unchanged : changed).push(keyName(found));
    }
    this.forget(keys);
    const names = keys.map(keyName);
    for (const pending of lockedFor) pending.clearAbsent(names);
    this.remember(keys, rows, lockedFor);
    return { changed, unchanged };
  }

  /** Drops rows that may have changed; those of others stay. */
  forget(keys: readonly Key[]): void {
    for (const { table, key } of keys) this.#cache.delete(table, key);
  }

  /** Drops all that a batch which has not committed was decided on, and what it made of that. */
  undo({ content, decided }: DecidedBatch): void {
    this.forget(keysOf(content));
    for (const claim of claimsOf(decided)) this.#claims.delete(claimKey(claim));
  }

  reset(): void {
    this.#cache.clear();
    this.#claims.clear();
    // It may stem from a clock that was wrong.
    this.#lastDecidedAt = 0 as Instant;
    this.#epoch += 1;
  }

  /** @param now what rules see; it may step back, unlike the times of batches */
  decide(group: readonly PendingCommand[], slot: number, now: Instant): Decisions {
    const decisions = this.#decideAll(group, slot, now);
    this.#cache.evict();
    return decisions;
  }

  #decideAll(group: readonly PendingCommand[], slot: number, now: Instant): Decisions {
    const batch = new Batch(this.#cache, slot);
    const decided: Decided[] = [];
    const unknown: PendingCommand[] = [];
    const failed: { pending: PendingCommand; error: Error }[] = [];
    for (const [i, pending] of group.entries()) {
      if (!this.isKnown(pending)) {
        unknown.push(pending);
        continue;
      }
      try {
        decided.push(this.#decideOne(pending, batch, now));
      } catch (error) {
        failed.push({ pending, error: asError(error) });
        if (!batch.isInconsistent) continue;
        // Its changes are half applied, so the cache is invalid. No outcome has been reported yet.
        this.reset();
        const others = [...decided.map((one) => one.pending), ...group.slice(i + 1)];
        return { batch: undefined, unknown: [...unknown, ...others], failed };
      }
    }
    if (decided.length === 0) return { batch: undefined, unknown, failed };
    this.#lastDecidedAt = Math.max(now, this.#lastDecidedAt) as Instant;
    const content = batch.close(this.#lastDecidedAt);
    const deadline = Math.min(...decided.map(({ pending }) => pending.deadline)) as Instant;
    return { batch: { content, decided, decidedAt: this.#lastDecidedAt, deadline }, unknown, failed };
  }

  #decideOne(pending: PendingCommand, batch: Batch, now: Instant): Decided {
    const { command } = pending;
    const claims = pending.claims.map((claim) => this.#standingOf(claim, pending.holders));
    if (claims.some(({ standing }) => standing === "taken")) return { pending, decision: { kind: "taken" } };
    const decision = command.decide(this.#view(pending), now);
    batch.dependOn(command.dependsOn, decision.kind === "rejected" ? "rejected" : "accepted");
    if (decision.kind === "rejected") return { pending, decision };
    batch.add(decision.changes, command.caller, command.dependsOn);
    for (const { claim, key, standing } of claims) {
      if (standing === "own") continue;
      batch.claim(claim, typeof standing === "string" ? undefined : standing.replaces);
      this.rememberClaim(key, claim.id);
    }
    return { pending, decision };
  }

  #standingOf(claim: Claim, holders: PendingCommand["holders"]) {
    const key = claimKey(claim);
    return { claim, key, standing: this.#standing(claim, key, holders?.get(key)) };
  }

  /** The state of a command's ref_id, as far as it is known without the database. */
  #standing(
    claim: Claim,
    key: string,
    holder: { readonly id: string; readonly released: boolean } | undefined,
  ): "free" | "own" | "taken" | { replaces: string } {
    const known = this.#claims.get(key) ?? holder?.id;
    if (known === undefined) return "free";
    if (known === claim.id) return "own";
    return holder?.released === true && holder.id === known ? { replaces: known } : "taken";
  }

  rememberClaim(key: string, id: string): void {
    this.#claims.set(key, id);
  }

  /** Whether it is in memory, or known to be absent. */
  #isRowKnown(pending: PendingCommand, key: Key): boolean {
    return this.has(key) || pending.isAbsent(keyName(key));
  }

  #view(pending: PendingCommand): State {
    return {
      get: <Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined => {
        const row = this.#cache.get(table, key);
        assert(
          row !== undefined || pending.isAbsent(keyName({ table, key })),
          () => `a command that reads ${table.name} ${key} depends on it`,
        );
        return row;
      },
    };
  }
}
