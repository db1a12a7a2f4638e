/**
 * Shares public reads between callers: at most one read per key is in flight. Callers that arrive during a read share
 * the next one.
 *
 * A caller thus never receives a value that was read before its call: after placing an order, a client finds it in the
 * order book.
 */
export class SharedReads<Key, Value> {
  readonly #read: (key: Key) => Promise<Value>;
  /** Resolves, and never rejects, when the read in flight has ended. */
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
    // Waiting callers run after `end`, and start the next read.
    this.#running.set(key, reading.then(end, end));
    return reading;
  }
}
