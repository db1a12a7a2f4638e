/**
 * Shared reads whose values are cached while their version is the newest: a call costs a read of the version, and only the
 * first call after a change reads the value.
 *
 * A version identifies one value as long as the database only moves forward. After a failover that lost commits, the same
 * versions recur with other values. Connections break then, so a failed version read drops the cached value, and a value
 * that was not confirmed within the last second is read again.
 */
import { SharedReads } from "../../std/shared-reads.ts";

export interface VersionedSource<Key, Value> {
  /** Reads the newest version. */
  readonly newest: (key: Key) => Promise<bigint>;
  readonly read: (key: Key) => Promise<Value>;
  /** The version of a value, which may be newer than what `newest` returned before. */
  readonly versionOf: (value: Value) => bigint;
}

interface CachedValue<Value> {
  readonly value: Value;
  readonly confirmedAt: number;
}

const MAX_AGE_MS = 1_000;

/** Caches one value per key, so there must be few keys. */
export class VersionedReads<Key, Value> {
  readonly #source: VersionedSource<Key, Value>;
  readonly #now: () => number;
  readonly #cache = new Map<Key, CachedValue<Value>>();
  readonly #reads = new SharedReads<Key, Value>((key) => this.#readCurrent(key));

  /** @param now a monotonic clock in ms */
  constructor(source: VersionedSource<Key, Value>, now: () => number = () => performance.now()) {
    this.#source = source;
    this.#now = now;
  }

  /** Returns the same object until the version changes. */
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
