/** The connections of outgoing requests: kept alive for the next request to the same host, within bounds. */
import { type ClientRequest, Agent as HttpAgent } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { steadyClock } from "../../std/clock.ts";
import { LruCache } from "../../std/lru-cache.ts";
import { boundBytes, connect, type Surroundings, TooManyBytes } from "./connect.ts";
import type { OutgoingPolicy } from "./outgoing-policy.ts";
import type { TlsShares } from "./tls-shares.ts";

/** Servers of Node close idle connections after 5 s, and most others later. */
const IDLE_MS = 4_000;
/** As many as a customer has in flight. */
const MOST_IDLE_PER_HOST = 64;
const MOST_IDLE = 256;
/** Then the host's name is resolved again. */
const MAX_AGE_MS = 60_000;
/** Tickets for the next session of TLS 1.3. */
const MAX_IDLE_BYTES = 4_096;
const MOST_NOISY = 1_000;

/** What Node passes on of the options of a request. */
interface ConnectionOptions {
  readonly host?: string | null;
  readonly port?: number | string | null;
  readonly payer?: string | undefined;
}

/** With `https:` it makes TLS connections itself: to Node it is one for `http:` in either case. */
export class ConnectionPool extends HttpAgent {
  readonly #protocol: "http:" | "https:";
  readonly #policy: OutgoingPolicy;
  readonly #surroundings: Surroundings;
  readonly #shares: TlsShares;
  readonly #made = new WeakMap<Duplex, { readonly host: string; readonly since: number }>();
  /** What ends the watch over an idle connection. */
  readonly #watched = new WeakMap<Duplex, () => void>();
  /** Hosts that sent something on an idle connection. Theirs are closed after each request. */
  readonly #noisy = new LruCache<true>(MOST_NOISY);

  /** @param keeps false: each connection is for one request */
  constructor(
    protocol: "http:" | "https:",
    keeps: boolean,
    policy: OutgoingPolicy,
    surroundings: Surroundings,
    shares: TlsShares,
  ) {
    super({ keepAlive: keeps, maxFreeSockets: MOST_IDLE_PER_HOST, timeout: IDLE_MS, scheduling: "lifo" });
    this.#protocol = protocol;
    this.#policy = policy;
    this.#surroundings = surroundings;
    this.#shares = shares;
  }

  override createConnection(
    { host, port, payer = host ?? "" }: ConnectionOptions,
    callback: (error: Error | null, socket: Duplex) => void = () => undefined,
  ): undefined {
    const to = { protocol: this.#protocol, host: host ?? "", port: Number(port), payer };
    connect(to, this.#policy, this.#surroundings, this.#shares).then(
      (socket) => {
        this.#made.set(socket, { host: to.host, since: steadyClock.now() });
        callback(null, socket);
      },
      // Node's types want a socket in either case, Node itself only without an error.
      (error: Error) => callback(error, undefined as unknown as Duplex),
    );
  }

  /** A receiver has nothing to say on an idle connection. */
  override keepSocketAlive(socket: Socket): boolean {
    const { host = "", since = 0 } = this.#made.get(socket) ?? {};
    const idle = Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
    if (steadyClock.now() - since > MAX_AGE_MS || idle >= MOST_IDLE || this.#noisy.get(host) === true) return false;
    // Node's type has no result, but Node uses it: false if the receiver is about to close the connection.
    if ((super.keepSocketAlive(socket) as unknown) === false) return false;
    const endConnection = (): void => void socket.destroy(new TooManyBytes());
    const note = (error: Error): void => {
      if (error instanceof TooManyBytes) this.#noisy.set(host, true);
    };
    const endWatch = boundBytes(socket, MAX_IDLE_BYTES);
    const before = socket.bytesRead;
    const close = (): void => {
      endWatch();
      // Node 22 and later end the connection by themselves. What TLS adds is no data.
      if (this.#protocol === "http:" && socket.bytesRead > before) this.#noisy.set(host, true);
    };
    socket.once("data", endConnection).once("error", note).once("close", close);
    this.#watched.set(socket, () => {
      endWatch();
      socket.off("data", endConnection).off("error", note).off("close", close);
    });
    return true;
  }

  override reuseSocket(socket: Socket, request: ClientRequest): void {
    this.#watched.get(socket)?.();
    super.reuseSocket(socket, request);
  }
}
