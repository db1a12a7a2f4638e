/** The database goes away in the middle of things, and comes back. */
import type { ClientConfig } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type Relay, startRelay } from "../support/postgres/relay.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let relay: Relay;
let service: TestService;
let customer: TestCustomer;
let from: ProfileId;
let to: ProfileId;
/** Level and text of what is logged, and the other fields. */
const logged: (readonly [number, string, Readonly<Record<string, unknown>>])[] = [];
beforeAll(async () => {
  const note = (line: string): void => {
    const { level, msg, ...fields } = JSON.parse(line) as { level: number; msg: string };
    logged.push([level, msg, fields]);
  };
  const through = async (database: ClientConfig): Promise<ClientConfig> => {
    relay = await startRelay(database);
    return relay.connection;
  };
  service = await startTestService({}, through, undefined, undefined, note);
  customer = await service.customer();
  [from, to] = await Promise.all([service.profile(customer, { USD: "1000" }), service.profile(customer)]);
});
afterAll(async () => {
  await service.close();
  await relay.close();
});

const WARN = 40;
const INFO = 30;
/** What the log says once while the database is away, and when it is back. */
const AWAY = ["database unreachable", "settlement failed; will be retried", "events could not be published; retrying"];
const BACK = ["lane recovered", "settlement works again", "events are published again"];
const areLogged = (texts: readonly string[], level: number): boolean =>
  texts.every((text) => logged.some(([at, msg]) => msg === text && at === level));

const send = (refId: string): Promise<Answer> =>
  service.call("POST", "/v2/transfer/platform", {
    as: customer.token,
    body: { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD", ref_id: refId },
  });

test("without its database the service responds 503 with Retry-After, recovers by itself, and loses and duplicates nothing", async () => {
  const answers = new Map<string, Answer>();
  let sent = 0;
  let stop = false;
  const callers = Array.from({ length: 8 }, async () => {
    while (!stop) {
      const refId = `away ${++sent}`;
      answers.set(refId, await send(refId));
    }
  });
  await until("transfers are under way", () => answers.size > 50);
  relay.reject(true);
  relay.cut();
  await until("callers get a response", () => [...answers.values()].some(({ status }) => status === 503));
  const [write, read, ready, alive] = await Promise.all([
    send("while away"),
    service.call("GET", `/v2/profiles/${from}`, { as: customer.token }),
    service.call("GET", "/readyz"),
    service.call("GET", "/healthz"),
  ]);
  expect([write.status, read.status, ready.status, alive.status]).toEqual([503, 503, 503, 200]);
  for (const { headers } of [write, read]) expect(headers.get("retry-after")).toMatch(/^[1-9][0-9]*$/);
  expect(read.body).toEqual({
    type: "about:blank",
    title: "Service Unavailable",
    status: 503,
    detail: "the database cannot be reached",
    meta: {},
    request_id: read.headers.get("x-request-id"),
  });

  await until("the log says who has to wait", () => areLogged(AWAY, WARN), 30);
  expect(logged.filter(([, msg]) => BACK.includes(msg))).toEqual([]);
  relay.reject(false);
  await until("transfers are answered again", async () => (await send(`back ${++sent}`)).status === 200);
  stop = true;
  await Promise.all(callers);
  await until("the log says that all go on", () => areLogged(BACK, INFO), 30);

  // A caller without a response repeats with the same ref_id and gets the outcome: nothing acknowledged is lost.
  for (const [refId, { status, body }] of answers) {
    if (status === 200) expect((await send(refId)).body.meta.existing.id).toBe(body.id);
    else expect(status).toBe(503);
  }
  const [effects] = await service.db.owner.rows<{ refs: number; doubled: number }>(
    `select count(*)::int as refs, count(*)::int - count(distinct ref_id)::int as doubled
       from transfer where from_profile_id is not null and ref_id is not null`,
  );
  expect(effects?.doubled).toBe(0);
  await expectBooksBalance(service.db.owner);
});

test("a batch that other work was in the way of is logged with the reason, without a stack, and decided again", async () => {
  await service.db.owner.rows(
    `create function in_the_way() returns trigger language plpgsql as $$
     begin raise exception 'in the way' using errcode = '40001'; end $$`,
  );
  await service.db.owner.rows("create trigger in_the_way before insert on posting execute function in_the_way()");
  const text = "batch conflicted; retrying";
  const sent = send("in the way");
  await until("it is logged", () => areLogged([text], WARN), 30);
  await service.db.owner.rows("drop trigger in_the_way on posting");
  expect((await sent).status).toBe(200);
  const [, , fields] = logged.find(([level, msg]) => msg === text && level === WARN) ?? [];
  expect(fields).toMatchObject({ kind: "batch_failed", slot: 1, n: expect.any(Number), reason: "in the way" });
  expect(fields).not.toHaveProperty("error");
  await expectBooksBalance(service.db.owner);
});
