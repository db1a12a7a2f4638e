/**
 * One connection that reads a feed. Its unsent bytes are bounded: a reader that falls further behind is disconnected, so
 * that slow or stalled readers do not use up memory.
 *
 * States: reading -> closing (close frame sent) -> closed. Both states go straight to closed when the connection breaks,
 * or the reader does not answer a ping before the next heartbeat.
 */
import type { Socket } from "node:net";
import { WebSocket } from "ws";
import { reportFlood } from "../../web/connections/flood-reports.ts";
import { progressOf } from "../../web/connections/sliced-tls-writes.ts";
import type { Packet } from "./packet.ts";

export interface ReaderBounds {
  /** Unsent bytes that a reader may have beyond the largest packet it was sent. */
  readonly slackBytes: number;
  /** Frames of any kind (messages, pings, pongs) that it may send between two heartbeats. */
  readonly mostReceived: number;
  /** Bytes that it may send between two heartbeats. They bound frames that `ws` does not report, such as fragments. */
  readonly mostReceivedBytes: number;
  /** How long to wait for the answer to a close frame. */
  readonly closeMs: number;
}

/** Why a reader was disconnected by us. */
export type DisconnectReason = "too_slow" | "silent" | "talks" | "too_many" | "bug";

/** RFC 6455, section 7.4.1, and its IANA registry. */
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
    // `ws` itself sends the close frame for protocol errors and oversized frames.
    webSocket.on("error", () => undefined);
    webSocket.on("pong", () => {
      this.#isAlive = true;
      this.#countReceived();
    });
    webSocket.on("message", () => this.#countReceived());
    webSocket.on("ping", () => this.#countReceived());
    this.#meter();
  }

  /** In bytes. */
  get unsent(): number {
    return this.#socket.writableLength;
  }

  get isClosed(): boolean {
    return this.#webSocket.readyState === WebSocket.CLOSED;
  }

  get disconnectReason(): DisconnectReason | undefined {
    return this.#disconnectReason;
  }

  send(packet: Packet): void {
    this.#guard(() => this.#send(packet));
  }

  /** Settles when the reader has taken what it was sent, or the connection has ended. */
  async drained(): Promise<void> {
    const socket = this.#socket;
    if (!socket.writableNeedDrain) return;
    const taken = new Promise<void>((resolve) => socket.once("drain", () => resolve()));
    await Promise.race([taken, this.closed]);
  }

  /** Pings the reader. Terminates it when it has not answered the last ping, or has taken nothing since. */
  heartbeat(): void {
    this.#guard(() => this.#heartbeat());
  }

  /** A bug that one reader triggers ends its connection only. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#onBug(error);
      this.terminate("bug");
    }
  }

  #send({ frames }: Packet): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    if (this.#webSocket.bufferedAmount > this.#bounds.slackBytes + this.#largest) {
      this.#disconnectReason = "too_slow";
      this.close(TRY_AGAIN_LATER, "too slow: reconnect and start from a new snapshot");
      return;
    }
    this.#largest = Math.max(this.#largest, frames.length);
    // `ws` keeps back nothing of an open connection that is not compressed, so that pings and these are in order.
    this.#socket.write(frames);
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

  /** Ends the connection at once. */
  terminate(why: DisconnectReason | undefined): void {
    this.#disconnectReason ??= why;
    this.#webSocket.terminate();
  }

  /** Feeds take no messages. A few are ignored. */
  #countReceived(): void {
    this.#received += 1;
    if (this.#received > this.#bounds.mostReceived) this.#closeTalkative();
  }

  #closeTalkative(): void {
    if (this.#disconnectReason !== "talks") reportFlood(this.#socket, "too many messages to a feed");
    this.#disconnectReason = "talks";
    this.close(POLICY_VIOLATION, "feeds take no messages");
  }

  /**
   * Counts bytes before `ws` parses them: one read of a socket may hold ten thousand pongs, which `ws` would parse in one
   * go. Over the budget nothing more is parsed.
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
