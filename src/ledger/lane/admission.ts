import type { Instant } from "../../std/clock.ts";
import type { Command, Outcome, Rejection } from "../decision.ts";
import { PendingCommand } from "./pending-command.ts";

/**
 * Who is inside the lane: every command from its arrival to its answer, bounded in all and per customer. What the
 * house does itself is bounded by whoever does it, and let in always.
 */
export class AdmissionControl {
  readonly #all = new Set<PendingCommand>();
  readonly #perTurn = new Map<string, number>();
  readonly #most: number;
  readonly #mostPerCustomer: number;
  #whenEmpty: (() => void)[] = [];

  constructor(most: number, mostPerCustomer: number) {
    this.#most = most;
    this.#mostPerCustomer = mostPerCustomer;
  }

  get size(): number {
    return this.#all.size;
  }

  get full(): boolean {
    return this.#all.size >= this.#most;
  }

  /** Lets a command in; one too many is answered with `Unavailable` at once. */
  enter<Value, Why extends Rejection>(
    command: Command<Value, Why>,
    deadline: Instant,
  ): { waiting: PendingCommand; outcome: Promise<Outcome<Value, Why>> } {
    const { promise, resolve, reject } = withResolvers<Outcome<Value, Why>>();
    const ofCustomer = this.#perTurn.get(command.queueKey) ?? 0;
    const tooMany = command.queueKey !== "house" && (this.full || ofCustomer >= this.#mostPerCustomer);
    // The item is of all kinds of commands; only this command's own rule answers it.
    const tellOutcome = resolve as (outcome: Outcome<unknown, Rejection>) => void;
    const waiting = new PendingCommand(command, deadline, { resolve: tellOutcome, reject, leave: this.#leave });
    this.#all.add(waiting);
    this.#perTurn.set(command.queueKey, ofCustomer + 1);
    if (tooMany) waiting.unavailable("too much is waiting");
    return { waiting, outcome: promise };
  }

  /** Tells those whose time is over. */
  expire(now: Instant): void {
    for (const waiting of this.#all) if (waiting.deadline <= now) waiting.unavailable("not in time");
  }

  /** Tells everybody that their outcome is not known. */
  tellAll(why: string): void {
    for (const waiting of this.#all) waiting.unavailable(why);
  }

  /** Answers when nobody is inside. Every command has a deadline, so this has one. */
  empty(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#all.size === 0) resolve();
      else this.#whenEmpty.push(resolve);
    });
  }

  readonly #leave = (waiting: PendingCommand): void => {
    const { queueKey: turn } = waiting.command;
    this.#all.delete(waiting);
    const left = (this.#perTurn.get(turn) ?? 1) - 1;
    if (left === 0) this.#perTurn.delete(turn);
    else this.#perTurn.set(turn, left);
    if (this.#all.size > 0) return;
    for (const tell of this.#whenEmpty.splice(0)) tell();
  };
}

function withResolvers<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<Value>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
