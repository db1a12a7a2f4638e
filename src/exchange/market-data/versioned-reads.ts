/**
 * Shared reads whose values are cached while their version is the newest: a call costs a read of the version, and only the
 * first call after a change reads the value.
 *
 * A version identifies one value within a history of the database: after a failover that lost commits, the same versions
 * recur with other values.
 */
import { SharedReads } from "../../std/shared-reads.ts";

export interface VersionedSource<Key, Value> {
  /** Reads the newest version. */
  readonly newest: (key: Key) => Promise<bigint>;
  readonly read: (key: Key) => Promise<Value>;
  /** The version of a value, which may be newer than what `newest` returned before. */
  readonly versionOf: (value: Value) => bigint;
  /** Names the history that is read now. */
  readonly history: () => string;
}

interface CachedValue<Value> {
  readonly value: Value;
  readonly history: string;
}

/** Caches one value per key, so there must be few keys. */
export class VersionedReads<Key, Value> {
  readonly #source: VersionedSource<Key, Value>;
  readonly #cache = new Map<Key, CachedValue<Value>>();
  readonly #reads = new SharedReads<Key, Value>((key) => this.#readCurrent(key));

  constructor(source: VersionedSource<Key, Value>) {
    this.#source = source;
  }

  /** Returns the same object until the version changes. */
  get(key: Key): Promise<Value> {
    return this.#reads.get(key);
  }

  async #readCurrent(key: Key): Promise<Value> {
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      const isNewest = (await this.#source.newest(key)) === this.#source.versionOf(cached.value);
      if (isNewest && cached.history === this.#source.history()) return cached.value;
    }
    // If another history begins meanwhile, the value may be of either, and is read again.
    const history = this.#source.history();
    const value = await this.#source.read(key);
    this.#cache.set(key, { value, history });
    return value;
  }
}
