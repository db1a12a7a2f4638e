/**
 * Customers transfer, convert and trade, their receivers fail, and the nodes that deliver are killed and paused. At the end of
 * each round every event was accepted by each webhook of its type, in the order that the webhook asks for.
 */
import { randomUUID } from "node:crypto";
import { readEventLag } from "../../../src/events/event-lag.ts";
import { assert, must } from "../../../src/std/assert.ts";
import { pause } from "../../../src/std/pause.ts";
import type { TestDatabase } from "../../support/database.ts";
import { stepDone } from "../../support/long-run.ts";
import { type Random, seeded } from "../../support/random.ts";
import { until } from "../../support/until.ts";
import { type PostedEvent, type Receiver, Receivers } from "./receivers.ts";
import { TwoNodes } from "./two-nodes.ts";

interface Customer {
  readonly name: string;
  readonly secret: string;
  readonly id: string;
  readonly profiles: readonly string[];
  token: string;
}

interface Hook {
  readonly id: string;
  readonly customer: Customer;
  readonly order: "PER_OBJECT" | "STRICT" | "ANY";
  readonly types: string;
  readonly receiver: Receiver;
  /** Whether its receiver may not answer at all. */
  readonly hangs: boolean;
  /** The first event that it gets. */
  readonly first: number;
}

// biome-ignore lint/suspicious/noExplicitAny: a body of any kind
type Body = any;

const CUSTOMERS = ["ann", "bob"];
const OPENING = { USD: "1000000", PYUSD: "10000", ETH: "10000" };
const HOOKS = [
  { order: "PER_OBJECT", types: "*" },
  { order: "STRICT", types: "*" },
  { order: "ANY", types: "transfer.*" },
] as const;
const PER_SECOND = 100;
/** Accepted, and not written as such when a node dies: of a webhook those in flight, and those of the last write. */
const MOST_AGAIN = { PER_OBJECT: 16 + 10, ANY: 16 + 10, STRICT: 100 };
/** A write that waits for a busy disk leaves those of a second, and a paused node goes on until its next write: not often. */
const MOST_AGAIN_ONCE = 2 * PER_SECOND;
const DELIVERED_WITHIN_S = 120;

export interface StormReport {
  readonly faults: number;
  readonly events: number;
  readonly acceptances: number;
  /** Acceptances of what was accepted before. */
  readonly again: number;
  readonly againOfHanging: number;
  readonly posts: number;
}

export class WebhookStorm {
  readonly #db: TestDatabase;
  readonly #nodes: TwoNodes;
  readonly #receivers: Receivers;
  readonly #random: Random;
  readonly #customers: readonly Customer[];
  readonly #hooks: Hook[] = [];
  #faults = 0;

  private constructor(
    db: TestDatabase,
    nodes: TwoNodes,
    receivers: Receivers,
    random: Random,
    customers: readonly Customer[],
  ) {
    this.#db = db;
    this.#nodes = nodes;
    this.#receivers = receivers;
    this.#random = random;
    this.#customers = customers;
  }

  static async open(db: TestDatabase, seed: number): Promise<WebhookStorm> {
    const random = seeded(seed);
    const customers = CUSTOMERS.map((name) => ({
      ...{ name, id: randomUUID(), secret: randomUUID(), token: "" },
      profiles: [randomUUID(), randomUUID()],
    }));
    const receivers = new Receivers(random);
    await receivers.listen();
    const nodes = await TwoNodes.open(db, { customers: customers.map(bootstrapCustomer) });
    const storm = new WebhookStorm(db, nodes, receivers, random, customers);
    try {
      for (const customer of customers) await storm.#enter(customer);
      return storm;
    } catch (error) {
      await storm.close();
      throw error;
    }
  }

