/**
 * What goes wrong in a seed, and how often: each seed has some kinds of trouble and not others, so that rare ones are
 * also met alone. When the storm is over nothing goes wrong any more.
 */
import type { Random } from "../support/random.ts";
import { FAILURES, type Fate, type Network } from "./simulated-database.ts";
import type { Pace } from "./simulated-postgres.ts";

/** What happens to the processes and the server at a moment. */
export const DISASTERS = [
  "node_killed",
  "node_paused",
  "server_restarted",
  "connections_ended",
  "clock_stepped",
] as const;
export type Disaster = (typeof DISASTERS)[number];

const ARRIVES: Fate = { kind: "arrives", lateMs: 0 };

const PIVOTAL_FAILS_OF = 6;

export class Weather implements Network, Pace {
  readonly #random: Random;
  readonly #failures: readonly Fate["kind"][];
  /** Of so many messages one fails. */
  readonly #oneFailsOf: number;
  readonly #oneCommitIsSlowOf: number;
  /** Of so many commits one is not waited for until the standby has it; 0: all are. */
  readonly #oneIsInterruptedOf: number;
  readonly #latencyMs: number;
  readonly disasters: readonly Disaster[];
  isCalm = true;

  constructor(random: Random) {
    this.#random = random;
    this.#failures = FAILURES.filter(() => random(2) === 0);
    this.#oneFailsOf = 15 + random(150);
    this.#oneCommitIsSlowOf = random(3) === 0 ? 5 + random(50) : 0;
    this.#latencyMs = [0.2, 1, 5, 30][random(4)] ?? 1;
    this.disasters = DISASTERS.filter(() => random(2) === 0);
    this.#oneIsInterruptedOf = random(3) === 0 ? 5 + random(100) : 0;
  }

  /** What can go wrong, in words. */
  toString(): string {
    const slow = this.#oneCommitIsSlowOf === 0 ? "" : `, one commit of ${this.#oneCommitIsSlowOf} slow`;
    const failures =
      this.#failures.length === 0
        ? "no message fails"
        : `one message of ${this.#oneFailsOf} ${this.#failures.join(" or ")}`;
    const few = this.#oneIsInterruptedOf;
    const interrupted = few === 0 ? "" : `, one commit of ${few} not waited for`;
    return `latency ${this.#latencyMs} ms, ${failures}${slow}${interrupted}; ${this.disasters.join(", ") || "no disasters"}`;
  }

  chance(): number {
    return this.#random(1_000) / 1_000;
  }

  latencyMs(): number {
    return this.#latencyMs * (0.5 + this.chance());
  }

  fate(isPivotal = false): Fate {
    if (this.isCalm || this.#failures.length === 0) return ARRIVES;
    if (this.#random(isPivotal ? PIVOTAL_FAILS_OF : this.#oneFailsOf) !== 0) return ARRIVES;
    const kind = this.#failures[this.#random(this.#failures.length)] ?? "lost";
    return { kind, lateMs: this.#random(3) === 0 ? this.#random(15_000) : this.#random(500) };
  }

  executeMs(): number {
    return 0.1 + this.chance();
  }

  commitMs(): number {
    const isSlow = !this.isCalm && this.#oneCommitIsSlowOf > 0 && this.#random(this.#oneCommitIsSlowOf) === 0;
    return isSlow ? this.#random(8_000) : 0.5 + 4 * this.chance();
  }

  isInterrupted(): boolean {
    return !this.isCalm && this.#oneIsInterruptedOf > 0 && this.#random(this.#oneIsInterruptedOf) === 0;
  }

  isFlushedAtCrash(): boolean {
    return this.#random(2) === 0;
  }
}
