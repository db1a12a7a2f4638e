/**
 * Shares reads between callers that ask for the same: at most one read per key is in flight. Callers that arrive during a
 * read share the next one.
 *
 * A caller thus never receives a value that was read before its call: after placing an order, a client finds it in the
 * order book.
 */
export class SharedReads<Asked, Value, Key = Asked> {
  readonly #read: (asked: Asked) => Promise<Value>;
  readonly #keyOf: (asked: Asked) => Key;
  /** Resolves, and never rejects, when the read in flight has ended. */
  readonly #running = new Map<Key, Promise<void>>();
  readonly #next = new Map<Key, Promise<Value>>();

  /** @param keyOf equal for what is the same; absent: what is asked for is its own key */
  constructor(
    read: (asked: Asked) => Promise<Value>,
    keyOf: (asked: Asked) => Key = (asked) => asked as unknown as Key,
  ) {
    this.#read = read;
    this.#keyOf = keyOf;
  }

  get(asked: Asked): Promise<Value> {
    const key = this.#keyOf(asked);
    const next = this.#next.get(key);
    if (next !== undefined) return next;
    const running = this.#running.get(key);
    if (running === undefined) return this.#start(key, asked);
    const waiting = running.then(() => {
      this.#next.delete(key);
      return this.#start(key, asked);
    });
    this.#next.set(key, waiting);
    return waiting;
  }

  #start(key: Key, asked: Asked): Promise<Value> {
    const reading = this.#read(asked);
    const end = (): void => void this.#running.delete(key);
    // Waiting callers run after `end`, and start the next read.
    this.#running.set(key, reading.then(end, end));
    return reading;
  }
}
