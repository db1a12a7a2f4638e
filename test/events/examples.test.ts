/**
 * docs/event-examples.ndjson: an event of each type as the service makes it, with ids and times in place of those of the run.
 * `EVENT_EXAMPLES=write` records them.
 */
import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EVENT_TYPES } from "../../src/events/events.ts";
import { amountOf } from "../../src/money/amount.ts";
import { IdSource } from "../../src/std/id.ts";
import { RECORD_TYPES, type Step } from "../../src/transfers/transfers.ts";
import { expectBooksBalance } from "../support/books.ts";
import { disableWebhook } from "../support/disabled-webhooks.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { callerAs, eventfulCustomer, eventsOf } from "./stories.ts";

const FILE = new URL("../../docs/event-examples.ndjson", import.meta.url);

let service: TestService;
let acme: TestCustomer;
beforeAll(async () => {
  service = await startTestService({ settlementDelayMs: 2_000 });
  acme = await eventfulCustomer(service);
  await receive();
  for (const type of RECORD_TYPES) if (!/_(?:DEBIT|CREDIT)$/.test(type)) await cross(type as never);
  const webhook = { id: new IdSource().next(), customerId: acme.id, name: "accounting" };
  await disableWebhook({ database: service.db.database, lane: service.service.core.lane }, webhook, "failing");
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

/** From another customer. */
async function receive(): Promise<void> {
  const other = await service.customer("Payer");
  const from = await service.profile(other, { USD: "10" });
  const body = { from_profile_id: from, to_profile_id: acme.defaultProfile, asset: "USD", amount: "3" };
  await callerAs(service, other)("POST", "/v2/transfer/platform", body);
}

/** One that completes, with all its steps, and one that fails. */
async function cross(type: `${string}_DEPOSIT` | `${string}_WITHDRAWAL`): Promise<void> {
  const { transfers } = service.service;
  const direction = type.endsWith("_DEPOSIT") ? "CREDIT" : "DEBIT";
  const asset = type.startsWith("CRYPTO") ? "BTC" : "USD";
  const customerId = acme.id;
  const profileId = await service.profile(acme, { [asset]: "10" });
  const request = { customerId, profileId, asset, amount: amountOf("2"), direction, details: {}, hasSteps: true };
  const take = async (steps: readonly Step[]): Promise<void> => {
    const outcome = await transfers.recordExternal({ ...request, type } as never, TESTER);
    if (outcome.kind !== "done") throw new Error(`${type}: ${JSON.stringify(outcome)}`);
    for (const step of steps) unwrap((await transfers.step(customerId, outcome.value.id, step, TESTER)) as never);
  };
  const begun: Step[] = direction === "CREDIT" ? [] : [{ to: "approved" }, { to: "sent" }];
  await take([...begun, { to: "completed" }]);
  await take([...begun, { to: "failed", reason: "returned by the bank" }]);
}

/** In place of what differs from run to run. */
class Names {
  readonly #ids = new Map<string, string>();
  readonly #numbers = new Map<string, string>();

  /** As JSON. */
  of(event: object): string {
    return JSON.stringify(event)
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, (id, kind) =>
        this.#id(id, kind),
      )
      .replace(/(?<="(?:execution_id|match_number|match_id)":")\d+(?=")/g, (number) => this.#number(number))
      .replace(/(?<="number":)\d+/, (number) => this.#number(`event ${number}`))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "2026-11-21T09:30:00.000Z");
  }

  #id(id: string, kind: string): string {
    const place = (this.#ids.size + 1).toString(16).padStart(12, "0");
    const name = this.#ids.get(id) ?? `0190d5a4-7e1b-${kind}000-8000-${place}`;
    this.#ids.set(id, name);
    return name;
  }

  #number(number: string): string {
    const name = this.#numbers.get(number) ?? String(this.#numbers.size + 1);
    this.#numbers.set(number, name);
    return name;
  }
}

test("the page of examples has an event of each type, as the service makes them", async () => {
  const wanted = EVENT_TYPES.filter((type) => type !== "order.expired");
  const events = await eventsOf(service, acme, wanted);
  const names = new Names();
  const examples = wanted.map((type) => names.of(events.find((event) => event.type === type)));
  if (process.env.EVENT_EXAMPLES === "write") await writeFile(FILE, `${examples.join("\n")}\n`);
  const recorded = (await readFile(FILE, "utf8")).trimEnd().split("\n");
  expect(recorded, "if they were meant to change: EVENT_EXAMPLES=write records them").toEqual(examples);
});
