/**
 * A customer of the service as it is met over HTTP: moves money in all ways, cancels and reads, remembers every answer,
 * and repeats what was not answered with the same ref_id.
 */
import { deepStrictEqual } from "node:assert/strict";
import { amountOf } from "../../src/money/amount.ts";
import { assert, must } from "../../src/std/assert.ts";
import { pause } from "../../src/std/pause.ts";
import type { Random } from "../support/random.ts";
import { until } from "../support/until.ts";
import { Answers, MOST_RECENT } from "./answers.ts";
import { type Kind, LIFECYCLES, type Shown } from "./lifecycles.ts";
import { type Asked, requestAtRandom, type Surroundings } from "./requests-at-random.ts";
import { NoAnswer, type Reply, send } from "./send.ts";

/** What the bootstrap file says of a customer, and where he meets the service. */
export interface ClientSeed {
  readonly id: string;
  readonly name: string;
  readonly profileIds: readonly string[];
  readonly secret: string;
}

/** What all clients of a round have in common. */
export interface Flow {
  readonly isOver: boolean;
  /** Told of every answer that says that money was moved; `sentAt` by the steady clock. */
  moved(sentAt: number): void;
}

export interface Tally {
  /** Answered with 200, each ref_id once. */
  answered: number;
  /** Requests that had no answer, or one that says nothing of the outcome. */
  unknown: number;
  /** Those of them that the service itself answered in time: 503, or 502 of its load balancer, with Retry-After. */
  unavailable: number;
  /** How often one of them was sent again, and how often it turned out that it had been carried out. */
  retried: number;
  booked: number;
}

/** A request that was answered with its record. */
export interface AnsweredRequest {
  readonly kind: Kind;
  readonly customerId: string;
  readonly refId: string;
}

export interface ShownEvent {
  readonly id: string;
  readonly number: number;
  readonly type: string;
  readonly version?: number;
  readonly object: Shown;
}

type Execution = Readonly<Record<"order_id" | "amount" | "commission" | "rebate", string>>;
type Balance = Readonly<Record<"asset" | "available" | "trading", string>>;

const SENT_AGAIN_AT_ONCE = 4;
/** A start, a recovery of PostgreSQL: on a machine that others keep busy. */
const INSISTS_S = 150;

const LISTS: Readonly<Record<Kind, string>> = {
  transfer: "/v2/transfer/transfers",
  conversion: "/v2/conversion/stablecoins",
  order: "/v2/orders",
};

export class Client {
  readonly answers: Readonly<Record<Kind, Answers<Asked>>> = {
    transfer: new Answers(LIFECYCLES.transfer),
    conversion: new Answers(LIFECYCLES.conversion),
    order: new Answers(LIFECYCLES.order),
  };
  readonly tally: Tally = { answered: 0, unknown: 0, unavailable: 0, retried: 0, booked: 0 };
  readonly #seed: ClientSeed;
  readonly #random: Random;
  readonly #surroundings: Surroundings;
  readonly #addresses: { readonly baseUrl: string; readonly authUrl: string };
  #sent = 0;
  #token: Promise<string> | undefined;

  constructor(
    seed: ClientSeed,
    everybody: readonly ClientSeed[],
    addresses: { readonly baseUrl: string; readonly authUrl: string },
    random: Random,
  ) {
    this.#seed = seed;
    this.#surroundings = { own: seed.profileIds, all: everybody.flatMap(({ profileIds }) => profileIds) };
    this.#addresses = addresses;
    this.#random = random;
  }

  get id(): string {
    return this.#seed.id;
  }

  get profileIds(): readonly string[] {
    return this.#seed.profileIds;
  }

  get name(): string {
    return this.#seed.name;
  }

  nextRefId(): string {
    this.#sent += 1;
    return `${this.#seed.name}-${this.#sent}`;
  }

  // In the storm -----------------------------------------------------------------------------------------------------

