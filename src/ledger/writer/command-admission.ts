import type { Instant } from "../../std/clock.ts";
import { withResolvers } from "../../std/with-resolvers.ts";
import type { Claim, Command, Outcome, Rejection } from "../decision.ts";
import { type AnyCommand, type AnyOutcome, PendingCommand } from "./pending-command.ts";

/**
 * Admission control: bounds the pending commands, in total and per customer. Those of the house and settlements are bounded at
 * their source and always admitted.
 */
export class AdmissionControl {
  readonly #all = new Set<PendingCommand>();
  readonly #countByQueue = new Map<string, number>();
  readonly #max: number;
  readonly #maxPerCustomer: number;
  #drainWaiters: (() => void)[] = [];

  constructor(max: number, maxPerCustomer: number) {
    this.#max = max;
    this.#maxPerCustomer = maxPerCustomer;
  }

  get size(): number {
    return this.#all.size;
  }

  get isFull(): boolean {
    return this.#all.size >= this.#max;
  }

  /** A command beyond a bound fails with `Unavailable` at once. */
  admit<Value, Why extends Rejection, Claimed extends Claim>(
    command: Command<Value, Why, Claimed>,
    deadline: Instant,
  ): { pending: PendingCommand; outcome: Promise<Outcome<Value, Why, Claimed>> } {
    const { promise, resolve, reject } = withResolvers<Outcome<Value, Why, Claimed>>();
    const ofCustomer = this.#countByQueue.get(command.queueKey) ?? 0;
    const tooMany = isShed(command.queueKey) && (this.isFull || ofCustomer >= this.#maxPerCustomer);
    // PendingCommand is not generic; only this command's own rule and claim produce its outcome.
    const resolveAny = resolve as (outcome: AnyOutcome) => void;
    const pending = new PendingCommand(command, deadline, { resolve: resolveAny, reject, onComplete: this.#remove });
    this.#all.add(pending);
    this.#countByQueue.set(command.queueKey, ofCustomer + 1);
    if (tooMany) pending.unavailable("too much is waiting");
    return { pending, outcome: promise };
  }

  expire(now: Instant): void {
    for (const pending of this.#all) if (pending.deadline <= now) pending.unavailable("not in time");
  }

  /** Fails every pending command, because its outcome is unknown. */
  failAll(why: string): void {
    for (const pending of this.#all) pending.unavailable(why);
  }

  /** Resolves when no command is pending, at the latest when the last deadline has passed. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#all.size === 0) resolve();
      else this.#drainWaiters.push(resolve);
    });
  }

  readonly #remove = (pending: PendingCommand): void => {
    const { queueKey } = pending.command;
    this.#all.delete(pending);
    const left = (this.#countByQueue.get(queueKey) ?? 1) - 1;
    if (left === 0) this.#countByQueue.delete(queueKey);
    else this.#countByQueue.set(queueKey, left);
    if (this.#all.size > 0) return;
    for (const resolve of this.#drainWaiters.splice(0)) resolve();
  };
}

const isShed = (queueKey: AnyCommand["queueKey"]): boolean =>
  queueKey !== "house" && !queueKey.startsWith("settlements of ");
