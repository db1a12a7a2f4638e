/** A command inside the lane, from its arrival to its one answer. */
import type { Instant } from "../std/clock.ts";
import { type Command, type Decision, type Outcome, type Refusal, Unavailable } from "./decision.ts";

/** Commands of all kinds stand in one line; what each answers is known to its caller alone. */
export type AnyCommand = Command<unknown, Refusal>;
type AnyOutcome = Outcome<unknown, Refusal>;

export class Waiting {
  readonly command: AnyCommand;
  readonly deadline: Instant;
  readonly #resolve: (outcome: AnyOutcome) => void;
  readonly #reject: (error: Error) => void;
  answered = false;
  /** Keys that were looked for and are not there. */
  readonly absent = new Set<string>();
  /** The record that holds the command's ref_id, and whether it has let go of it. */
  holder: { readonly id: string; readonly released: boolean } | undefined;
  /** How often its ref_id was looked up and the command decided again. */
  rounds = 0;

  constructor(
    command: AnyCommand,
    deadline: Instant,
    resolve: (outcome: AnyOutcome) => void,
    reject: (error: Error) => void,
  ) {
    this.command = command;
    this.deadline = deadline;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answer(outcome: AnyOutcome): void {
    this.#end(() => this.#resolve(outcome));
  }

  fail(error: Error): void {
    this.#end(() => this.#reject(error));
  }

  unavailable(why: string): void {
    this.fail(new Unavailable(why));
  }

  /** A caller who was told 503 at the deadline is not told twice. */
  #end(tell: () => void): void {
    if (this.answered) return;
    this.answered = true;
    tell();
  }
}

/** What became of a command in a batch: its decision, or that its ref_id is another's, who has to be looked up. */
export interface Decided {
  readonly waiting: Waiting;
  readonly decision: Decision<unknown, Refusal> | "taken";
}

/** Where a command goes on from a side step: back to its place in the line, or to its caller with a fault. */
export interface Steps {
  admit(waiting: Waiting): void;
  fail(waiting: Waiting, error: unknown): void;
}
