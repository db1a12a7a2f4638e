/** A customer who moves money and trades without a pause, and remembers every answer with its time. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { must } from "../../src/std/assert.ts";
import type { Ready } from "../cli/parbook.ts";
import { Answers } from "../reliability/answers.ts";
import { type Kind, LIFECYCLES, type Shown } from "../reliability/lifecycles.ts";
import { requestAtRandom } from "../reliability/requests-at-random.ts";
import { type Random, seeded } from "../support/random.ts";

/** When it was asked for and when it was answered, in milliseconds of this machine's clock. */
interface Remembered {
  readonly kind: Kind;
  readonly record: Shown;
  readonly sentAt: number;
  readonly answeredAt: number;
}

const LISTS: Readonly<Record<Kind, string>> = {
  transfer: "/v2/transfer/transfers",
  conversion: "/v2/conversion/stablecoins",
  order: "/v2/orders",
};

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

  get treasury(): string {
    return this.#profiles[0];
  }

  /** For the bootstrap file. */
  get entry() {
    const [treasury, payouts] = this.#profiles;
    const balances = { USD: "1000000", PYUSD: "1000", USDG: "1000", USDP: "1000", ETH: "10000", LTC: "10000" };
    return {
      name: this.#name,
      clients: [{ client_id: this.#name, client_secret: this.#secret, scopes: ["*"] }],
      profiles: [
        { id: treasury, nickname: "treasury", balances },
        { id: payouts, nickname: "payouts" },
      ],
    };
  }

  async meet({ base_url: baseUrl, auth_url: authUrl }: Pick<Ready, "base_url" | "auth_url">): Promise<void> {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: this.#name,
      client_secret: this.#secret,
    });
    const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: form });
    this.#baseUrl = baseUrl;
    this.#token = must(((await answer.json()) as { access_token?: string }).access_token, "a token is given");
  }

  /** Until it is stopped; what is rejected, or not answered any more, is not remembered. */
  async work(day: { readonly isOver: boolean }): Promise<void> {
    const surroundings = { own: this.#profiles, all: this.#profiles };
    while (!day.isOver) {
      const { kind, path, body } = requestAtRandom(this.#random, randomUUID(), surroundings);
      const sentAt = Date.now();
      const record = await this.#call("POST", path, body).catch(() => undefined);
      if (record !== undefined) this.remembered.push({ kind, record: record as Shown, sentAt, answeredAt: Date.now() });
    }
  }

  /**
   * The service has everything that was answered before the one moment, as it was answered, and nothing that was asked for
   * after the other one. Returns how much there was of each.
   */
  async expectKept(answeredBefore: Date, sentAfter?: Date): Promise<{ kept: number; gone: number }> {
    const before = this.remembered.filter(({ answeredAt }) => answeredAt < answeredBefore.getTime());
    const after = this.remembered.filter(({ sentAt }) => sentAfter !== undefined && sentAt > sentAfter.getTime());
    for (const kind of ["transfer", "conversion", "order"] as const) {
      // A transfer has two records, of which the debit bears the ref_id and was the answer.
      const listed = (await this.#list<Shown>(LISTS[kind])).filter(({ ref_id }) => ref_id !== undefined);
      const answers = new Answers(LIFECYCLES[kind]);
      for (const one of before) if (one.kind === kind) answers.isShown(one.record);
      answers.expectKept(listed);
      const ids = new Set(listed.map(({ id }) => id));
      expect(after.filter(({ record }) => ids.has(record.id))).toEqual([]);
    }
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
