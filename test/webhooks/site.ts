/** Webhooks on a database of the test's own: events when the test makes some, receivers that answer as it says. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { type Customers, createCustomers } from "../../src/customers/customers.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import type { Webhook, WebhookSettings } from "../../src/customers/webhooks/webhook.ts";
import { Webhooks } from "../../src/customers/webhooks/webhooks.ts";
import { EVENT_TYPES } from "../../src/events/events.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import type { Database } from "../../src/postgres/database.ts";
import { endLease } from "../../src/postgres/leases.ts";
import { type Instant, systemClock } from "../../src/std/clock.ts";
import { IdSource } from "../../src/std/id.ts";
import { done } from "../../src/std/result.ts";
import { OutgoingRequests } from "../../src/web/outgoing-requests/outgoing-requests.ts";
import {
  createDeliveries,
  type Deliveries,
  type DeliveryEvent,
  WEBHOOKS_LEASE,
} from "../../src/webhooks/deliveries.ts";
import { Pace } from "../../src/webhooks/dispatching/pace.ts";
import { createSender } from "../../src/webhooks/signed-sender.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { eventsOf, openMaker } from "../support/events.ts";
import { newId, startLane, TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";

/** What a receiver got. */
export interface Received {
  readonly id: string;
  /** The numbers of its events. */
  readonly numbers: readonly number[];
  readonly objects: readonly string[];
}

type Answered =
  | number
  | { readonly status: number; readonly headers?: IncomingHttpHeaders; readonly body?: Buffer }
  | "nothing";

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** What was accepted, as "number", in the order of arrival. */
  accepted(): number[];
  /** How it answers from now on. */
  answer: (received: Received) => Answered | Promise<Answered>;
  /** Drops the requests that it does not answer. */
  hangUp(): void;
}

export interface Node {
  readonly deliveries: Deliveries;
  readonly log: DeliveryEvent[];
  /** Cut off from the database at any moment, as a process that dies. Its lease ends at once. */
  kill(): Promise<void>;
}

export interface Site {
  readonly db: TestDatabase;
  readonly customerId: CustomerId;
  readonly customers: Customers;
  readonly webhooks: Webhooks;
  /** Set forward by tests, for retries. */
  readonly clock: { aheadMs: number; fault: string | undefined; now(): Instant };
  /** How long a receiver may hang: less time than in earnest, unless a test says otherwise. */
  longestAnswerMs: number;
  receiver(): Promise<Receiver>;
  webhook(settings: Partial<WebhookSettings> & Pick<WebhookSettings, "url">): Promise<Webhook>;
  /** A process that does not deliver. */
  readonly idle: Deliveries;
  /** A process that delivers. */
  node(leaseMs?: number, pace?: Pace): Node;
  profile(): Promise<ProfileId>;
  /** Each is an event of this profile, published. */
  change(...profiles: readonly ProfileId[]): Promise<void>;
  /** The number of the last event. */
  lastNumber(): Promise<number>;
  progress(webhook: Webhook): Promise<{ readTo: number; isFailing: boolean }>;
  /** Sets the clock to when its next row is tried again. */
  toNextAttempt(webhook: Webhook): Promise<void>;
  /** Its rows as "number status attempts", in order. */
  rows(webhook: Webhook): Promise<string[]>;
  /** Also proves that the books balance. */
  close(): Promise<void>;
}

const ids = new IdSource();
const EVERYWHERE = {
  allowLoopback: true,
  allowCleartext: true,
  allowedPorts: "any",
  allowedNetworks: [],
  refusedNetworks: [],
} as const;

