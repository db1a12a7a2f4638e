/** A command in the lane, from its arrival to its only outcome. */
import { assert } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import { type Claim, type Command, type Decision, type Outcome, type Rejection, Unavailable } from "../decision.ts";
import type { Key } from "../tables.ts";

/** Commands of all kinds share one queue; only the caller knows the outcome's type. */
export type AnyCommand = Command<unknown, Rejection, Claim>;
export type AnyOutcome = Outcome<unknown, Rejection, Claim>;

/** The caller's promise, and a callback on completion. */
export interface Callbacks {
  readonly resolve: (outcome: AnyOutcome) => void;
  readonly reject: (error: Error) => void;
  readonly onComplete: (pending: PendingCommand) => void;
}

const NO_CLAIMS: readonly Claim[] = [];
const NO_KEYS: readonly Key[] = [];

export class PendingCommand {
  readonly command: AnyCommand;
  readonly deadline: Instant;
  readonly #callbacks: Callbacks;
  isComplete = false;
  /** Rows that it has to wait for in line, because other processes held them when it was to be decided. */
  waitsFor = NO_KEYS;
  /** It has waited in vain together with others. */
  isAlone = false;
  /** Its rule has thrown, on rows of which not all were locked. */
  #hasThrown = false;
  #isInBatch = false;
  /** Keys of rows that were read and do not exist. Rare. */
  #absent: Set<string> | undefined;
  /** By claim key: the record that holds the command's ref_id, and whether it has released it. */
  holders: ReadonlyMap<string, { readonly id: string; readonly released: boolean }> | undefined;
  /** How often its ref_ids were looked up while taken. */
  attempts = 0;

  get claims(): readonly Claim[] {
    return this.command.claims ?? NO_CLAIMS;
  }

  /** In rows and ref_ids, of what a batch holds. */
  get weight(): number {
    return this.command.weight ?? this.command.dependsOn.length + this.claims.length;
  }

  constructor(command: AnyCommand, deadline: Instant, ends: Callbacks) {
    this.command = command;
    this.deadline = deadline;
    this.#callbacks = ends;
  }

  complete(outcome: AnyOutcome): void {
    if (this.#finish()) this.#callbacks.resolve(outcome);
  }

  fail(error: Error): void {
    if (this.#finish()) this.#callbacks.reject(error);
  }

  unavailable(why: string): void {
    this.fail(new Unavailable(why));
  }

  /** Fails if it is in a batch whose outcome is not known: in a second one it would take effect twice. */
  enterBatch(): void {
    assert(!this.#isInBatch, "a command is in one batch at a time");
    this.#isInBatch = true;
  }

  leaveBatch(): void {
    this.#isInBatch = false;
  }

  /** Whether all that it depends on must be locked. */
  get locksAll(): boolean {
    return this.command.lock === true || this.#hasThrown;
  }

  /** Its rule has thrown. @returns false the first time: then it is decided again, with all that it depends on locked */
  throwsAgain(): boolean {
    const isAgain = this.#hasThrown;
    this.#hasThrown = true;
    return isAgain;
  }

  isAbsent(key: string): boolean {
    return this.#absent?.has(key) === true;
  }

  addAbsent(key: string): void {
    this.#absent ??= new Set();
    this.#absent.add(key);
  }

  clearAbsent(keys: readonly string[]): void {
    if (this.#absent !== undefined) for (const key of keys) this.#absent.delete(key);
  }

  /** False if it was complete: a command that failed at its deadline gets no second outcome. */
  #finish(): boolean {
    if (this.isComplete) return false;
    this.isComplete = true;
    this.#callbacks.onComplete(this);
    return true;
  }
}

export interface Decided {
  readonly pending: PendingCommand;
  readonly decision: Decision<unknown, Rejection> | Taken;
}

/** Another record seems to hold the command's ref_id. */
export interface Taken {
  readonly kind: "taken";
}

export const claimsOf = (decided: readonly Decided[]): Claim[] => decided.flatMap(({ pending }) => pending.claims);
