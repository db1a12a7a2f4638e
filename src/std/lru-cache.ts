/**
 * A bounded cache with approximate LRU eviction, in two generations. When the younger is full it becomes the older, and
 * the rest of the older one is dropped. A hit in the older generation moves the entry to the younger.
 *
 * Exact LRU by deleting and re-inserting would make `Map` rehash constantly, and an iterator to the oldest entry keeps
 * every old table of the map alive.
 */
export class LruCache<Value> {
  readonly #generationSize: number;
  #younger = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** Keeps at most `most` entries, and always the last half of that many. */
  constructor(most: number) {
    this.#generationSize = Math.max(1, Math.floor(most / 2));
  }

  get(name: string): Value | undefined {
    const younger = this.#younger.get(name);
    if (younger !== undefined) return younger;
    const older = this.#older.get(name);
    if (older !== undefined) this.set(name, older);
    return older;
  }

  has(name: string): boolean {
    return this.#younger.has(name) || this.#older.has(name);
  }

  set(name: string, value: Value): void {
    this.#younger.set(name, value);
    if (this.#younger.size <= this.#generationSize) return;
    this.#older = this.#younger;
    this.#younger = new Map([[name, value]]);
    this.#older.delete(name);
  }

  delete(name: string): void {
    this.#younger.delete(name);
    this.#older.delete(name);
  }

  clear(): void {
    this.#younger = new Map();
    this.#older = new Map();
  }
}