  /** One request after the other, until stopped. */
  async trade(flow: Flow): Promise<void> {
    while (!flow.isOver) {
      try {
        await this.#act(flow);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        // Nobody is there, or somebody without a database.
        await pause(100 + this.#random(600));
      }
    }
  }

  async #act(flow: Flow): Promise<void> {
    const dice = this.#random(100);
    const kind = KINDS[this.#random(KINDS.length)] as Kind;
    const { recent, shown } = this.answers[kind];
    const chosen = shown.get(recent[this.#random(MOST_RECENT)] ?? "");
    const owed = this.#listUnanswered(({ unknown }, { refId }) => unknown.has(refId));
    if (owed.length > 0 && this.#random(4) === 0) await this.#repeat(owed[this.#random(owed.length)] as Asked, flow);
    else if (chosen === undefined || dice < 80) await this.#move(flow);
    else if (dice < 90 && kind !== "transfer") await this.#cancel(kind, chosen);
    else await this.#look(kind, chosen);
  }

  async #move(flow: Flow): Promise<void> {
    const asked = requestAtRandom(this.#random, this.nextRefId(), this.#surroundings);
    const answers = this.answers[asked.kind];
    const sentAt = performance.now();
    answers.sends(asked);
    const { status, body } = await this.#ask("POST", asked.path, asked.body).catch((error: unknown) => {
      if (error instanceof NoAnswer) {
        this.tally.unknown += 1;
        if (error.isFromService) this.tally.unavailable += 1;
        answers.unknown.add(asked.refId);
      }
      throw error;
    });
    if (isRejection(status, body)) return answers.isRejected(asked.refId);
    // Somebody else of us has asked again already.
    if (status === 409) return this.#isThere(asked, body);
    this.#isDone(asked, status, body);
    flow.moved(sentAt);
  }

  /** As a client without a response does. If rejected, the first request may still take effect: checked later. */
  async #repeat(asked: Asked, flow: Flow): Promise<void> {
    const sentAt = performance.now();
    this.tally.retried += 1;
    const { status, body } = await this.#ask("POST", asked.path, asked.body);
    if (isRejection(status, body)) return;
    if (status === 409) return this.#isThere(asked, body);
    this.#isDone(asked, status, body);
    flow.moved(sentAt);
  }

  #isDone(asked: Asked, status: number, body: Reply["body"]): void {
    if (status !== 200) throw new Error(`${JSON.stringify(asked)} was answered with ${status} ${JSON.stringify(body)}`);
    assert(body.ref_id === asked.refId, `the answer is about ${asked.refId}: ${JSON.stringify(body)}`);
    this.tally.answered += 1;
    this.answers[asked.kind].isShown(body);
  }

