/** A customer who moves money and trades without a pause, and remembers every answer with its time. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { must } from "../../src/std/assert.ts";
import type { Ready } from "../cli/parbook.ts";
import { Answers, type ShownOrder } from "../reliability/answers.ts";
import { orderAtRandom } from "../reliability/orders-at-random.ts";
import { type Random, seeded } from "../support/random.ts";

interface ShownTransfer {
  readonly id: string;
  readonly ref_id?: string;
}

type Shown = { readonly transfer: ShownTransfer } | { readonly order: ShownOrder };

/** When it was asked for and when it was answered, in milliseconds of this machine's clock. */
type Remembered = Shown & { readonly sentAt: number; readonly answeredAt: number };

export class BusyCustomer {
  readonly remembered: Remembered[] = [];
  readonly #name: string;
  readonly #secret = randomUUID();
  readonly #profiles = [randomUUID(), randomUUID()] as const;
  readonly #random: Random;
  #baseUrl = "";
  #token = "";

  constructor(name: string, seed: number) {
    this.#name = name;
    this.#random = seeded(seed);
  }

  /** For the bootstrap file. */
  get entry() {
    const [treasury, payouts] = this.#profiles;
    const balances = { USD: "1000000", ETH: "10000", LTC: "10000" };
    return {
      name: this.#name,
      clients: [{ client_id: this.#name, client_secret: this.#secret, scopes: ["*"] }],
      profiles: [
        { id: treasury, nickname: "treasury", balances },
        { id: payouts, nickname: "payouts" },
      ],
    };
  }

  async meet({ base_url: baseUrl, auth_url: authUrl }: Ready): Promise<void> {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: this.#name,
      client_secret: this.#secret,
    });
    const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form });
    this.#baseUrl = baseUrl;
    this.#token = must(((await answer.json()) as { access_token?: string }).access_token, "a token is given");
  }

  /** Until it is told to stop, or nobody answers any more. */
  async work(day: { readonly isOver: boolean }): Promise<void> {
    while (!day.isOver) {
      const sentAt = Date.now();
      const shown = await (this.#random(2) === 0 ? this.#transfer() : this.#order()).catch(() => undefined);
      if (shown !== undefined) this.remembered.push({ sentAt, answeredAt: Date.now(), ...shown });
    }
  }

  async #transfer(): Promise<Shown> {
    const [from, to] = this.#profiles;
    const transfer = { from_profile_id: from, to_profile_id: to, asset: "USD", ref_id: randomUUID() };
    const amount = `0.${this.#random(90) + 10}`;
    return { transfer: (await this.#call("POST", "/v2/transfer/internal", { ...transfer, amount })) as ShownTransfer };
  }

  async #order(): Promise<Shown> {
    const path = `/v2/profiles/${this.#profiles[0]}/orders`;
    return { order: (await this.#call("POST", path, orderAtRandom(this.#random, randomUUID()))) as ShownOrder };
  }

  /**
   * The service has everything that was answered before the one moment, as it was answered, and nothing that was asked for
   * after the other one. Returns how much there was of each.
   */
  async expectKept(answeredBefore: Date, sentAfter?: Date): Promise<{ kept: number; gone: number }> {
    const transfers = await this.#list<ShownTransfer>("/v2/transfer/transfers");
    const orders = await this.#list<ShownOrder>("/v2/orders");
    const before = this.remembered.filter(({ answeredAt }) => answeredAt < answeredBefore.getTime());
    const answered = before.flatMap((one) => ("transfer" in one ? one.transfer : []));
    const found = new Map(transfers.map((transfer) => [transfer.id, transfer]));
    expect(answered.map(({ id }) => found.get(id))).toEqual(answered);
    const answers = new Answers();
    for (const one of before) if ("order" in one) answers.isShown(one.order);
    answers.expectKept(orders);
    const after = this.remembered.filter(({ sentAt }) => sentAfter !== undefined && sentAt > sentAfter.getTime());
    const ids = new Set([...found.keys(), ...orders.map(({ id }) => id)]);
    expect(after.filter((one) => ids.has("order" in one ? one.order.id : one.transfer.id))).toEqual([]);
    return { kept: before.length, gone: after.length };
  }

  async #list<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor = ""; ; ) {
      const page = await this.#call("GET", `${path}?limit=1000&page_cursor=${encodeURIComponent(cursor)}`);
      const { items: some, next_page_cursor: next } = page as { items: Item[]; next_page_cursor: string };
      items.push(...some);
      if (next === "") return items;
      cursor = next;
    }
  }

  async #call(method: string, path: string, json?: unknown): Promise<unknown> {
    const answer = await fetch(this.#baseUrl + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, "content-type": "application/json" },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const body = await answer.json();
    if (answer.status !== 200) throw new Error(`${method} ${path} was answered with ${JSON.stringify(body)}`);
    return body;
  }
}
