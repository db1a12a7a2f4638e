/** Clients of the feeds, as docs/market-data.md says how to write one. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type ClientOptions, WebSocket } from "ws";

export type Message = Record<string, unknown>;

export class FeedClient {
  readonly messages: Message[] = [];
  readonly webSocket: WebSocket;
  /** "1001 the reason" when the server has closed the connection in order. */
  readonly closed: Promise<string>;

  /** `url` is the API's own address. */
  constructor(url: string, path: string, options: ClientOptions = {}) {
    this.webSocket = new WebSocket(url.replace(/^http/, "ws") + path, options);
    this.webSocket.on("message", (data) => this.take(JSON.parse(String(data))));
    this.webSocket.on("error", () => undefined);
    this.closed = once(this.webSocket, "close").then(([code, reason]) => `${code} ${reason}`.trim());
  }

  async opened(): Promise<this> {
    await once(this.webSocket, "open");
    return this;
  }

  async close(): Promise<void> {
    this.webSocket.close();
    await this.closed;
  }

  protected take(message: Message): void {
    this.messages.push(message);
  }
}

interface Level {
  readonly price: string;
  readonly amount: string;
}

/** Keeps a book by the messages of its feed. */
export class BookClient extends FeedClient {
  snapshots = 0;
  #bids = new Map<string, string>();
  #asks = new Map<string, string>();
  /** The book whenever it was whole, in the order of the sequences. */
  readonly #wholes: { readonly sequence: bigint; readonly book: string }[] = [];

  /** What came so far is not wanted any more. */
  forget(): void {
    this.messages.length = 0;
    this.#wholes.length = 0;
  }

  /** The book as of a sequence; undefined when this client came later. */
  bookAt(sequence: string): string | undefined {
    return this.#wholes.findLast((whole) => whole.sequence <= BigInt(sequence))?.book;
  }

  get last(): string | undefined {
    return this.#wholes.at(-1)?.book;
  }

  protected override take(message: Message): void {
    super.take(message);
    if (message.type === "SNAPSHOT") {
      this.snapshots += 1;
      this.#bids = levels(message.bids);
      this.#asks = levels(message.asks);
    } else {
      const { side, price, amount } = message as Record<string, string>;
      const changed = side === "BUY" ? this.#bids : this.#asks;
      if (amount === "0") changed.delete(price as string);
      else changed.set(price as string, amount as string);
    }
    if (message.final_snapshot !== true && message.final_update !== true) return;
    const book = shownBook({ bids: listed(this.#bids), asks: listed(this.#asks) });
    this.#wholes.push({ sequence: BigInt(message.sequence as string), book });
  }
}

/** A book as text that can be compared: of a client, or of the REST API. */
export function shownBook({
  bids,
  asks,
}: {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}): string {
  const side = (all: readonly Level[], sign: number): string =>
    all
      .toSorted((a, b) => sign * (Number(a.price) - Number(b.price)))
      .map(({ price, amount }) => `${amount} @ ${price}`)
      .join(", ");
  return `${side(bids, -1)} | ${side(asks, 1)}`;
}

const levels = (sent: unknown): Map<string, string> =>
  new Map((sent as Level[]).map(({ price, amount }) => [price, amount]));

const listed = (side: ReadonlyMap<string, string>): Level[] => [...side].map(([price, amount]) => ({ price, amount }));

/** A connection that has asked for a feed and reads nothing, until it is resumed. */
export async function stuckReader(url: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  const head = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13";
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
  await once(socket, "data");
  return socket.pause();
}
