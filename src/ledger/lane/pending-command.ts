/** A command inside the lane, from its arrival to its one answer. */
import type { Instant } from "../../std/clock.ts";
import { type Command, type Decision, type Outcome, type Rejection, Unavailable } from "../decision.ts";

/** Commands of all kinds stand in one line; what each answers is known to its caller alone. */
export type AnyCommand = Command<unknown, Rejection>;
type AnyOutcome = Outcome<unknown, Rejection>;

/** Whom the one answer is told, and who is told that the command has left. */
export interface Ends {
  readonly resolve: (outcome: AnyOutcome) => void;
  readonly reject: (error: Error) => void;
  readonly leave: (waiting: PendingCommand) => void;
}

export class PendingCommand {
  readonly command: AnyCommand;
  readonly deadline: Instant;
  readonly #ends: Ends;
  answered = false;
  /** Keys that were looked for and are not there: of few commands any. */
  #absent: Set<string> | undefined;
  /** The record that holds the command's ref_id, and whether it has let go of it. */
  holder: { readonly id: string; readonly released: boolean } | undefined;
  /** How often its ref_id was looked up and the command decided again. */
  rounds = 0;

  constructor(command: AnyCommand, deadline: Instant, ends: Ends) {
    this.command = command;
    this.deadline = deadline;
    this.#ends = ends;
  }

  answer(outcome: AnyOutcome): void {
    if (this.#leaves()) this.#ends.resolve(outcome);
  }

  fail(error: Error): void {
    if (this.#leaves()) this.#ends.reject(error);
  }

  unavailable(why: string): void {
    this.fail(new Unavailable(why));
  }

  isAbsent(key: string): boolean {
    return this.#absent?.has(key) === true;
  }

  noteAbsent(key: string): void {
    this.#absent ??= new Set();
    this.#absent.add(key);
  }

  forgetAbsent(): void {
    this.#absent = undefined;
  }

  /** Whether it leaves now. A caller who was told 503 at the deadline is not told twice. */
  #leaves(): boolean {
    if (this.answered) return false;
    this.answered = true;
    this.#ends.leave(this);
    return true;
  }
}

/** What became of a command in a batch: its decision, or that its ref_id is another's, who has to be looked up. */
export interface Decided {
  readonly waiting: PendingCommand;
  readonly decision: Decision<unknown, Rejection> | "taken";
}

/** Where a command goes on from a side step: back to its place in the line, or to its caller with a fault. */
export interface Steps {
  admit(waiting: PendingCommand): void;
  fail(waiting: PendingCommand, error: unknown): void;
}
