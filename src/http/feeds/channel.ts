/** One feed of one market, and all who read it. What they are told is made once for all of them. */
import type { Followed, Listener } from "../../exchange/exchange.ts";
import type { Packet, Reader } from "./reader.ts";

/** What is followed, and how it is told. */
export interface Source<State, News> {
  follow(listener: Listener<News | undefined>): Followed<State>;
  /** What a reader is told at first. */
  first(state: State): readonly Buffer[];
  next(news: News): readonly Buffer[];
}

/** As many messages are told behind an old beginning before a new one is made. */
const MOST_BEHIND = 500;

/** What a reader is told who comes now: how a state was told at some time, and all that was told since. */
interface Beginning {
  readonly first: Packet;
  readonly since: Packet[];
  messages: number;
  bytes: number;
}

export class Channel<State, News> {
  readonly #source: Source<State, News>;
  readonly #readers = new Set<Reader>();
  readonly #followed: Followed<State>;
  /**
   * Made for the reader who comes first, and kept while what was told since is little beside it: a deep book takes longer
   * to tell than a hundred changes of it, and readers may come and go all the time.
   */
  #beginning: Beginning | undefined;

  constructor(source: Source<State, News>) {
    this.#source = source;
    this.#followed = source.follow((news) => this.#tell(news));
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /** When the state is not known yet, the reader is told of it as soon as it is. */
  join(reader: Reader): void {
    this.#readers.add(reader);
    this.#begin(reader);
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
  }

  stop(): void {
    this.#followed.stop();
  }

  #tell(news: News | undefined): void {
    if (news === undefined) {
      this.#beginning = undefined;
      for (const reader of this.#readers) this.#begin(reader);
      return;
    }
    const packet = packetOf(this.#source.next(news));
    this.#addToBeginning(packet);
    for (const reader of this.#readers) reader.send(packet);
  }

  #begin(reader: Reader): void {
    this.#beginning ??= this.#newBeginning();
    if (this.#beginning === undefined) return;
    const { first, since } = this.#beginning;
    for (const packet of [first, ...since]) reader.send(packet);
  }

  /** Undefined while the state is not known. To ask for it costs something, where a book has to be sorted. */
  #newBeginning(): Beginning | undefined {
    const { state } = this.#followed;
    return state && { first: packetOf(this.#source.first(state)), since: [], messages: 0, bytes: 0 };
  }

  #addToBeginning(packet: Packet): void {
    const beginning = this.#beginning;
    if (beginning === undefined) return;
    beginning.since.push(packet);
    beginning.messages += packet.messages.length;
    beginning.bytes += packet.bytes;
    if (beginning.messages > MOST_BEHIND || beginning.bytes > beginning.first.bytes / 2) this.#beginning = undefined;
  }
}

function packetOf(messages: readonly Buffer[]): Packet {
  return { messages, bytes: messages.reduce((sum, { length }) => sum + length, 0) };
}
