/**
 * Receivers of webhooks that answer, fail, ask for patience, hang or close the connection, as chance has it. Each checks the
 * signature, and keeps what it was posted and what it accepted.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { assert } from "../../../src/std/assert.ts";
import { pause } from "../../../src/std/pause.ts";
import type { Random } from "../../support/random.ts";

/** An event as it is posted in full. */
export interface PostedEvent {
  readonly id: string;
  readonly number: number;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type Answering = "well" | "by chance" | "gone";

export class Receiver {
  /** Known once the webhook is created. */
  secret = "";
  answering: Answering = "well";
  /** Each acceptance, in order: what comes twice is in it twice. */
  readonly accepted: PostedEvent[] = [];
  /** The numbers of the events of each webhook-id. */
  readonly posts = new Map<string, string>();
  readonly #random: Random;
  /** Whether it may also not answer at all. */
  readonly #hangs: boolean;

  constructor(random: Random, hangs: boolean) {
    this.#random = random;
    this.#hangs = hangs;
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const id = String(request.headers["webhook-id"]);
    this.#checkSignature(id, request, body);
    const parsed = JSON.parse(body) as PostedEvent & { readonly data: readonly PostedEvent[] };
    const events: readonly PostedEvent[] = Array.isArray(parsed.data) ? parsed.data : [parsed];
    const numbers = events.map(({ number }) => number).join();
    assert((this.posts.get(id) ?? numbers) === numbers, `the same webhook-id ${id} means the same events`);
    this.posts.set(id, numbers);
    if (this.answering === "gone") return void response.writeHead(410).end();
    const chance = this.answering === "well" ? 99 : this.#random(100);
    if (chance < 4) return void request.socket.destroy();
    if (chance < 5 && this.#hangs) return;
    if (chance < 9) return void response.writeHead(429, { "retry-after": "1" }).end();
    if (chance < 14) return void response.writeHead(500).end("out of order");
    if (chance < 20) await pause(this.#random(300));
    this.accepted.push(...events);
    response.writeHead(204).end();
  }

  #checkSignature(id: string, { headers }: IncomingMessage, body: string): void {
    const key = Buffer.from(this.secret.replace("whsec_", ""), "base64");
    const wanted = createHmac("sha256", key).update(`${id}.${headers["webhook-timestamp"]}.${body}`).digest();
    const [first = ""] = String(headers["webhook-signature"])
      .split(" ")
      .filter((each) => each.startsWith("v1,"));
    assert(timingSafeEqual(Buffer.from(first.slice(3), "base64"), wanted), `${id} is signed`);
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export class Receivers {
  readonly #receivers: Receiver[] = [];
  /** What a receiver found wrong with what it was posted. */
  readonly faults: unknown[] = [];
  readonly #random: Random;
  readonly #server = createServer((request, response) => {
    const receiver = this.#receivers[Number(request.url?.slice(1))];
    receiver?.take(request, response).catch((error: unknown) => {
      // A node that is killed leaves half a request.
      if (!request.complete) return;
      this.faults.push(error);
      response.writeHead(500).end();
    });
  });

  constructor(random: Random) {
    this.#random = random;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  open(hangs = false): { readonly receiver: Receiver; readonly url: string } {
    const receiver = new Receiver(this.#random, hangs);
    const { port } = this.#server.address() as AddressInfo;
    return { receiver, url: `http://127.0.0.1:${port}/${this.#receivers.push(receiver) - 1}` };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
