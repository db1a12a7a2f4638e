/**
 * Connects to a host of a customer's choice: resolves its name once, judges every address, connects to a judged one, and
 * looks at where it has arrived. With TLS, certificate and host name are always verified.
 */
import { constants } from "node:crypto";
import type { EventEmitter } from "node:events";
import { connect as connectTcp, isIP, isIPv6, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { Duplex } from "node:stream";
import { connect as connectTls, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { steadyClock } from "../../std/clock.ts";
import { type Resolve, resolveByDns } from "./addresses.ts";
import { isAllowedAddress, NOT_ALLOWED, type OutgoingPolicy } from "./outgoing-policy.ts";
import type { TlsShares } from "./tls-shares.ts";

export type NotConnectedReason = "dns" | "address_not_allowed" | "connection" | "tls" | "timeout";

/** Why there is no connection. `message` is for the customer. */
export class NotConnected extends Error {
  override readonly name = "NotConnected";
  readonly reason: NotConnectedReason;

  constructor(reason: NotConnectedReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What tests put in the place of the machine. */
export interface Surroundings {
  readonly resolve: Resolve;
  /** Of this machine. */
  readonly ownAddresses: () => readonly string[];
  /** Certificates in PEM that are trusted instead of Node's. */
  readonly trustedCertificates?: string;
}

/** For how long they are remembered: to read them takes a system call for each. */
const OWN_ADDRESSES_MS = 1_000;
let own: { readonly addresses: readonly string[]; readonly until: number } | undefined;

function ownAddresses(): readonly string[] {
  const now = steadyClock.now();
  if (own === undefined || own.until < now) {
    const addresses = Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));
    own = { addresses, until: now + OWN_ADDRESSES_MS };
  }
  return own.addresses;
}

export const MACHINE: Surroundings = { resolve: resolveByDns, ownAddresses };

export interface Destination {
  readonly protocol: "http:" | "https:";
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Whose share of the thread its handshake takes. */
  readonly payer: string;
}

/** From the first question to DNS to the end of the TLS handshake. */
const CONNECT_MS = 5_000;
/** Until the next address of a host is tried as well. */
const NEXT_ADDRESS_MS = 1_000;
/**
 * A server's certificates are a few KiB. Each of a chain is verified, with whatever key it has, in the turn in which the last
 * one arrives.
 */
const MAX_HANDSHAKE_BYTES = 16_384;
/**
 * With keys whose cost has a bound: in a finite field (DHE, ffdhe8192) the server would choose how many bits the client
 * computes with, 10,000 of which take 0.7 s.
 */
const CIPHERS = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");
const CURVES = "X25519:prime256v1:secp384r1";
/** What is below a connection that was made here: how many bytes it has passed on, those of TLS included, and when it did. */
interface Transport {
  readonly bytes: () => number;
  readonly events: EventEmitter;
  /** Comes behind what it passed on has been decrypted and parsed. */
  readonly event: string;
}

const transports = new WeakMap<Socket, Transport>();

const bytesReceived = (socket: Socket): number => transports.get(socket)?.bytes() ?? 0;

/**
 * Ends a connection with an error when more than so many further bytes have arrived on it which are no data: TLS 1.3 has key
 * updates without end. Judged after each read, of which the event loop does many in one turn.
 * @param dataBytes how many of them are data
 * @returns ends the watch, and says whether there were too many
 */
export function boundBytes(socket: Socket, most: number, dataBytes: () => number = () => 0): () => boolean {
  const begin = bytesReceived(socket);
  const isOver = (): boolean => bytesReceived(socket) - begin - dataBytes() > most;
  const check = (): void => {
    if (isOver()) socket.destroy(new TooManyBytes());
  };
  const { events, event = "" } = transports.get(socket) ?? {};
  events?.on(event, check);
  return () => {
    events?.off(event, check);
    return isOver();
  };
}

export class TooManyBytes extends Error {
  override readonly name = "TooManyBytes";
}

/** @throws NotConnected */
export async function connect(
  to: Destination,
  policy: OutgoingPolicy,
  surroundings: Surroundings,
  shares: TlsShares,
): Promise<Socket> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), CONNECT_MS);
  try {
    const addresses = await allowedAddresses(to.host, policy, surroundings, deadline.signal);
    const tcp = await connected(to, addresses, deadline.signal);
    try {
      if (!isAllowedAddress(tcp.remoteAddress ?? "", policy, surroundings.ownAddresses())) {
        throw new NotConnected("address_not_allowed", NOT_ALLOWED);
      }
      return to.protocol === "https:" ? await secured(to, tcp, surroundings, shares, deadline.signal) : tcp;
    } catch (error) {
      tcp.destroy();
      throw error;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** All of a host's addresses. If one is not allowed none is used: the name would be tried until it gives that one. */
async function allowedAddresses(
  host: string,
  policy: OutgoingPolicy,
  { resolve, ownAddresses }: Surroundings,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await resolved(host, resolve, signal) : [host];
  const own = ownAddresses();
  if (!addresses.every((address) => isAllowedAddress(address, policy, own))) {
    throw new NotConnected("address_not_allowed", NOT_ALLOWED);
  }
  return addresses;
}

async function resolved(host: string, resolve: Resolve, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const addresses = await resolve(host, signal);
    if (addresses.length > 0) return addresses;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTFOUND" && code !== "ENODATA") {
      throw new NotConnected("dns", "DNS did not say which address the host of the URL has");
    }
  }
  throw new NotConnected("dns", "the host of the URL has no address");
}

