/**
 * Decides commands on the rows in memory, and gathers what one batch has to check and to write. Synchronous: between
 * the first and the last decision of a batch nothing else happens.
 */
import { assert } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { Recent } from "../../std/recent.ts";
import { type Claim, claimKey, type State } from "../decision.ts";
import { type Key, keyName, type StateRow, type StateTable } from "../rows.ts";
import { Batch, type BatchContent } from "./batch.ts";
import { Memory } from "./memory.ts";
import type { Decided, PendingCommand } from "./pending-command.ts";

export interface DecidedBatch {
  readonly content: BatchContent;
  readonly decided: readonly Decided[];
  /** What the clock said, which the database looks at. The batch's own time may be later: see `Batch.close`. */
  readonly decidedAt: Instant;
  /** The earliest of its commands. */
  readonly deadline: Instant;
}

/** What became of a group of commands that were to be decided. */
export interface Decisions {
  /** Undefined when nothing was decided. */
  readonly batch: DecidedBatch | undefined;
  /** Rows of these have to be read first. */
  readonly unknown: readonly PendingCommand[];
  /** Commands whose own code failed: bugs, one by one. */
  readonly failed: readonly { readonly waiting: PendingCommand; readonly error: Error }[];
}

export class Deciding {
  readonly #memory: Memory;
  /** Ref_ids that were claimed lately, with whose they are. What is not here the database finds. */
  readonly #claims: Recent<string>;
  /** When the last batch was decided: what follows it is not earlier. */
  #lastDecidedAt = 0 as Instant;
  /** Rises whenever the memory starts anew: what was read for an older one is not put into it. */
  #epoch = 0;

  constructor(remembered: number) {
    this.#memory = new Memory(remembered);
    this.#claims = new Recent(remembered);
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** Whether each row that a command rests on is remembered, or known to be missing. */
  isKnown(waiting: PendingCommand): boolean {
    return waiting.command.dependsOn.every((key) => this.#isKnown(waiting, key));
  }

  /** The rows that have to be read before it can be decided. */
  unknown(waiting: PendingCommand): Key[] {
    return waiting.command.dependsOn.filter((key) => !this.#isKnown(waiting, key));
  }

  #isKnown(waiting: PendingCommand, key: Key): boolean {
    return this.#memory.has(key.table, key.key) || waiting.isAbsent(keyName(key));
  }

  /**
   * Takes in the rows that were read for these commands; keys without a row are noted as absent, for them alone. A row
   * that memory has no room for is not absent: its command finds it unknown, and it is read again.
   */
  learn(
    keys: readonly Key[],
    rows: readonly (Key & { readonly row: StateRow })[],
    readFor: readonly PendingCommand[],
  ): void {
    // A row that came into memory meanwhile is newer than what was read.
    for (const { table, key, row } of rows) if (!this.#memory.has(table, key)) this.#memory.set(table, key, row);
    const missing = new Set(keys.map(keyName));
    for (const key of rows) missing.delete(keyName(key));
    for (const waiting of readFor) {
      for (const key of this.unknown(waiting)) if (missing.has(keyName(key))) waiting.noteAbsent(keyName(key));
    }
  }

  startAnew(): void {
    this.#memory.forget();
    this.#claims.clear();
    // It may have been decided by a clock that was wrong.
    this.#lastDecidedAt = 0 as Instant;
    this.#epoch += 1;
  }

  /** Rules are given the time as it is, `now`, which may step back; the times of batches do not. */
  decide(group: readonly PendingCommand[], slot: number, now: Instant): Decisions {
    const batch = new Batch(this.#memory, slot);
    const decided: Decided[] = [];
    const unknown: PendingCommand[] = [];
    const failed: { waiting: PendingCommand; error: Error }[] = [];
    for (const [i, waiting] of group.entries()) {
      if (!this.isKnown(waiting)) {
        unknown.push(waiting);
        continue;
      }
      try {
        decided.push(this.#decideOne(waiting, batch, now));
      } catch (error) {
        failed.push({ waiting, error: error instanceof Error ? error : new Error(String(error)) });
        if (!batch.spoilt) continue;
        // Its changes are half applied: nothing in memory is worth anything, and nobody was told yet.
        this.startAnew();
        const others = [...decided.map((one) => one.waiting), ...group.slice(i + 1)];
        return { batch: undefined, unknown: [...unknown, ...others], failed };
      }
    }
    if (decided.length === 0) return { batch: undefined, unknown, failed };
    this.#lastDecidedAt = Math.max(now, this.#lastDecidedAt) as Instant;
    const content = batch.close(this.#lastDecidedAt);
    const deadline = Math.min(...decided.map(({ waiting }) => waiting.deadline)) as Instant;
    return { batch: { content, decided, decidedAt: this.#lastDecidedAt, deadline }, unknown, failed };
  }

  #decideOne(waiting: PendingCommand, batch: Batch, now: Instant): Decided {
    const { command } = waiting;
    const { claim } = command;
    const key = claim && claimKey(claim);
    const standing = claim === undefined || key === undefined ? "own" : this.#standing(claim, key, waiting.holder);
    if (standing === "taken") return { waiting, decision: "taken" };
    const decision = command.decide(this.#view(waiting), now);
    batch.rest(command.dependsOn);
    if (!decision.accepted) return { waiting, decision };
    batch.add(decision.changes, command.caller);
    if (claim !== undefined && key !== undefined && standing !== "own") {
      batch.claim(claim, standing === "free" ? undefined : standing.replaces);
      this.rememberClaim(key, claim.id);
    }
    return { waiting, decision };
  }

  /** How a command stands to its ref_id, as far as that is known without asking the database. */
  #standing(
    claim: Claim,
    key: string,
    holder: PendingCommand["holder"],
  ): "free" | "own" | "taken" | { replaces: string } {
    const known = this.#claims.get(key) ?? holder?.id;
    if (known === undefined) return "free";
    if (known === claim.id) return "own";
    return holder?.released === true && holder.id === known ? { replaces: known } : "taken";
  }

  rememberClaim(key: string, id: string): void {
    this.#claims.set(key, id);
  }

  #view(waiting: PendingCommand): State {
    return {
      get: <Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined => {
        const row = this.#memory.get(table, key);
        assert(
          row !== undefined || waiting.isAbsent(keyName({ table, key })),
          () => `a command that looks at ${table.name} ${key} has named it`,
        );
        return row;
      },
    };
  }
}
