/** One feed of one market and its readers. Each message is serialised once for all of them. */
import type { Followed, Listener } from "../../exchange/exchange.ts";
import { joined, type Packet, packetOf } from "./packet.ts";
import type { Reader } from "./reader.ts";

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

/** Readers that are sent to in one turn of the event loop, and bytes for all of them: some milliseconds of work over TLS. */
const READERS_PER_TURN = 100;
const BYTES_PER_TURN = 1024 * 1024;

/**
 * Sends to many readers in several turns of the event loop, so that other callers do not wait for all of them. What is
 * published meanwhile is sent to each reader at once when its next turn comes: the more readers, the fewer writes.
 */
export class Channel<State, Update> {
  readonly #source: Source<State, Update>;
  /** With the number of packets published when each was last sent to. */
  readonly #readers = new Map<Reader, number>();
  readonly #subscription: Followed<State>;
  /** Of readers that were not sent a snapshot yet, because the state is unknown: what to call then. */
  readonly #unserved = new Map<Reader, () => void>();
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
  #turn: NodeJS.Immediate | undefined;
  #merged: { readonly count: number; readonly published: number; readonly packet: Packet } | undefined;

  constructor(source: Source<State, Update>) {
    this.#source = source;
    this.#subscription = source.subscribe((update) => this.#publish(update));
  }

  get isEmpty(): boolean {
    return this.#readers.size === 0;
  }

  /**
   * While the state is unknown, the reader is sent nothing; the snapshot follows as soon as it is known.
   * @returns when the snapshot was sent, or the reader has left
   */
  async join(reader: Reader): Promise<void> {
    this.#readers.set(reader, this.#published);
    const served = new Promise<void>((resolve) => this.#unserved.set(reader, resolve));
    this.#sendBacklog(reader);
    await served;
  }

  leave(reader: Reader): void {
    this.#readers.delete(reader);
    this.#served(reader);
  }

  #served(reader: Reader): void {
    this.#unserved.get(reader)?.();
    this.#unserved.delete(reader);
  }

  stop(): void {
    this.#subscription.stop();
    clearImmediate(this.#turn);
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
    if (this.#turn === undefined) this.#sendToAll();
  }

  /** Sends to each reader what it lacks, again and again until none lacks anything. */
  #sendToAll(readers = this.#readers.keys(), until = this.#published): void {
    const left = { readers: READERS_PER_TURN, bytes: BYTES_PER_TURN };
    for (let next = readers.next(); next.done !== true; next = readers.next()) {
      left.bytes -= this.#sendMissing(next.value);
      left.readers -= 1;
      if (left.readers === 0 || left.bytes <= 0) {
        this.#turn = setImmediate(() => this.#sendToAll(readers, until));
        return;
      }
    }
    // All have what was published when this pass began.
    const lacking = this.#published - until;
    this.#unsent = lacking === 0 ? [] : this.#unsent.slice(-lacking);
    this.#turn = lacking === 0 ? undefined : setImmediate(() => this.#sendToAll());
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
    const { first, since, bytes } = this.#backlog;
    for (const packet of [first, ...since]) reader.send(packet);
    this.#served(reader);
    return first.frames.length + bytes;
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