function connected({ host, port }: Destination, addresses: readonly string[], signal: AbortSignal): Promise<Socket> {
  const judged = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const [first] = judged;
  const tcp = connectTcp({
    host,
    port,
    // Node asks with `all` if it may try several. A host that is an address is not looked up at all.
    lookup: (_name, options, callback) =>
      options.all ? callback(null, judged) : callback(null, first?.address ?? "", first?.family),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    noDelay: true,
  });
  transports.set(tcp, { bytes: () => tcp.bytesRead, events: tcp, event: "data" });
  tcp.on("error", ignored);
  return established(tcp, "connect", signal, (error) => notConnected("connection", error));
}

function secured(
  to: Destination,
  tcp: Socket,
  surroundings: Surroundings,
  shares: TlsShares,
  signal: AbortSignal,
): Promise<Socket> {
  const pieces = new PiecesInTurn(tcp, (work) => shares.run(to.payer, work));
  const tls: TLSSocket = connectTls({
    socket: pieces,
    secureContext: contextOf(surroundings),
    host: to.host,
    servername: isIP(to.host) === 0 ? to.host : "",
    // Node's default depends on an environment variable.
    rejectUnauthorized: true,
    ALPNProtocols: ["http/1.1"],
  });
  transports.set(tls, { bytes: () => pieces.bytes, events: pieces, event: PASSED });
  tls.on("error", ignored);
  return established(tls, "secureConnect", signal, (error) => notConnected("tls", error)).then((socket) => {
    pieces.onSecured();
    return socket;
  });
}

/** Making one reads all certificates that are trusted. */
function contextOf({ trustedCertificates: ca }: Surroundings): SecureContext {
  const made = contexts.get(ca);
  if (made !== undefined) return made;
  const context = createSecureContext({
    ciphers: CIPHERS,
    ecdhCurve: CURVES,
    minVersion: "TLSv1.2",
    // A receiver could ask for one handshake after another.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    ...(ca !== undefined && { ca }),
  });
  contexts.set(ca, context);
  return context;
}

/** By the certificates that are trusted: one, but for tests. */
const contexts = new Map<string | undefined, SecureContext>();

const PASSED = "passed";

/**
 * Between TCP and TLS: each piece is decrypted in its turn, behind the handshake too, because a receiver may ask for new keys
 * again and again; and a handshake that brings too much ends before it is read.
 */
class PiecesInTurn extends Duplex {
  readonly #tcp: Socket;
  readonly #inTurn: (work: () => void) => void;
  /** That TLS has read. */
  bytes = 0;
  #isSecured = false;
  #waits = false;

  constructor(tcp: Socket, inTurn: (work: () => void) => void) {
    super();
    this.#tcp = tcp;
    this.#inTurn = inTurn;
    tcp
      .on("data", (chunk) => this.#onData(chunk))
      .once("end", () => this.push(null))
      .once("close", () => this.destroy());
  }

  onSecured(): void {
    this.#isSecured = true;
  }

  #onData(chunk: Buffer): void {
    if (!this.#isSecured && this.bytes + chunk.length > MAX_HANDSHAKE_BYTES) {
      this.destroy(new TooManyBytes());
      return;
    }
    this.#waits = true;
    this.#tcp.pause();
    this.#inTurn(() => {
      this.#waits = false;
      if (this.destroyed) return;
      this.#tcp.resume();
      this.#pass(chunk);
    });
  }

  /** TLS reads it, and computes what it asks for, before this returns. */
  #pass(chunk: Buffer): void {
    this.bytes += chunk.length;
    if (!this.push(chunk)) this.#tcp.pause();
    this.emit(PASSED);
  }

  override _read(): void {
    if (!this.#waits) this.#tcp.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.#tcp.write(chunk, callback);
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#tcp.end(callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#tcp.destroy();
    callback(error);
  }
}

/** While nobody listens, an error would end the process. */
const ignored = (): void => undefined;

/** Waits for an event of a socket, which is destroyed if something else happens first. */
function established(
  socket: Socket,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
  failure: (error: Error) => NotConnected,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const settle = (error?: NotConnected): void => {
      socket.off(event, succeed).off("error", fail).off("close", close);
      signal.removeEventListener("abort", timeOut);
      if (error === undefined) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(error);
    };
    const succeed = (): void => settle();
    const fail = (error: Error): void => settle(failure(error));
    const close = (): void => settle(failure(new Error("the connection was closed")));
    const timeOut = (): void => settle(new NotConnected("timeout", `no connection within ${CONNECT_MS / 1_000} s`));
    socket.once(event, succeed).once("error", fail).once("close", close);
    signal.addEventListener("abort", timeOut);
    if (signal.aborted) timeOut();
  });
}

/** Node's messages of errors have addresses, ports and certificates in them; the codes do not. */
function notConnected(reason: "connection" | "tls", error: NodeJS.ErrnoException): NotConnected {
  const { code } = error instanceof AggregateError ? (error.errors.at(-1) as NodeJS.ErrnoException) : error;
  const what = reason === "tls" ? "no TLS connection" : "no connection";
  return new NotConnected(reason, `${what}: ${code ?? "it was closed"}`);
}
