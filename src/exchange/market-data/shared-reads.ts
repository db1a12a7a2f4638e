/**
 * Reads that anybody may ask for and that answer everybody the same. However many ask at once, the database does one
 * after the other for each key: whoever comes while one is under way waits, with all others who do, for the next.
 *
 * So nobody is told what was read before they asked: a caller who has just been told that an order was placed finds
 * it on the book.
 */
export class SharedReads<Key, Value> {
  readonly #read: (key: Key) => Promise<Value>;
  /** Settles, and never fails, when the read of this key that is under way has ended. */
  readonly #running = new Map<Key, Promise<void>>();
  readonly #next = new Map<Key, Promise<Value>>();

  constructor(read: (key: Key) => Promise<Value>) {
    this.#read = read;
  }

  get(key: Key): Promise<Value> {
    const next = this.#next.get(key);
    if (next !== undefined) return next;
    const running = this.#running.get(key);
    if (running === undefined) return this.#start(key);
    const waiting = running.then(() => {
      this.#next.delete(key);
      return this.#start(key);
    });
    this.#next.set(key, waiting);
    return waiting;
  }

  #start(key: Key): Promise<Value> {
    const reading = this.#read(key);
    const end = (): void => void this.#running.delete(key);
    // Whoever waits for this to end is called after `end`, and starts the next read.
    this.#running.set(key, reading.then(end, end));
    return reading;
  }
}
