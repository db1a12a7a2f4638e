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
  readonly mostReceived: number;
  /** Bytes that it may send between two beats. They bound the frames that `ws` does not announce, such as fragments. */
  readonly mostReceivedBytes: number;
  /** For how long the answer to a close frame is waited for. */
  readonly closeMs: number;
}

/** Why a reader was sent away. */
export type DisconnectReason = "too_slow" | "silent" | "talks" | "bug";

/** RFC 6455, section 7.4.1, and the registry that it has opened. */
export const GOING_AWAY = 1001;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

export class Reader {
  /** Settles when the connection has ended. */
  readonly closed: Promise<void>;
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #bounds: ReaderBounds;
  readonly #onBug: (error: unknown) => void;
  #largest = 0;
  #received = 0;
  #receivedBytes = 0;
  #isAlive = true;
  /** Bytes that had left at the last heartbeat that found some unsent. */
  #progressAtHeartbeat: number | undefined;
  #disconnectReason: DisconnectReason | undefined;

  constructor(webSocket: WebSocket, socket: Socket, bounds: ReaderBounds, onBug: (error: unknown) => void) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#bounds = bounds;
    this.#onBug = onBug;
    this.closed = new Promise((resolve) => webSocket.once("close", () => resolve()));
    // What breaks the protocol, or is longer than it may be, is answered with a close frame already.
    webSocket.on("error", () => undefined);
    webSocket.on("pong", () => {
      this.#isAlive = true;
      this.#countReceived();
    });
    webSocket.on("message", () => this.#countReceived());
    webSocket.on("ping", () => this.#countReceived());
    this.#meter();
  }

  /** Bytes that wait for it. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  /** Why it was sent away; undefined while it was not. */
  get disconnectReason(): DisconnectReason | undefined {
    return this.#disconnectReason;
  }

  send(packet: Packet): void {
    this.#guard(() => this.#send(packet));
  }

  /** Called at regular times: asks whether anybody is there, and ends the connection when nobody answered the last time. */
  heartbeat(): void {
    this.#guard(() => this.#heartbeat());
  }

  /** What fails for one reader ends its connection, and not those of all who are sent the same. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#onBug(error);
      this.terminate("bug");
    }
  }

  #send({ messages, bytes }: Packet): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    if (this.#webSocket.bufferedAmount > this.#bounds.slackBytes + this.#largest) {
      this.#disconnectReason = "too_slow";
      this.close(TRY_AGAIN_LATER, "too slow: connect again, and start from a new snapshot");
      return;
    }
    this.#largest = Math.max(this.#largest, bytes);
    // All messages of a packet in one write.
    this.#socket.cork();
    for (const message of messages) this.#webSocket.send(message, { binary: false });
    this.#socket.uncork();
  }

  #heartbeat(): void {
    if (!this.#isAlive) this.terminate("silent");
    const progress = progressOf(this.#socket);
    if (this.#progressAtHeartbeat === progress) this.terminate("too_slow");
    this.#progressAtHeartbeat = this.#socket.writableLength > 0 ? progress : undefined;
    this.#isAlive = false;
    this.#received = 0;
    this.#receivedBytes = 0;
    if (this.#webSocket.readyState === WebSocket.OPEN) this.#webSocket.ping();
  }

  close(code: number, reason: string): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#webSocket.close(code, reason);
    const timer = setTimeout(() => this.#webSocket.terminate(), this.#bounds.closeMs);
    this.#webSocket.once("close", () => clearTimeout(timer));
  }

  /** Ends the connection, and waits for nothing. */
  terminate(why: DisconnectReason | undefined): void {
    this.#disconnectReason ??= why;
    this.#webSocket.terminate();
  }

  /** A feed is not talked to. What little comes is ignored. */
  #countReceived(): void {
    this.#received += 1;
    if (this.#received > this.#bounds.mostReceived) this.#closeTalkative();
  }

  #closeTalkative(): void {
    this.#disconnectReason = "talks";
    this.close(POLICY_VIOLATION, "a feed is read, and not talked to");
  }

  /**
   * Counts bytes before `ws` parses them. One read of a socket holds up to ten thousand pongs, which `ws` would parse in
   * one go: past the budget not one more is parsed, and nothing is waited for.
   */
  #meter(): void {
    const parsers = this.#socket.listeners("data") as ((chunk: Buffer) => void)[];
    this.#socket.removeAllListeners("data");
    this.#socket.on("data", (chunk: Buffer) => {
      this.#receivedBytes += chunk.length;
      if (this.#receivedBytes <= this.#bounds.mostReceivedBytes) {
        for (const parse of parsers) parse.call(this.#socket, chunk);
      } else {
        this.#closeTalkative();
        this.terminate("talks");
      }
    });
  }
}
