/** One feed of one market and its readers. Each message is serialised once for all of them. */
import type { Followed, Listener } from "../../exchange/exchange.ts";
import { joined, type Packet, packetOf } from "./packet.ts";
import type { Reader } from "./reader.ts";
import type { Sender, SendingTurns } from "./sending-turns.ts";

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

/**
 * What is published while readers are being sent to is sent to each at once when its turn comes: the more readers, the
 * fewer writes.
 */
export class Channel<State, Update> implements Sender {
  readonly #source: Source<State, Update>;
  readonly #turns: SendingTurns;
  /** With the number of packets published when each was last sent to. */
  readonly #readers = new Map<Reader, number>();
  readonly #subscription: Followed<State>;
  /** Of readers that were not sent a snapshot yet, because the state is unknown: what to call then. */
  readonly #unserved = new Map<Reader, (bytes: number) => void>();
  /**
   * Built for the first reader and kept while the messages since are small beside it: serialising a deep book takes
   * longer than a hundred updates, and readers connect and disconnect all the time.
   */
  #backlog: Backlog | undefined;
  #published = 0;
  /** The last packets published: those that some reader lacks. */
  #unsent: Packet[] = [];
  /** Readers that lack a packet before this one need a snapshot. */
  #restartedAt = 0;
  /** The readers that are still to be sent to, and what was published when that began; undefined when none lacks anything. */
  #pass: { readonly readers: Iterator<Reader>; readonly until: number } | undefined;
  #merged: { readonly count: number; readonly published: number; readonly packet: Packet } | undefined;

  constructor(source: Source<State, Update>, turns: SendingTurns) {
    this.#source = source;
    this.#turns = turns;
    this.#subscription = source.subscribe((update) => this.#publish(update));
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /**
   * While the state is unknown, the reader is sent nothing; the snapshot follows as soon as it is known.
   * @returns the bytes of the snapshot when it was sent; 0 when the reader has left
   */
  join(reader: Reader): Promise<number> {
    this.#readers.set(reader, this.#published);
    const served = new Promise<number>((resolve) => this.#unserved.set(reader, resolve));
    this.#sendBacklog(reader);
    return served;
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
    this.#served(reader, 0);
  }

  #served(reader: Reader, bytes: number): void {
    this.#unserved.get(reader)?.(bytes);
    this.#unserved.delete(reader);
  }

  stop(): void {
    this.#subscription.stop();
    this.#pass = undefined;
  }

  #publish(update: Update | undefined): void {
    this.#published += 1;
    if (update === undefined) {
      this.#backlog = undefined;
      this.#restartedAt = this.#published;
      this.#unsent = [];
    } else {
      const packet = packetOf(this.#source.updates(update));
      this.#addToBacklog(packet);
      this.#unsent.push(packet);
    }
    if (this.#pass !== undefined) return;
    this.#pass = this.#newPass();
    this.#turns.add(this);
  }

  #newPass() {
    return { readers: this.#readers.keys(), until: this.#published };
  }

  sendNext(): number | "rest" | undefined {
    if (this.#pass === undefined) return undefined;
    const next = this.#pass.readers.next();
    if (next.done !== true) return this.#sendMissing(next.value);
    // All have what was published when this pass began.
    const lacking = this.#published - this.#pass.until;
    this.#unsent = lacking === 0 ? [] : this.#unsent.slice(-lacking);
    this.#pass = lacking === 0 ? undefined : this.#newPass();
    return this.#pass && "rest";
  }

  /** @returns the bytes that it was sent */
  #sendMissing(reader: Reader): number {
    const had = this.#readers.get(reader) ?? this.#published;
    if (had === this.#published) return 0;
    this.#readers.set(reader, this.#published);
    if (had < this.#restartedAt) return this.#sendBacklog(reader);
    const packet = this.#lastPackets(this.#published - had);
    reader.send(packet);
    return packet.frames.length;
  }

  /** The last packets as one: many readers lack the same ones. */
  #lastPackets(count: number): Packet {
    const published = this.#published;
    if (this.#merged?.count !== count || this.#merged.published !== published) {
      const packet = joined(this.#unsent.slice(-count));
      this.#merged = { count, published, packet };
    }
    return this.#merged.packet;
  }

  #sendBacklog(reader: Reader): number {
    this.#backlog ??= this.#newBacklog();
    if (this.#backlog === undefined) return 0;
    const { first, since } = this.#backlog;
    for (const packet of [first, ...since]) reader.send(packet);
    const bytes = first.frames.length + this.#backlog.bytes;
    this.#served(reader, bytes);
    return bytes;
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
    backlog.messages += packet.messages;
    backlog.bytes += packet.frames.length;
    if (backlog.messages > MAX_BACKLOG_MESSAGES || backlog.bytes > backlog.first.frames.length / 2)
      this.#backlog = undefined;
  }
}