  /** So many faults while requests go on; then all has arrived. */
  async round(faults: number): Promise<void> {
    const flow = { isOver: false };
    for (const { receiver } of this.#hooks) receiver.answering = "by chance";
    const requests = this.#customers.map((customer) => this.#request(customer, flow));
    for (let fault = 0; fault < faults; fault += 1) {
      await pause(300 + this.#random(1_000));
      await this.#inject();
      this.#faults += 1;
      stepDone();
    }
    flow.isOver = true;
    await Promise.all(requests);
    await until("all conversions are settled", () => this.#isSettled(), DELIVERED_WITHIN_S);
    for (const { receiver } of this.#hooks) receiver.answering = "well";
    for (const hook of this.#hooks) await this.#untilDelivered(hook);
    for (const hook of this.#hooks) await this.#check(hook);
    assert(this.#receivers.faults.length === 0, `receivers find nothing wrong: ${this.#receivers.faults}`);
  }

  /** A receiver that answers 410 ends its webhook, and its customer is told by one event. */
  async expectGone(): Promise<void> {
    const [customer] = this.#customers;
    const hook = await this.#hook(must(customer, "there is one"), { order: "ANY", types: "webhook.*" });
    this.#hooks.splice(this.#hooks.indexOf(hook), 1);
    const gone = await this.#hook(must(customer, "there is one"), { order: "ANY", types: "*" });
    this.#hooks.splice(this.#hooks.indexOf(gone), 1);
    gone.receiver.answering = "gone";
    await this.#transfer(gone.customer);
    await until("its customer is told", () => hook.receiver.accepted.length > 0, DELIVERED_WITHIN_S);
    const told = hook.receiver.accepted.map(({ type, data }) => [type, data.id, data.status]);
    assert(JSON.stringify(told) === JSON.stringify([["webhook.disabled", gone.id, "DISABLED"]]), `it is ${told}`);
    const { status, disabled_reason: reason } = await this.#call(gone.customer, "GET", `/v2/webhooks/${gone.id}`);
    assert(`${status} ${reason}` === "DISABLED GONE", `it is ${status} ${reason}`);
  }

  report(): StormReport {
    const sum = (count: (hook: Hook) => number) => this.#hooks.reduce((total, hook) => total + count(hook), 0);
    const againOf = ({ receiver }: Hook) => receiver.accepted.length - new Set(numbersOf(receiver)).size;
    return {
      faults: this.#faults,
      events: sum(({ receiver }) => new Set(numbersOf(receiver)).size),
      acceptances: sum(({ receiver }) => receiver.accepted.length),
      again: sum((hook) => (hook.hangs ? 0 : againOf(hook))),
      againOfHanging: sum((hook) => (hook.hangs ? againOf(hook) : 0)),
      posts: sum(({ receiver }) => receiver.posts.size),
    };
  }

  output(): string {
    return this.#nodes.output();
  }

  async close(): Promise<void> {
    await this.#nodes.close();
    await this.#receivers.close();
  }

  // Faults -----------------------------------------------------------------------------------------------------------

  /** Mostly to the one that delivers. */
  async #inject(): Promise<void> {
    const delivering = await this.#nodes.delivering();
    const place = delivering !== undefined && this.#random(4) > 0 ? delivering : this.#random(2);
    if (this.#random(3) > 0) await this.#nodes.kill(place);
    else await this.#nodes.pauseFor(place, 500 + this.#random(2_500));
  }

  // Requests ---------------------------------------------------------------------------------------------------------

  async #enter(customer: Customer): Promise<void> {
    const form = { grant_type: "client_credentials", client_id: customer.name, client_secret: customer.secret };
    const { authUrl } = this.#nodes.addressOf(0);
    const answer = await fetch(`${authUrl}/oauth2/token`, { method: "POST", body: new URLSearchParams(form) });
    customer.token = ((await answer.json()) as { readonly access_token: string }).access_token;
    for (const settings of HOOKS) await this.#hook(customer, settings);
  }

  async #hook(customer: Customer, { order, types }: Pick<Hook, "order" | "types">): Promise<Hook> {
    const hangs = customer === this.#customers.at(-1);
    const { receiver, url } = this.#receivers.open(hangs);
    const made = await this.#call(customer, "POST", "/v2/webhooks", {
      ...{ name: randomUUID(), url, types: [types], body: "FULL" },
      ...{ delivery_order: order, deliveries_per_second: PER_SECOND },
    });
    receiver.secret = made.signing_secret;
    const [row] = await this.#db.owner.rows<{ read_to: string }>(
      "select read_to from webhook_progress where webhook_id = $1",
      [made.id],
    );
    const hook = { id: made.id, customer, order, types, receiver, hangs, first: Number(row?.read_to) + 1 };
    this.#hooks.push(hook);
    return hook;
  }

  /** To whichever node answers. @throws what the last one said */
  async #call({ token }: Customer, method: string, path: string, body?: object): Promise<Body> {
    let said = "";
    for (let place = this.#random(2), tries = 0; tries < 2; place += 1, tries += 1) {
      const { baseUrl } = this.#nodes.addressOf(place);
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      try {
        const answer = await fetch(baseUrl + path, {
          ...{ method, headers, signal: AbortSignal.timeout(10_000) },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        });
        said = await answer.text();
        if (answer.status === 200) return JSON.parse(said);
      } catch (error) {
        said = String(error);
      }
    }
    throw new Error(`${method} ${path}: ${said}`);
  }

  async #request(customer: Customer, flow: { readonly isOver: boolean }): Promise<void> {
    const kinds = [() => this.#transfer(customer), () => this.#convert(customer), () => this.#trade(customer)];
    while (!flow.isOver) {
      // A node may be down: what was done is in the events.
      await must(kinds[this.#random(kinds.length)], "there is such a kind")().catch(() => undefined);
      await pause(this.#random(100));
    }
  }

  #transfer(customer: Customer): Promise<unknown> {
    const other = must(this.#customers[this.#random(this.#customers.length)], "there is one");
    return this.#call(customer, "POST", "/v2/transfer/platform", {
      ...{ from_profile_id: customer.profiles[0], to_profile_id: other.profiles[1], asset: "USD", amount: "1" },
      ref_id: randomUUID(),
    });
  }

  #convert(customer: Customer): Promise<unknown> {
    return this.#call(customer, "POST", "/v2/conversion/stablecoins", {
      ...{ profile_id: customer.profiles[0], amount: "1", source_asset: "USD", target_asset: "PYUSD" },
      ref_id: randomUUID(),
    });
  }

  #trade(customer: Customer): Promise<unknown> {
    const side = this.#random(2) === 0 ? "BUY" : "SELL";
    return this.#call(customer, "POST", `/v2/profiles/${customer.profiles[0]}/orders`, {
      ...{ side, market: "ETHUSD", type: "LIMIT", base_amount: "0.1", price: String(1_000 + this.#random(3)) },
      ref_id: randomUUID(),
    });
  }

  // What must hold ---------------------------------------------------------------------------------------------------

  /** Nothing happens any more that would be another event. */
  async #isSettled(): Promise<boolean> {
    const open = await this.#db.owner.rows("select from conversion where status = 'CREATED' limit 1");
    return open.length === 0;
  }

  /** What waits for its next attempt is tried at once. */
  async #untilDelivered({ id, customer }: Hook): Promise<void> {
    await until("all is published", async () => (await readEventLag(this.#db.owner)) === 0, DELIVERED_WITHIN_S);
    let nextReplay = 0;
    const isDelivered = async (): Promise<boolean> => {
      const [row] = await this.#db.owner.rows<{ is_done: boolean; is_open: boolean }>(
        `select p.read_to >= (select max(first_number + count - 1) from event where customer_id = p.customer_id) as is_done,
                exists (select from webhook_delivery where webhook_id = p.webhook_id) as is_open
           from webhook_progress p where p.webhook_id = $1`,
        [id],
      );
      if (row?.is_open === true && performance.now() > nextReplay) {
        await this.#call(customer, "POST", `/v2/webhooks/${id}/replay`, { only_undelivered: true });
        nextReplay = performance.now() + 3_000;
      }
      return row?.is_done === true && !row.is_open;
    };
    await until(`all is delivered to ${id}`, isDelivered, DELIVERED_WITHIN_S);
  }

  async #check({ customer, order, types, receiver, first }: Hook): Promise<void> {
    const wanted = (await this.#eventsOf(customer, first)).filter(({ type }) =>
      type.startsWith(types.replace("*", "")),
    );
    const firsts = new Map<number, PostedEvent>();
    for (const event of receiver.accepted) if (!firsts.has(event.number)) firsts.set(event.number, event);
    const name = `${customer.name} ${order}`;
    for (const { number, id } of wanted) assert(firsts.get(number)?.id === id, `${name} got event ${number}`);
    assert(firsts.size === wanted.length, `${name} got ${wanted.length} events, and not ${firsts.size}`);
    if (order === "STRICT") expectRising([...firsts.keys()], name);
    if (order === "PER_OBJECT") for (const numbers of byObject(firsts.values())) expectRising(numbers, name);
    const again = receiver.accepted.length - firsts.size;
    const isFew = again <= this.#faults * MOST_AGAIN[order] + MOST_AGAIN_ONCE;
    assert(isFew, `${name} got ${again} events again after ${this.#faults} faults`);
  }

  async #eventsOf(customer: Customer, first: number): Promise<PostedEvent[]> {
    const found: PostedEvent[] = [];
    for (let after = first - 1; ; after = must(found.at(-1), "a page has events").number) {
      const { events } = await this.#call(customer, "GET", `/v2/events?after_number=${after}`);
      if (events.length === 0) return found;
      found.push(...events);
    }
  }
}

const numbersOf = ({ accepted }: Receiver): number[] => accepted.map(({ number }) => number);

function byObject(events: Iterable<PostedEvent>): number[][] {
  const numbers = new Map<string, number[]>();
  for (const { number, data } of events) {
    const object = String(data.id ?? data.execution_id);
    numbers.set(object, [...(numbers.get(object) ?? []), number]);
  }
  return [...numbers.values()];
}

function expectRising(numbers: readonly number[], name: string): void {
  for (const [place, number] of numbers.entries())
    assert(
      place === 0 || number > (numbers[place - 1] ?? 0),
      `${name} got event ${number} after ${numbers[place - 1]}`,
    );
}

function bootstrapCustomer({ id, name, profiles, secret }: Customer) {
  return {
    ...{ id, name, clients: [{ client_id: name, client_secret: secret, scopes: ["*"] }] },
    profiles: profiles.map((profileId, place) => ({ id: profileId, nickname: `${name} ${place}`, balances: OPENING })),
  };
}
