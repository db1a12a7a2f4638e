/** A customer of the service as it is met over HTTP: places orders, cancels and reads them, and remembers every answer. */
import { deepStrictEqual } from "node:assert/strict";
import { amountOf } from "../../src/money/amount.ts";
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import type { Ready } from "../cli/parbook.ts";
import type { Random } from "../support/random.ts";
import { until } from "../support/until.ts";
import { Answers, expectExecuted, isClosed, type ShownOrder } from "./answers.ts";
import { type OrderRequest, orderAtRandom } from "./orders-at-random.ts";

/** What the bootstrap file says of a customer. */
export interface TraderSeed {
  readonly id: string;
  readonly name: string;
  readonly profileId: string;
  readonly clientId: string;
  readonly secret: string;
}

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what the service sent, which the storm is about to judge
  readonly body: any;
}

/** A request that is not answered by then is not waited for any longer: a pause of the service is shorter. */
const PATIENCE_MS = 60_000;

export class Trader {
  readonly answers = new Answers();
  readonly #seed: TraderSeed;
  readonly #random: Random;
  #sent = 0;
  #baseUrl = "";
  #token = "";

  constructor(seed: TraderSeed, random: Random) {
    this.#seed = seed;
    this.#random = random;
  }

  /** Addresses and tokens are new after each start. */
  async meet({ base_url: baseUrl, auth_url: authUrl }: Pick<Ready, "base_url" | "auth_url">): Promise<void> {
    const { clientId, secret } = this.#seed;
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id: clientId, client_secret: secret });
    const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form });
    const { access_token: token } = (await answer.json()) as { access_token?: string };
    this.#baseUrl = baseUrl;
    this.#token = must(token, `${clientId} is given a token`);
  }

  /** One request after the other, until told to stop or until nobody listens any more. */
  async trade(storm: { readonly isOver: boolean; replies: number }): Promise<void> {
    while (!storm.isOver) {
      try {
        await this.#act();
        storm.replies += 1;
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        // Nobody is there, or somebody without a database.
        await pause(100);
      }
    }
  }

  async #act(): Promise<void> {
    const open = [...this.answers.orders.values()].filter((order) => !isClosed(order));
    const chosen = open[this.#random(Math.max(1, open.length))];
    const dice = this.#random(100);
    if (chosen === undefined || dice < 75) await this.place(orderAtRandom(this.#random, this.nextRefId()));
    else if (dice < 90) await this.#cancel(chosen);
    else await this.#look(chosen.id);
  }

  nextRefId(): string {
    this.#sent += 1;
    return `${this.#seed.clientId}-${this.#sent}`;
  }

  async place(request: OrderRequest): Promise<void> {
    this.answers.sends(request);
    const { status, body } = await this.#ask("POST", this.#orders, request);
    if (status === 200) this.answers.isShown(body);
    else if (isRefusal(status, body)) this.answers.isRefused(String(request.ref_id));
    else throw new Error(`an order was answered with ${status} ${JSON.stringify(body)}`);
  }

  /** As a client does that has heard nothing: it sends the same again until it hears what became of it. */
  async placeAgain(request: OrderRequest): Promise<ShownOrder | undefined> {
    const { status, body } = await this.#insist("POST", this.#orders, request);
    if (isRefusal(status, body)) {
      this.answers.isRefused(String(request.ref_id));
      return undefined;
    }
    const order: ShownOrder = status === 409 ? body.meta.existing : body;
    deepStrictEqual([[200, 409].includes(status), order.ref_id], [true, request.ref_id], "one or the other");
    this.answers.isShown(order);
    return order;
  }

  /** Whether an order that was placed has filled anything by now. */
  async hasTraded(order: ShownOrder | undefined): Promise<boolean> {
    const { id } = must(order, "the order was not refused");
    const { body } = await this.#insist("GET", `${this.#orders}/${id}`);
    return amountOf(body.amount_filled) > 0n;
  }

  async #cancel({ id }: ShownOrder): Promise<void> {
    const { status, body } = await this.#ask("DELETE", `${this.#orders}/${id}`);
    if (status === 200) this.answers.cancelled.add(id);
    else if (status !== 403) throw new Error(`a cancel was answered with ${status} ${JSON.stringify(body)}`);
  }

  async #look(id: string): Promise<void> {
    const { status, body } = await this.#ask("GET", `${this.#orders}/${id}`);
    if (status !== 200) throw new Error(`order ${id} was answered with ${status} ${JSON.stringify(body)}`);
    this.answers.isShown(body);
  }

  /**
   * Every answer still holds. What was not answered is there once or not at all, and sent again it tells which: 200 or
   * 409 with the order that there is. Returns how many of those it had.
   */
  async expectKept(): Promise<number> {
    const listed = await this.#list<ShownOrder>("/v2/orders?limit=1000");
    this.answers.expectKept(listed);
    const byRefId = new Map(listed.map((order) => [order.ref_id, order]));
    let booked = 0;
    for (const [refId, request] of [...this.answers.unanswered]) {
      const before = byRefId.get(refId);
      const after = await this.placeAgain(request);
      if (before === undefined) continue;
      booked += 1;
      assert(after?.id === before.id, `what is there is not placed again: ${refId}`);
    }
    return booked;
  }

  /** Waits until nothing is under way, and holds orders against executions. */
  async expectSettled(): Promise<void> {
    let listed: readonly ShownOrder[] = [];
    const isSettled = async (): Promise<boolean> => {
      listed = await this.#list<ShownOrder>("/v2/orders?limit=1000");
      this.answers.expectKept(listed);
      return this.answers.isSettled(listed);
    };
    await until("every order is taken, and every cancel has ended its order", isSettled, 60);
    expectExecuted(listed, await this.#list("/v2/executions?limit=1000"));
  }

  get #orders(): string {
    return `/v2/profiles/${this.#seed.profileId}/orders`;
  }

  async #list<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor = ""; ; ) {
      const { status, body } = await this.#insist("GET", `${path}&page_cursor=${encodeURIComponent(cursor)}`);
      if (status !== 200) throw new Error(`${path} was answered with ${status} ${JSON.stringify(body)}`);
      items.push(...body.items);
      cursor = body.next_page_cursor;
      if (cursor === "") return items;
    }
  }

  /** Asks until there is an answer. */
  async #insist(method: string, path: string, json?: OrderRequest): Promise<Reply> {
    let reply: Reply | undefined;
    const isAnswered = async (): Promise<boolean> => {
      try {
        reply = await this.#ask(method, path, json);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        await pause(50);
      }
      return reply !== undefined;
    };
    await until(`${method} ${path} is answered`, isAnswered, 60);
    return must(reply, "it is answered");
  }

  async #ask(method: string, path: string, json?: OrderRequest): Promise<Reply> {
    const reply = await fetch(this.#baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
      .then(async (answer) => ({ status: answer.status, body: await answer.json() }))
      .catch((error: unknown) => {
        throw new NoAnswer(`no answer to ${method} ${path}`, { cause: error });
      });
    // "Nothing was done, or the ref_id tells."
    if (reply.status === 503) throw new NoAnswer(`no answer to ${method} ${path}: ${JSON.stringify(reply.body)}`);
    return reply;
  }
}

/** The request may have been carried out, or not. */
class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** An order that leaves no record, because there is not enough money for it. */
const isRefusal = (status: number, { type }: Reply["body"]): boolean =>
  status === 403 && String(type).endsWith("/problems/insufficient-funds");
