/**
 * More than there is room for, while nothing gets done: somebody holds the table of transfers. What waits is bounded, the
 * rest is rejected at once with a time to retry, and when the table is free again, everything that was accepted is done once.
 */
import type { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { expectBooksBalance } from "../support/books.ts";
import { openTransaction } from "../support/postgres/rows-in-the-way.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let customer: TestCustomer;
let from: ProfileId;
let to: ProfileId;
let holder: Client | undefined;
beforeAll(async () => {
  service = await startTestService();
  customer = await service.customer();
  [from, to] = await Promise.all([service.profile(customer, { USD: "1000" }), service.profile(customer)]);
});
afterAll(async () => {
  await holder?.end();
  await service.close();
});

const CROWDED = {
  type: "about:blank",
  title: "Service Unavailable",
  status: 503,
  detail: "the service is at capacity: too many requests are waiting",
  meta: {},
  request_id: expect.any(String),
};

const transfer = (refId: string): Promise<Answer> =>
  service.call("POST", "/v2/transfer/platform", {
    as: customer.token,
    body: { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD", ref_id: refId },
  });
const read = (): Promise<Answer> => service.call("GET", "/v2/transfer/transfers", { as: customer.token });

/** Sends so many at once; returns the responses so far, and when the last is answered. */
function flood<Told>(
  count: number,
  send: (number: number) => Promise<Told>,
): { received: Told[]; all: Promise<unknown> } {
  const received: Told[] = [];
  const all = Array.from({ length: count }, async (_, number) => received.push(await send(number)));
  return { received, all: Promise.all(all) };
}

test("of 700 concurrent transfers and 400 reads some wait, the others are rejected, and no transfer is lost or doubled", async () => {
  expect((await transfer("before")).status).toBe(200);
  holder = await openTransaction(service.db.owner);
  await holder.query("lock table transfer in access exclusive mode");
  const began = performance.now();
  const accepted: string[] = [];
  const turnedAway: string[] = [];
  const writes = flood(700, async (number) => {
    const answer = await transfer(`flood ${number}`);
    if (answer.status === 200) accepted.push(`flood ${number}`);
    if (answer.body.detail === CROWDED.detail) turnedAway.push(`flood ${number}`);
    return answer;
  });
  const reads = flood(400, read);
  // One customer has 256 writes and 12 reads in hand, and at most 251 of each wait behind them.
  await until("what is too much is rejected", () => writes.received.length >= 193 && reads.received.length >= 137, 60);
  for (const { received } of [writes, reads]) {
    for (const { status, headers } of received) expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    // On a slow machine some have waited for the table for longer than they may.
    expect(received.map(({ body }) => body)).toContainEqual(CROWDED);
  }
  expect((await service.call("GET", "/healthz")).status).toBe(200);

  await holder.query("commit");
  const heldMs = performance.now() - began;
  await Promise.all([writes.all, reads.all]);
  for (const { status, headers } of [...writes.received, ...reads.received]) {
    expect([200, 503]).toContain(status);
    if (status === 503) expect(headers.get("retry-after")).toMatch(/^[1-9][0-9]*$/);
  }
  // A transfer has ten seconds. A machine on which the flood takes nearly as long has none left to carry out.
  if (heldMs < 7_000) expect(accepted.length).toBeGreaterThan(0);
  await until("transfers and reads are answered again", async () => {
    const answers = await Promise.all([transfer(`after ${Math.random()}`), read()]);
    return answers.every(({ status }) => status === 200);
  });
  const rows = await service.db.owner.rows<{ ref_id: string; count: number }>(
    "select ref_id, count(*)::int as count from transfer where ref_id like 'flood %' and from_profile_id = $1 group by ref_id",
    [from],
  );
  expect(rows.filter(({ count }) => count !== 1)).toEqual([]);
  const done = new Set(rows.map(({ ref_id }) => ref_id));
  expect(accepted.filter((refId) => !done.has(refId))).toEqual([]);
  expect(turnedAway.filter((refId) => done.has(refId))).toEqual([]);
  // Where a batch commits as its time ends, 503 may be said of what was done. Then the ref_id tells.
  const unheard = [...done].filter((refId) => !accepted.includes(refId));
  for (const refId of unheard) expect((await transfer(refId)).status).toBe(409);
  await expectBooksBalance(service.db.owner);
});
