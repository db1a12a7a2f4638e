/**
 * How long a batch waits for each lock that another process holds. Everybody's writes wait with it, and who holds a row will
 * most likely change it, so that the batch is refused in the end: the shorter, the better. But to find out what is held, and to
 * wait for it in line (`RowLines`), costs time, too. So it is as long as two commits take at present.
 */
export class LockPatience {
  readonly #leastMs: number;
  readonly #latestMs: number[] = [];

  constructor(leastMs: number) {
    this.#leastMs = leastMs;
  }

  /** What a batch has taken, once those before it had committed. */
  observe(commitMs: number): void {
    this.#latestMs.push(commitMs);
    if (this.#latestMs.length > OBSERVED) this.#latestMs.shift();
  }

  /** As PostgreSQL shows it. In few steps, so that it seldom changes. */
  get timeout(): string {
    // The median, so that a few large batches do not count.
    const medianMs = this.#latestMs.toSorted((a, b) => a - b)[Math.floor(this.#latestMs.length / 2)] ?? 0;
    const enoughMs = Math.max(this.#leastMs, 2 * medianMs);
    const ms = STEPS_MS.find((step) => step >= enoughMs) ?? LONGEST_MS;
    return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
  }
}

const OBSERVED = 9;
const STEPS_MS = [50, 100, 200, 400, 800, 1_600];
const LONGEST_MS = 3_000;

/**
 * The same timeouts for a pooled transaction that writes a batch. Other processes wait for the rows that it has locked: if
 * this one stands still, or its machine is lost, PostgreSQL ends the transaction after a second, and then it is decided
 * again.
 */
export const LOCKING_SETTINGS =
  "select set_config('lock_timeout', $1, true), set_config('statement_timeout', '8s', true), set_config('idle_in_transaction_session_timeout', '1s', true)";
