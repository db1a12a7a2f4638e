/** One feed of one market, and all who read it. What they are told is made once for all of them. */
import type { Followed, Listener } from "../../exchange/exchange.ts";
import type { Packet, Reader } from "./reader.ts";

/** What is followed, and how it is told. */
export interface Source<State, Update> {
  subscribe(listener: Listener<Update | undefined>): Followed<State>;
  /** What a reader is told at first. */
  snapshot(state: State): readonly Buffer[];
  updates(update: Update): readonly Buffer[];
}

/** As many messages are told behind an old backlog before a new one is made. */
const MAX_BACKLOG_MESSAGES = 500;

/** What a reader is told who comes now: how a state was told at some time, and all that was told since. */
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
   * Made for the reader who comes first, and kept while what was told since is little beside it: a deep book takes longer
   * to tell than a hundred changes of it, and readers may come and go all the time.
   */
  #backlog: Backlog | undefined;

  constructor(source: Source<State, Update>) {
    this.#source = source;
    this.#subscription = source.subscribe((update) => this.#publish(update));
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** When the state is not known yet, the reader is told of it as soon as it is. */
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

  /** Undefined while the state is not known. To ask for it costs something, where a book has to be sorted. */
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
