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

export class Channel<State, News> {
  readonly #source: Source<State, News>;
  readonly #readers = new Set<Reader>();
  readonly #followed: Followed<State>;
  /** Made for the reader who comes first, until the next news. */
  #first: Packet | undefined;

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
    const first = this.#firstPacket();
    if (first !== undefined) reader.send(first);
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
  }

  stop(): void {
    this.#followed.stop();
  }

  #tell(news: News | undefined): void {
    this.#first = undefined;
    const packet = news === undefined ? this.#firstPacket() : packetOf(this.#source.next(news));
    if (packet !== undefined) for (const reader of this.#readers) reader.send(packet);
  }

  #firstPacket(): Packet | undefined {
    const { state } = this.#followed;
    if (state !== undefined) this.#first ??= packetOf(this.#source.first(state));
    return this.#first;
  }
}

function packetOf(messages: readonly Buffer[]): Packet {
  return { messages, bytes: messages.reduce((sum, { length }) => sum + length, 0) };
}