export async function openSite(): Promise<Site> {
  const db = await testDatabase();
  const { database } = db;
  const { lane } = await startLane(database);
  const customerId = newId() as CustomerId;
  const customers = createCustomers({ database, lane, ids, clock: systemClock });
  await customers.ensure(customerId, "Acme", TESTER);
  const profiles = createProfiles({ database, lane, ids, clock: systemClock });
  const publish = await openMaker(database);
  const clock: Site["clock"] = { aheadMs: 0, fault: undefined, now: () => (Date.now() + clock.aheadMs) as Instant };
  const rules = { judgeUrl: () => undefined, eventTypes: EVENT_TYPES };
  const webhooksOf = (own: Database) => new Webhooks({ database: own, clock, ids, encryptionKeys: [], rules });
  const webhooks = webhooksOf(database);
  const requests = new OutgoingRequests(EVERYWHERE);
  const closing: (() => Promise<void>)[] = [];
  const events = eventsOf(database);
  let changes = 0;

  const deliveriesOf = (own: Database, leaseMs: number, log: DeliveryEvent[], pace = new Pace()): Deliveries =>
    createDeliveries({
      database: own,
      clock,
      ids,
      holder: newId(),
      events: eventsOf(own),
      webhooks: webhooksOf(own),
      sender: createSender({
        requests: { post: (request) => requests.post({ ...request, timeoutMs: site.longestAnswerMs }) },
        credentials: { headersFor: async () => done({}), onRefused: () => false },
        clock,
      }),
      bodyOf: ({ number, id, object }) =>
        JSON.stringify({ id, number: Number(number), object: "id" in object.value ? String(object.value.id) : "" }),
      testBodyOf: (id) => JSON.stringify({ id, number: 0, object: "" }),
      recordDisabled: async () => undefined,
      log: (event) => void log.push(event),
      leaseMs,
      pace,
    });
  const idle = deliveriesOf(database, 15_000, []);

  const site: Site = {
    db,
    customerId,
    customers,
    webhooks,
    clock,
    idle,
    longestAnswerMs: 2_000,
    receiver: async () => {
      const receiver = await openReceiver();
      closing.push(receiver.close);
      return receiver;
    },
    webhook: async (settings) => {
      const request = {
        name: newId(),
        types: ["*"],
        body: "thin",
        deliveryOrder: "per_object",
        deliveriesPerSecond: 100,
        receiverAccess: undefined,
        receiverSecret: undefined,
        ...settings,
      } as const;
      return unwrap(await webhooks.create(customerId, request, idle.begin, TESTER)).webhook;
    },
    node: (leaseMs = 15_000, pace = new Pace()) => {
      const own = db.another();
      const log: DeliveryEvent[] = [];
      const deliveries = deliveriesOf(own, leaseMs, log, pace);
      deliveries.start();
      let isKilled = false;
      closing.push(async () => {
        if (!isKilled) await deliveries.stop();
      });
      const kill = async (): Promise<void> => {
        isKilled = true;
        own.cutOff();
        void deliveries.stop();
        await endLease(database, WEBHOOKS_LEASE);
      };
      return { deliveries, log, kill };
    },
    profile: async () => {
      const made = await profiles.create({ customerId, nickname: newId(), description: undefined }, TESTER);
      if (made.kind !== "done") throw new Error(`no profile: ${JSON.stringify(made)}`);
      await publish();
      return made.value.id;
    },
    change: async (...changed) => {
      for (const id of changed) {
        changes += 1;
        await profiles.update(customerId, id, { description: `change ${changes}` }, TESTER);
      }
      await publish();
    },
    lastNumber: async () => Number((await events.bounds(customerId)).last),
    progress: async ({ id }) => {
      const [row] = await database.rows<{ read_to: string; failing_since: Instant | null }>(
        "select read_to, failing_since from webhook_progress where webhook_id = $1",
        [id],
      );
      return { readTo: Number(row?.read_to), isFailing: row?.failing_since != null };
    },
    toNextAttempt: async ({ id }) => {
      const [row] = await database.rows<{ at: Instant | null }>(
        "select min(next_attempt_at) as at from webhook_delivery where webhook_id = $1",
        [id],
      );
      if (row?.at != null) clock.aheadMs = row.at + 1 - Date.now();
    },
    rows: async ({ id }) => {
      const rows = await database.rows<{ number: string; status: string; attempts: number }>(
        "select number, status, attempts from webhook_delivery where webhook_id = $1 order by number",
        [id],
      );
      return rows.map(({ number, status, attempts }) => `${number} ${status} ${attempts}`);
    },
    close: async () => {
      try {
        await expectBooksBalance(db.database);
      } finally {
        for (const close of closing.reverse()) await close();
        requests.close();
        await lane.stop();
        await db.close();
      }
    },
  };
  return site;
}

interface Body {
  readonly number: number;
  readonly object: string | readonly Body[];
  readonly data?: readonly Body[];
}

async function openReceiver(): Promise<Receiver & { close(): Promise<void> }> {
  const received: Received[] = [];
  const accepted: number[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    const events = body.data ?? [body];
    const one: Received = {
      id: String(request.headers["webhook-id"]),
      numbers: events.map(({ number }) => number),
      objects: events.map(({ object }) => String(object)),
    };
    received.push(one);
    const answer = await receiver.answer(one);
    if (answer === "nothing") return;
    const { status, headers = {}, body: said } = typeof answer === "number" ? { status: answer } : answer;
    if (status < 300) accepted.push(...one.numbers);
    response.writeHead(status, headers).end(said ?? (status < 300 ? "" : "no"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver & { close(): Promise<void> } = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    accepted: () => [...accepted],
    answer: () => 204,
    hangUp: () => server.closeAllConnections(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}

/** From 1 to `last`. */
export const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, i) => first + i);
