/** What is known of a receiver: whether it fails, since when, and how fast it may be sent to. */
import type { DisablingReason } from "../../customers/webhooks/webhook.ts";
import type { Instant } from "../../std/clock.ts";
import { MOST_IN_FLIGHT, type Outcome, type Progress } from "./delivery-queue.ts";
import { LONGEST_RETRY_AFTER_MS } from "./retry-schedule.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** After so long without one acceptance a webhook is disabled. */
const MOST_FAILING_MS = 5 * DAY_MS;
/** When nothing was tried for so long, as while the service was stopped, the time begins again. */
const FORGOTTEN_AFTER_MS = 2 * DAY_MS;
/** What was not sent in the last second may be sent at once. */
const BURST_MS = 1_000;
/**
 * A receiver that only fails is tried less and less often, whatever waits for it: what an attempt costs, it decides. A few
 * failures are of single objects, and delay nothing.
 */
const FAILURES_WITHOUT_REST = 8;
const FIRST_REST_MS = 100;
const LONGEST_REST_MS = 30_000;

export class Receiver {
  readonly #tokenMs: number;
  failingSince: Instant | undefined;
  lastFailureAt: Instant | undefined;
  lastSuccessAt: Instant | undefined;
  disabling: DisablingReason | undefined;
  /** The generic cell rate algorithm: when as much may be sent at once as at the beginning. */
  #restedAt = 0;
  #pausedUntil = 0;
  /** Doubles with each acceptance: a receiver that hangs takes few connections before that is known. */
  #allowedInFlight = 1;
  #failuresInARow = 0;

  constructor(deliveriesPerSecond: number, stored: Progress) {
    this.#tokenMs = 1_000 / deliveriesPerSecond;
    this.failingSince = stored.failingSince;
    this.lastFailureAt = stored.lastFailureAt;
    this.lastSuccessAt = stored.lastSuccessAt;
  }

  /** What of it is written. */
  get times(): Pick<Progress, "failingSince" | "lastFailureAt" | "lastSuccessAt"> {
    const { failingSince, lastFailureAt, lastSuccessAt } = this;
    return { failingSince, lastFailureAt, lastSuccessAt };
  }

  get isFailing(): boolean {
    return this.failingSince !== undefined;
  }

  get mostInFlight(): number {
    return this.disabling === undefined ? this.#allowedInFlight : 0;
  }

  /** From when on another request may be sent, as far as pace and pauses go. */
  readyAt(now: Instant): Instant {
    // A clock that was set back must not delay for longer than what was asked for.
    this.#pausedUntil = Math.min(this.#pausedUntil, now + LONGEST_RETRY_AFTER_MS);
    this.#restedAt = Math.min(this.#restedAt, now + BURST_MS);
    return Math.ceil(Math.max(now, this.#pausedUntil, this.#restedAt + this.#tokenMs - BURST_MS)) as Instant;
  }

  onSent(now: Instant): void {
    this.#restedAt = Math.max(this.#restedAt, now) + this.#tokenMs;
  }

  onOutcome(outcome: Outcome, now: Instant): void {
    if (outcome.kind === "accepted") {
      this.lastSuccessAt = now;
      this.failingSince = undefined;
      this.#allowedInFlight = Math.min(2 * this.#allowedInFlight, MOST_IN_FLIGHT);
      this.#failuresInARow = 0;
      return;
    }
    this.#allowedInFlight = 1;
    this.#failuresInARow += 1;
    const isForgotten = this.lastFailureAt !== undefined && now - this.lastFailureAt > FORGOTTEN_AFTER_MS;
    if (this.failingSince === undefined || isForgotten) this.failingSince = now;
    this.lastFailureAt = now;
    if (outcome.kind === "gone") this.disabling = "gone";
    else if (now - this.failingSince >= MOST_FAILING_MS) this.disabling = "failing";
    else this.#pausedUntil = now + Math.max(this.#restMs, Math.min(outcome.retryAfterMs ?? 0, LONGEST_RETRY_AFTER_MS));
  }

  get #restMs(): number {
    const doublings = this.#failuresInARow - FAILURES_WITHOUT_REST;
    return doublings <= 0 ? 0 : Math.min(FIRST_REST_MS * 2 ** (doublings - 1), LONGEST_REST_MS);
  }
}
