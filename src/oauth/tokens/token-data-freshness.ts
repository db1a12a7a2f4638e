/**
 * Bounds the age of the data that nodes verify tokens with. It is read every two seconds, and is *fresh* for four seconds
 * from the start of a read. A request that finds it stale (the database was slow or unavailable) waits for a new read,
 * and fails if that fails. So every node applies a change within four seconds, or serves no request.
 */
import { DatabaseAway } from "../../postgres/database.ts";

const FRESH_MS = 4_000;

export interface FreshnessOptions {
  readonly read: () => Promise<unknown>;
  /** A monotonic clock in ms, so that setting back the time does not make a stale read fresh. */
  readonly elapsed?: () => number;
}

export class Freshness {
  readonly #read: FreshnessOptions["read"];
  readonly #elapsed: () => number;
  #readAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor({ read, elapsed = () => performance.now() }: FreshnessOptions) {
    this.#read = read;
    this.#elapsed = elapsed;
  }

  isFresh(): boolean {
    return this.#elapsed() - this.#readAt < FRESH_MS;
  }

  /** @throws DatabaseAway when no fresh read is possible */
  async freshen(): Promise<void> {
    if (!this.isFresh()) await this.follow();
    // The read that we joined may have begun long ago. A second one has just begun.
    if (!this.isFresh()) await this.follow();
    if (!this.isFresh()) throw new DatabaseAway("reading signing keys and client restrictions takes too long");
  }

  /** Reads, or joins the read in progress. */
  follow(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const beganAt = this.#elapsed();
    await this.#read();
    this.#readAt = beganAt;
  }
}
