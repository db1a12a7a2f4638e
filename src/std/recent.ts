/**
 * What was set or asked for lately, by name, up to a bound. It is kept in two generations: when the younger one is full it
 * becomes the older one, and what is still in the older one by then is dropped. What is asked for there comes back into
 * the younger one.
 *
 * To keep exact order each entry would be taken out and put in again whenever it is set, which makes a `Map` copy itself
 * over and over; and to find the oldest entry one would hold an iterator, which keeps every copy that the map ever made.
 */
export class Recent<Value> {
  readonly #mostOfEach: number;
  #younger = new Map<string, Value>();
  #older = new Map<string, Value>();

  /** Keeps `most` entries at most, and the last half of that many whatever happens. */
  constructor(most: number) {
    this.#mostOfEach = Math.max(1, Math.floor(most / 2));
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
    if (this.#younger.size <= this.#mostOfEach) return;
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
