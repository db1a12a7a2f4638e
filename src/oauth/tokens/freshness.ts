/**
 * What every node follows of the database so that it can judge tokens by itself: it is read every two seconds, and is
 * *fresh* for four seconds after the reading of it began. When it is not (the database was slow or away) a request does
 * not rely on it: it waits for a reading of its own, and where that fails the request fails with it. So a change is
 * known everywhere within four seconds, or nobody is served; and nothing could be done without the database anyway.
 */
import { DatabaseAway } from "../../postgres/database.ts";

const FRESH_MS = 4_000;

export interface FreshnessOptions {
  readonly read: () => Promise<unknown>;
  /** Milliseconds that only ever pass, so that a clock that is set back does not make an old reading fresh. */
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

  /** Answers once what was read is fresh. Throws `DatabaseAway` when it cannot be had. */
  async freshen(): Promise<void> {
    if (!this.isFresh()) await this.follow();
    // The reading that was waited for may have begun long ago. A second one began just now.
    if (!this.isFresh()) await this.follow();
    if (!this.isFresh()) throw new DatabaseAway("reading what tokens rest on takes too long");
  }

  /** Reads anew; whoever asks while it is being read waits for the same reading. */
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
