/**
 * Shared reads that are kept while their version is the newest: whoever asks costs one look at the version, and only the
 * first one behind a change costs the read itself.
 *
 * A version stands for one value as long as the database only goes forward. After a failover that lost commits it comes to
 * the same versions again with other values; connections break then, so a look that fails forgets what was kept, and
 * nothing is trusted that was not confirmed within the last second.
 */
import { SharedReads } from "./shared-reads.ts";

export interface VersionedSource<Key, Value> {
  /** The newest version there is. */
  readonly newest: (key: Key) => Promise<bigint>;
  readonly read: (key: Key) => Promise<Value>;
  /** The version that was read: it may be newer than the one that was looked at before. */
  readonly versionOf: (value: Value) => bigint;
}

interface CachedValue<Value> {
  readonly value: Value;
  readonly confirmedAt: number;
}

const MAX_AGE_MS = 1_000;

/** As many values are kept as there are keys, so there must be few. */
export class VersionedReads<Key, Value> {
  readonly #source: VersionedSource<Key, Value>;
  readonly #now: () => number;
  readonly #cache = new Map<Key, CachedValue<Value>>();
  readonly #reads = new SharedReads<Key, Value>((key) => this.#readCurrent(key));

  /** `now` answers milliseconds that only ever pass. */
  constructor(source: VersionedSource<Key, Value>, now: () => number = () => performance.now()) {
    this.#source = source;
    this.#now = now;
  }

  /** Answers the same object for as long as nothing has changed. */
  get(key: Key): Promise<Value> {
    return this.#reads.get(key);
  }

  async #readCurrent(key: Key): Promise<Value> {
    const cached = this.#cache.get(key);
    this.#cache.delete(key);
    const confirmedAt = this.#now();
    const isCurrent =
      cached !== undefined &&
      confirmedAt - cached.confirmedAt < MAX_AGE_MS &&
      (await this.#source.newest(key)) === this.#source.versionOf(cached.value);
    const value = isCurrent ? cached.value : await this.#source.read(key);
    this.#cache.set(key, { value, confirmedAt });
    return value;
  }
}