  #isThere(asked: Asked, { meta }: Reply["body"]): void {
    const answers = this.answers[asked.kind];
    assert(meta?.existing?.ref_id === asked.refId, `409 shows what is there: ${asked.refId} ${JSON.stringify(meta)}`);
    if (answers.unanswered.has(asked.refId)) this.tally.booked += 1;
    answers.isShown(meta.existing);
  }

  async #cancel(kind: Kind, record: Shown): Promise<void> {
    const { status, body } = await this.#ask("DELETE", pathOf(kind, record));
    if (status === 200) this.answers[kind].cancelled.add(record.id);
    else if (status !== 403) throw new Error(`a cancel was answered with ${status} ${JSON.stringify(body)}`);
  }

  async #look(kind: Kind, record: Shown): Promise<void> {
    this.answers[kind].isShown(await this.read(kind, record));
  }

  /** A record that was answered. @throws NoAnswer */
  async read(kind: Kind, record: Shown): Promise<Shown> {
    const path = pathOf(kind, record);
    const { status, body } = await this.#ask("GET", path);
    if (status !== 200) throw new Error(`${path} was answered with ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** What was answered with a record, by its ref_id. */
  listAnswered(): AnsweredRequest[] {
    return KINDS.flatMap((kind) =>
      [...this.answers[kind].shown.values()].flatMap(({ ref_id: refId }) =>
        refId === undefined ? [] : [{ kind, customerId: this.id, refId }],
      ),
    );
  }

  #listUnanswered(which: (answers: Answers<Asked>, asked: Asked) => boolean = () => true): Asked[] {
    return Object.values(this.answers).flatMap((answers) =>
      [...answers.unanswered.values()].filter((asked) => which(answers, asked)),
    );
  }

  // Afterwards -------------------------------------------------------------------------------------------------------

  /**
   * Every answer still holds. What was not answered is there once or not at all, and sent again it tells which: 200 or
   * 409 with the record that there is.
   */
  async expectKept(): Promise<void> {
    const thereBefore = new Map<string, Shown>();
    for (const kind of KINDS) {
      const listed = await this.list(kind);
      this.answers[kind].expectKept(listed);
      for (const record of listed) thereBefore.set(`${kind} ${record.ref_id}`, record);
    }
    await Promise.all(
      shared(this.#listUnanswered(), SENT_AGAIN_AT_ONCE, async (asked) => {
        const before = thereBefore.get(`${asked.kind} ${asked.refId}`);
        this.tally.retried += 1;
        const after = await this.place(asked);
        assert(before === undefined || after?.id === before.id, `what is there is not done again: ${asked.refId}`);
        if (before !== undefined) this.tally.booked += 1;
      }),
    );
  }

  /** Waits until nothing is under way. */
  async expectSettled(): Promise<void> {
    for (const kind of KINDS) {
      const isSettled = async (): Promise<boolean> => {
        const listed = await this.list(kind);
        this.answers[kind].expectKept(listed);
        return this.answers[kind].isSettled(listed);
      };
      await until(`every ${kind} is taken, and every cancel has ended its ${kind}`, isSettled, 60);
    }
  }

  /** Sends it until it is answered, and answers its record; undefined when it was rejected. */
  async place(asked: Asked): Promise<Shown | undefined> {
    const answers = this.answers[asked.kind];
    const { status, body } = await this.#insist("POST", asked.path, asked.body);
    if (isRejection(status, body)) {
      answers.isRejected(asked.refId);
      return undefined;
    }
    const record: Shown = status === 409 ? body.meta.existing : body;
    const what = `200 or 409, not ${status} ${JSON.stringify(body)}`;
    deepStrictEqual([[200, 409].includes(status), record?.ref_id], [true, asked.refId], what);
    answers.isShown(record);
    return record;
  }

  /** Whether an order that was placed has filled anything by now. */
  async hasTraded(order: Shown | undefined): Promise<boolean> {
    const { body } = await this.#insist("GET", pathOf("order", must(order, "the order was not rejected")));
    return amountOf(body.amount_filled) > 0n;
  }

  /** All records of a kind that have a ref_id. */
  async list(kind: Kind): Promise<Shown[]> {
    return (await this.#listAll<Shown>(`${LISTS[kind]}?limit=1000`)).filter(({ ref_id: refId }) => refId !== undefined);
  }

  listExecutions(): Promise<Execution[]> {
    return this.#listAll("/v2/executions?limit=1000");
  }

  /** The next events behind a number, if they come in time. @throws NoAnswer */
  async readEvents(after: number, waitMs: number): Promise<ShownEvent[]> {
    return eventsIn(await this.#ask("GET", `/v2/events?after_number=${after}&wait_millis=${waitMs}`));
  }

  async readEventsForSure(after: number): Promise<ShownEvent[]> {
    return eventsIn(await this.#insist("GET", `/v2/events?after_number=${after}`));
  }

  /** Of all profiles, at a time or now. */
  async listBalances(assets: readonly string[], at: string | undefined): Promise<Balance[]> {
    const query = [...assets.map((asset) => `assets=${asset}`), ...(at === undefined ? [] : [`at=${at}`])].join("&");
    const lists = this.profileIds.map((id) => this.#read<Balance>(`/v2/profiles/${id}/balances?${query}`));
    return (await Promise.all(lists)).flatMap(({ items }) => items);
  }

  async #listAll<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let cursor = ""; ; ) {
      const page = await this.#read<Item>(`${path}&page_cursor=${encodeURIComponent(cursor)}`);
      items.push(...page.items);
      cursor = page.next_page_cursor;
      if (cursor === "") return items;
    }
  }

  async #read<Item>(path: string): Promise<{ readonly items: Item[]; readonly next_page_cursor: string }> {
    const { status, body } = await this.#insist("GET", path);
    if (status !== 200) throw new Error(`${path} was answered with ${status} ${JSON.stringify(body)}`);
    return body;
  }

  // The wire ---------------------------------------------------------------------------------------------------------

  /** Asks until there is an answer. */
  async #insist(method: string, path: string, json?: Asked["body"]): Promise<Reply> {
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
    await until(`${method} ${path} is answered`, isAnswered, INSISTS_S);
    return must(reply, "it is answered");
  }

  async #ask(method: string, path: string, json?: Asked["body"]): Promise<Reply> {
    this.#token ??= this.#authenticate();
    const asked = this.#token;
    const renew = (): void => {
      if (this.#token === asked) this.#token = undefined;
    };
    const token = await asked.catch((error: unknown) => {
      renew();
      throw error;
    });
    const reply = await send(`${this.#addresses.baseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    // Its time was over by the service's clock. It is not carried out, but with a new one it will be.
    if (reply.status !== 401) return reply;
    renew();
    throw new NoAnswer("the token is over");
  }

  async #authenticate(): Promise<string> {
    const { name, secret } = this.#seed;
    const form = new URLSearchParams({ grant_type: "client_credentials", client_id: name, client_secret: secret });
    const { status, body } = await send(`${this.#addresses.authUrl}/oauth2/token`, { method: "POST", body: form });
    if (status !== 200) throw new Error(`${name} is given no token: ${status} ${JSON.stringify(body)}`);
    return body.access_token;
  }
}

function eventsIn({ status, body }: Reply): ShownEvent[] {
  assert(status === 200, `events were answered with ${status} ${JSON.stringify(body)}`);
  return body.events;
}

const KINDS: readonly Kind[] = ["transfer", "conversion", "order"];

function pathOf(kind: Kind, { id, profile_id: profileId }: Shown): string {
  return kind === "order" ? `/v2/profiles/${profileId}/orders/${id}` : `${LISTS[kind]}/${id}`;
}

/** So many workers, who share the items. */
function shared<Item>(items: readonly Item[], workers: number, work: (item: Item) => Promise<void>): Promise<void>[] {
  const left = items.values();
  return Array.from({ length: workers }, async () => {
    for (const item of left) await work(item);
  });
}

/** What leaves no record, because there is not enough money for it. */
const isRejection = (status: number, body: Reply["body"]): boolean =>
  status === 403 && String(body?.type).endsWith("/problems/insufficient-funds");
