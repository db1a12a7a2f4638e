/**
 * One who reads a feed. What it has not taken yet is kept for it up to a bound; when more than that waits it is sent
 * away, so that memory does not grow with readers who are slow, or stuck.
 *
 * States: reading -> leaving (the close frame is sent, and its answer is waited for) -> gone, and from both to gone when
 * the connection breaks, or nothing was heard of the reader for a whole beat.
 */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { progressOf } from "../../web/connections/tls-writes.ts";

/** Messages that are sent together. */
export interface Packet {
  readonly messages: readonly Buffer[];
  readonly bytes: number;
}

export interface ReaderBounds {
  /** What may wait for a reader on top of the largest packet that it was sent. */
  readonly slackBytes: number;
  /** Frames of any kind that it may send between two beats: messages, pings and pongs. */
  readonly mostHeard: number;
  /** Bytes that it may send between two beats. They bound the frames that `ws` does not announce, such as fragments. */
  readonly mostHeardBytes: number;
  /** For how long the answer to a close frame is waited for. */
  readonly leaveMs: number;
}

/** Why a reader was sent away. */
export type Leaving = "too_slow" | "silent" | "talks" | "bug";

/** RFC 6455, section 7.4.1, and the registry that it has opened. */
export const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

export class Reader {
  /** Settles when the connection has ended. */
  readonly gone: Promise<void>;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #bounds: ReaderBounds;
  readonly #onBug: (error: unknown) => void;
  #largest = 0;
  #heard = 0;
  #heardBytes = 0;
  #isAlive = true;
  /** How much had left when the last beat found something waiting. */
  #progressAtBeat: number | undefined;
  #left: Leaving | undefined;

  constructor(webSocket: WebSocket, socket: Socket, bounds: ReaderBounds, onBug: (error: unknown) => void) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#bounds = bounds;
    this.#onBug = onBug;
    this.gone = new Promise((resolve) => webSocket.once("close", () => resolve()));
    // What breaks the protocol, or is longer than it may be, is answered with a close frame already.
    webSocket.on("error", () => undefined);
    webSocket.on("pong", () => {
      this.#isAlive = true;
      this.#hear();
    });
    webSocket.on("message", () => this.#hear());
    webSocket.on("ping", () => this.#hear());
    this.#meter();
  }

  /** Bytes that wait for it. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  /** Why it was sent away; undefined while it was not. */
  get left(): Leaving | undefined {
    return this.#left;
  }

  send(packet: Packet): void {
    this.#contain(() => this.#send(packet));
  }

  /** Called at regular times: asks whether anybody is there, and ends the connection when nobody answered the last time. */
  beat(): void {
    this.#contain(() => this.#beat());
  }

  /** What fails for one reader ends its connection, and not those of all who are sent the same. */
  #contain(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#onBug(error);
      this.cutOff("bug");
    }
  }

  #send({ messages, bytes }: Packet): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    if (this.#webSocket.bufferedAmount > this.#bounds.slackBytes + this.#largest) {
      this.#left = "too_slow";
      this.leave(TRY_AGAIN_LATER, "too slow: connect again, and start from a new snapshot");
      return;
    }
    this.#largest = Math.max(this.#largest, bytes);
    // All messages of a packet in one write.
    this.#socket.cork();
    for (const message of messages) this.#webSocket.send(message, { binary: false });
    this.#socket.uncork();
  }

  #beat(): void {
    if (!this.#isAlive) this.cutOff("silent");
    const progress = progressOf(this.#socket);
    if (this.#progressAtBeat === progress) this.cutOff("too_slow");
    this.#progressAtBeat = this.#socket.writableLength > 0 ? progress : undefined;
    this.#isAlive = false;
    this.#heard = 0;
    this.#heardBytes = 0;
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket.ping();
  }

  leave(code: number, reason: string): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#webSocket.close(code, reason);
    const timer = setTimeout(() => this.#webSocket.terminate(), this.#bounds.leaveMs);
    this.#webSocket.once("close", () => clearTimeout(timer));
  }

  /** Ends the connection, and waits for nothing. */
  cutOff(why: Leaving | undefined): void {
    this.#left ??= why;
    this.#webSocket.terminate();
  }

  /** A feed is not talked to. What little comes is ignored. */
  #hear(): void {
    this.#heard += 1;
    if (this.#heard > this.#bounds.mostHeard) this.#leaveTalking();
  }

  #leaveTalking(): void {
    this.#left = "talks";
    this.leave(POLICY_VIOLATION, "a feed is read, and not talked to");
  }

  /**
   * Counts bytes before `ws` parses them. One read of a socket holds up to ten thousand pongs, which `ws` would parse in
   * one go: past the budget not one more is parsed, and nothing is waited for.
   */
  #meter(): void {
    const parsers = this.#socket.listeners("data") as ((chunk: Buffer) => void)[];
    this.#socket.removeAllListeners("data");
    this.#socket.on("data", (chunk: Buffer) => {
      this.#heardBytes += chunk.length;
      if (this.#heardBytes <= this.#bounds.mostHeardBytes) {
        for (const parse of parsers) parse.call(this.#socket, chunk);
      } else {
        this.#leaveTalking();
        this.cutOff("talks");
      }
    });
  }
}
