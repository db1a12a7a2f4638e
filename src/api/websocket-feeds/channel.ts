/** One feed of one market and its readers. Each message is serialised once for all of them. */
import type { Followed, Listener } from "../../exchange/exchange.ts";
import type { Packet, Reader } from "./reader.ts";

/** What a channel subscribes to, and how it is serialised. */
export interface Source<State, Update> {
  subscribe(listener: Listener<Update | undefined>): Followed<State>;
  snapshot(state: State): readonly Buffer[];
  updates(update: Update): readonly Buffer[];
}

/** After this many messages a new snapshot replaces the backlog. */
const MAX_BACKLOG_MESSAGES = 500;

/** What a new reader is sent: a snapshot, and every message since. */
interface Backlog {
  readonly first: Packet;
  readonly since: Packet[];
  messages: number;
  bytes: number;
}

export class Channel<State, Update> {
  readonly #source: Source<State, Update>;
  readonly #readers = new Set<Reader>();
  readonly #subscription: Followed<State>;
  /**
   * Built for the first reader and kept while the messages since are small beside it: serialising a deep book takes
   * longer than a hundred updates, and readers connect and disconnect all the time.
   */
  #backlog: Backlog | undefined;

  constructor(source: Source<State, Update>) {
    this.#source = source;
    this.#subscription = source.subscribe((update) => this.#publish(update));
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** While the state is unknown, the reader is sent nothing; the snapshot follows as soon as it is known. */
  join(reader: Reader): void {
    this.#readers.add(reader);
    this.#sendBacklog(reader);
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
  }

  stop(): void {
    this.#subscription.stop();
  }

  #publish(update: Update | undefined): void {
    if (update === undefined) {
      this.#backlog = undefined;
      for (const reader of this.#readers) this.#sendBacklog(reader);
      return;
    }
    const packet = packetOf(this.#source.updates(update));
    this.#addToBacklog(packet);
    for (const reader of this.#readers) reader.send(packet);
  }

  #sendBacklog(reader: Reader): void {
    this.#backlog ??= this.#newBacklog();
    if (this.#backlog === undefined) return;
    const { first, since } = this.#backlog;
    for (const packet of [first, ...since]) reader.send(packet);
  }

  /** Undefined while the state is unknown. Expensive for a deep book, which has to be sorted. */
  #newBacklog(): Backlog | undefined {
    const { state } = this.#subscription;
    return state && { first: packetOf(this.#source.snapshot(state)), since: [], messages: 0, bytes: 0 };
  }

  #addToBacklog(packet: Packet): void {
    const backlog = this.#backlog;
    if (backlog === undefined) return;
    backlog.since.push(packet);
    backlog.messages += packet.messages.length;
    backlog.bytes += packet.bytes;
    if (backlog.messages > MAX_BACKLOG_MESSAGES || backlog.bytes > backlog.first.bytes / 2) this.#backlog = undefined;
  }
}

function packetOf(messages: readonly Buffer[]): Packet {
  return { messages, bytes: messages.reduce((sum, { length }) => sum + length, 0) };
}
