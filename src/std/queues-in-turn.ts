/** Queues that have their turns one after the other: the one that was served is the last then. */
export class QueuesInTurn<Key, Item> {
  /** None is empty; the one whose turn is next comes first. */
  readonly #queues = new Map<Key, Item[]>();

  /** How many queues have something in them. */
  get size(): number {
    return this.#queues.size;
  }

  lengthOf(key: Key): number {
    return this.#queues.get(key)?.length ?? 0;
  }

  add(key: Key, item: Item): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) this.#queues.set(key, [item]);
    else queue.push(item);
  }

  /**
   * Takes out the first item of the queue whose turn it is, and those before it that are over.
   * @returns undefined without any; and when all of that queue were over
   */
  next(isOver: (item: Item) => boolean = () => false): Item | undefined {
    const [first] = this.#queues;
    if (first === undefined) return undefined;
    const [key, queue] = first;
    let next = queue.shift();
    while (next !== undefined && isOver(next)) next = queue.shift();
    this.#queues.delete(key);
    if (queue.length > 0) this.#queues.set(key, queue);
    return next;
  }
}
