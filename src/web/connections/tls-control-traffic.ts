/**
 * Bounds what a TLS connection receives besides data. OpenSSL handles a message such as TLS 1.3's KeyUpdate while the
 * socket is read, without an event: 27 bytes cost the thread ten microseconds, so a few megabits a second would use all
 * of it. What was received and did not become data is measured instead, some times a second, and counted by address. So is
 * what a handshake receives.
 */
import type { Server, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { CountsPerSecond } from "../limits/counts-per-second.ts";
import { peerOf } from "./open-connections.ts";

const CHECK_MS = 100;
/** Of all connections of a key: 2,400 messages, or 25 ms. A client needs no more than one message in an hour. */
const MAX_BYTES_PER_SECOND = 65_536;
/** A client's part of a handshake is below 4 KiB; OpenSSL would keep 128 KiB of one that never ends. */
const MAX_HANDSHAKE_BYTES = 16_384;
/** What a record of TLS 1.3 adds to its data: header, type and tag. More would leave room for messages behind each. */
const RECORD_BYTES = 22;
/** TLS 1.2's block ciphers add a nonce and padding. It has no key updates, and Node bounds its renegotiations. */
const TLS_1_2_RECORD_BYTES = 85;

/**
 * The largest record with its data. As much of a connection may be a record that is still under way, on a slow line or
 * while the connection is not read, so it counts only when the connection closes.
 */
const MAX_RECORD_BYTES = 16_384 + TLS_1_2_RECORD_BYTES;
/** As much of all connections of a key: thousands of them with some hundred messages each would take seconds. */
const MAX_UNDER_WAY_BYTES = 16 * MAX_RECORD_BYTES;

interface Connection {
  /** The accepted connection, which counts the bytes that were received, and what TLS made of it, which counts data. */
  readonly accepted: Socket;
  readonly secure: Socket;
  readonly key: string;
  readonly recordBytes: number;
  /** What the handshake received, less the data that came with it. */
  readonly handshakeBytes: number;
  records: number;
  /** What was counted of it. */
  counted: number;
}

export class TlsControlTraffic {
  readonly #counts = new CountsPerSecond();
  readonly #keyOf: (socket: Socket) => string;
  readonly #onTooMuch: (socket: Socket) => void;
  /** Connections in their handshake, by peer. */
  readonly #handshakes = new Map<string, Socket>();
  readonly #connections = new Set<Connection>();

  /**
   * @param keyOf what a connection's address is counted by
   * @param onTooMuch ends the connection
   */
  constructor(server: Server, keyOf: (socket: Socket) => string, onTooMuch: (socket: Socket) => void) {
    this.#keyOf = keyOf;
    this.#onTooMuch = onTooMuch;
    const checks = setInterval(() => this.#check(), CHECK_MS).unref();
    server.once("close", () => clearInterval(checks));
    server.on("connection", (socket: Socket) => {
      const peer = peerOf(socket);
      this.#handshakes.set(peer, socket);
      socket.once("close", () => {
        if (this.#handshakes.get(peer) === socket) this.#handshakes.delete(peer);
      });
    });
    server.on("secureConnection", (socket: TLSSocket) => this.#secured(socket));
  }

  #secured(secure: TLSSocket): void {
    const peer = peerOf(secure);
    const accepted = this.#handshakes.get(peer);
    if (accepted === undefined) return;
    this.#handshakes.delete(peer);
    const connection: Connection = {
      accepted,
      secure,
      key: this.#keyOf(secure),
      recordBytes: secure.getProtocol() === "TLSv1.3" ? RECORD_BYTES : TLS_1_2_RECORD_BYTES,
      handshakeBytes: accepted.bytesRead - secure.bytesRead,
      records: 0,
      counted: 0,
    };
    secure.on("data", () => {
      connection.records += 1;
    });
    this.#connections.add(connection);
    secure.once("close", () => {
      this.#connections.delete(connection);
      this.#count(connection, 0);
    });
  }

  #check(): void {
    for (const socket of this.#handshakes.values()) {
      if (socket.bytesRead > MAX_HANDSHAKE_BYTES) this.#onTooMuch(socket);
    }
    const underWay = new Map<string, number>();
    for (const connection of this.#connections) {
      const others = underWay.get(connection.key) ?? 0;
      const uncounted = this.#count(connection, Math.min(MAX_RECORD_BYTES, MAX_UNDER_WAY_BYTES - others));
      if (uncounted > 0) underWay.set(connection.key, others + uncounted);
    }
  }

  /** Counts what the connection received besides data, but for `mayBecomeData` bytes. @returns how many it left out */
  #count(connection: Connection, mayBecomeData: number): number {
    const { accepted, secure, key, recordBytes, handshakeBytes, records, counted } = connection;
    const withoutData = accepted.bytesRead - handshakeBytes - secure.bytesRead - recordBytes * records;
    const surplus = withoutData - counted - mayBecomeData;
    if (surplus <= 0) return withoutData - counted;
    connection.counted += surplus;
    if (this.#counts.add(key, surplus) > MAX_BYTES_PER_SECOND) this.#onTooMuch(secure);
    return mayBecomeData;
  }
}
