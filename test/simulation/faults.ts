/**
 * The faults of a seed, and how often they occur: each seed has some kinds and not others, so that rare ones also occur
 * alone.
 */
import type { Random } from "../support/random.ts";
import { FAILURES, type Fate, type Network } from "./postgres/simulated-database.ts";
import type { Pace } from "./postgres/simulated-postgres.ts";

/** Faults of processes and of the server. */
export const INCIDENTS = [
  "node_killed",
  "node_paused",
  "server_restarted",
  "connections_ended",
  "clock_stepped",
] as const;
export type Incident = (typeof INCIDENTS)[number];

const ARRIVES: Fate = { kind: "arrives", lateMs: 0 };

const PIVOTAL_FAILS_OF = 6;

export class Faults implements Network, Pace {
  readonly #random: Random;
  readonly #failures: readonly Fate["kind"][];
  /** One message in so many fails. */
  readonly #oneFailsOf: number;
  readonly #oneCommitIsSlowOf: number;
  /** The wait for the standby is interrupted for one commit in so many; 0: for none. */
  readonly #oneIsInterruptedOf: number;
  readonly #latencyMs: number;
  readonly incidents: readonly Incident[];
  areOff = true;

  constructor(random: Random) {
    this.#random = random;
    this.#failures = FAILURES.filter(() => random(2) === 0);
    this.#oneFailsOf = 15 + random(150);
    this.#oneCommitIsSlowOf = random(3) === 0 ? 5 + random(50) : 0;
    this.#latencyMs = [0.2, 1, 5, 30][random(4)] ?? 1;
    this.incidents = INCIDENTS.filter(() => random(2) === 0);
    this.#oneIsInterruptedOf = random(3) === 0 ? 5 + random(100) : 0;
  }

  /** The faults of this seed. */
  toString(): string {
    const slow = this.#oneCommitIsSlowOf === 0 ? "" : `, one commit of ${this.#oneCommitIsSlowOf} slow`;
    const failures =
      this.#failures.length === 0
        ? "no message fails"
        : `one message of ${this.#oneFailsOf} ${this.#failures.join(" or ")}`;
    const few = this.#oneIsInterruptedOf;
    const interrupted = few === 0 ? "" : `, one commit of ${few} not waited for`;
    return `latency ${this.#latencyMs} ms, ${failures}${slow}${interrupted}; ${this.incidents.join(", ") || "no incidents"}`;
  }

  chance(): number {
    return this.#random(1_000) / 1_000;
  }

  latencyMs(): number {
    return this.#latencyMs * (0.5 + this.chance());
  }

  fate(isPivotal = false): Fate {
    if (this.areOff || this.#failures.length === 0) return ARRIVES;
    if (this.#random(isPivotal ? PIVOTAL_FAILS_OF : this.#oneFailsOf) !== 0) return ARRIVES;
    const kind = this.#failures[this.#random(this.#failures.length)] ?? "lost";
    return { kind, lateMs: this.#random(3) === 0 ? this.#random(15_000) : this.#random(500) };
  }

  executeMs(): number {
    return 0.1 + this.chance();
  }

  commitMs(): number {
    const isSlow = !this.areOff && this.#oneCommitIsSlowOf > 0 && this.#random(this.#oneCommitIsSlowOf) === 0;
    return isSlow ? this.#random(8_000) : 0.5 + 4 * this.chance();
  }

  isInterrupted(): boolean {
    return !this.areOff && this.#oneIsInterruptedOf > 0 && this.#random(this.#oneIsInterruptedOf) === 0;
  }

  isFlushedAtCrash(): boolean {
    return this.#random(2) === 0;
  }
}
