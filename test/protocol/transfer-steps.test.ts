/** Deposits and withdrawals that take steps, as their customer sees them: bodies, lists by status, and pages by last change. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { amountOf } from "../../src/money/amount.ts";
import type { Uuid } from "../../src/std/id.ts";
import type { ExternalTransferRequest, Step } from "../../src/transfers/transfers.ts";
import { expectBooksBalance } from "../support/books.ts";
import { TESTER } from "../support/movements.ts";
import { unwrap } from "../support/results.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";
import { untilNextMillisecond } from "../support/until.ts";

const APPROVED: Step = { to: "approved" };
const SENT: Step = { to: "sent" };
const COMPLETED: Step = { to: "completed" };
const FAILED: Step = { to: "failed", reason: "no such account" };
const CANCELLED: Step = { to: "cancelled", reason: "asked for by phone" };

let service: TestService;
let acme: TestCustomer;
let profile: ProfileId;
let requested = 0;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(async () => {
  acme = await service.customer();
  profile = await service.profile(acme, { USD: "1000" });
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  await service.close();
});

async function request(more: Partial<ExternalTransferRequest> = {}): Promise<Uuid> {
  requested += 1;
  const wire = { direction: "DEBIT", type: "WIRE_WITHDRAWAL", asset: "USD", amount: amountOf("10") } as const;
  const owner = { customerId: acme.id, profileId: profile, refId: `request ${requested}`, details: { memo: "rent" } };
  const outcome = await service.service.transfers.recordExternal(
    { ...owner, ...wire, hasSteps: true, ...more },
    TESTER,
  );
  if (outcome.kind !== "done") throw new Error(`it is ${outcome.kind}`);
  return outcome.value.id;
}

/** Each call in a millisecond of its own: records that have changed in the same one are in the order of their ids. */
async function take(id: Uuid, ...steps: Step[]): Promise<void> {
  await untilNextMillisecond();
  for (const step of steps) unwrap(await service.service.transfers.step(acme.id, id, step, TESTER));
}

const read = async (id: Uuid): Promise<Answer["body"]> =>
  (await service.call("GET", `/v2/transfer/transfers/${id}`, { as: acme.token })).body;

interface Page {
  readonly ids: string[];
  readonly cursor: string;
}

async function page(query: string, cursor = "", whose = `profile_ids=${profile}&`): Promise<Page> {
  const path = `/v2/transfer/transfers?${whose}${query}&page_cursor=${encodeURIComponent(cursor)}`;
  const { status, body } = await service.call("GET", path, { as: acme.token });
  expect(status).toBe(200);
  return { ids: body.items.map(({ id }: { id: string }) => id), cursor: body.next_page_cursor };
}

/** All pages from a cursor on. */
async function rest(query: string, cursor = "", whose?: string): Promise<string[]> {
  const listed: string[] = [];
  for (let at: string | undefined = cursor; at !== undefined; ) {
    const { ids, cursor: next } = await page(query, at, whose);
    listed.push(...ids);
    expect(listed.length, "no list here is so long").toBeLessThan(50);
    at = next === "" ? undefined : next;
  }
  return listed;
}

/** By the last change, then by id, as it has to be. */
async function byLastChange(ids: readonly Uuid[]): Promise<string[]> {
  const bodies = await Promise.all(ids.map(read));
  const keys = bodies.map(({ id, updated_at: at }) => `${at} ${id}`);
  return keys.sort().map((key) => key.split(" ")[1] as string);
}

test("a withdrawal is PENDING until it is complete, with the step in words; nothing else of it changes", async () => {
  const id = await request();
  const first = await read(id);
  expect(first).toEqual({
    id,
    customer_id: acme.id,
    profile_id: profile,
    amount: "10",
    total: "10",
    fee: "0",
    asset: "USD",
    direction: "DEBIT",
    type: "WIRE_WITHDRAWAL",
    status: "PENDING",
    created_at: first.created_at,
    updated_at: first.created_at,
    ref_id: `request ${requested}`,
    balance_asset: "USD",
    status_details: { progress: { step: "REQUESTED", message: "Waiting for approval" } },
    auto_conversion: {},
    memo: "rent",
  });
  const { status_details: _, ...complete } = first;
  for (const [step, fields] of [
    [APPROVED, { ...first, status_details: { progress: { step: "APPROVED", message: "Approved, not sent yet" } } }],
    [SENT, { ...first, status_details: { progress: { step: "SENT", message: "Sent, not confirmed yet" } } }],
    [COMPLETED, { ...complete, status: "COMPLETED" }],
  ] as const) {
    await take(id, step);
    const body = await read(id);
    expect(body).toEqual({ ...fields, updated_at: body.updated_at });
    expect(body.updated_at >= first.updated_at).toBe(true);
  }
});

test("lists by status have what has it now, in either order and on pages of any size", async () => {
  const [open, approved, sent] = [await request(), await request(), await request()];
  const announced = await request({ direction: "CREDIT", type: "WIRE_DEPOSIT" });
  const [failed, cancelled, completed] = [await request(), await request(), await request()];
  const lost = await request({ direction: "CREDIT", type: "WIRE_DEPOSIT" });
  await take(approved, APPROVED);
  await take(sent, APPROVED, SENT);
  await take(failed, APPROVED, SENT, FAILED);
  await take(cancelled, CANCELLED);
  await take(completed, APPROVED, SENT, COMPLETED);
  await take(lost, FAILED);
  const [opening] = (await page("type=WIRE_DEPOSIT&statuses=COMPLETED")).ids;
  const [pending, ended] = [
    [open, approved, sent, announced],
    [failed, cancelled, lost],
  ];
  for (const [statuses, expected] of [
    [["PENDING"], pending],
    [["FAILED"], ended],
    [["COMPLETED"], [opening, completed]],
    [["PENDING", "FAILED"], [...pending, ...ended].toSorted()],
    [
      ["PENDING", "COMPLETED"],
      [opening, ...pending, completed],
    ],
    [
      ["PENDING", "COMPLETED", "FAILED"],
      [opening, ...pending, failed, cancelled, completed, lost],
    ],
  ] as const) {
    const query = statuses.map((status) => `statuses=${status}`).join("&");
    for (const limit of [1, 2, 100]) {
      expect([query, await rest(`${query}&order=ASC&limit=${limit}`)]).toEqual([query, expected]);
      expect([query, await rest(`${query}&limit=${limit}`)]).toEqual([query, expected.toReversed()]);
    }
  }
  expect(await rest("statuses=PENDING&type=WIRE_DEPOSIT")).toEqual([announced]);
});

test("a list without a profile has all of its customer's, and nothing of another's, which takes no step here", async () => {
  const neighbour = await service.customer();
  const of = { customerId: neighbour.id, profileId: await service.profile(neighbour, { USD: "10" }) };
  const withdrawals = [await request(), await request(), await request()];
  const theirs = await request(of);
  const announced = await request({ direction: "CREDIT", type: "WIRE_DEPOSIT" });
  withdrawals.push(await request(), await request(), await request());
  const listed = async (query: string, as = acme): Promise<string[]> => {
    const { body } = await service.call("GET", `/v2/transfer/transfers?order=ASC&${query}`, { as: as.token });
    return body.items.map(({ id }: { id: string }) => id);
  };
  const pending = [...withdrawals, announced].toSorted();
  const [opening] = await listed("limit=1");
  expect(await listed("")).toEqual([opening, ...pending]);
  for (const order of ["order_by=CREATED_AT", "order_by=UPDATED_AT"]) {
    expect([order, await listed(`statuses=PENDING&${order}`)]).toEqual([order, pending]);
    expect([order, await listed(`statuses=PENDING&${order}`, neighbour)]).toEqual([order, [theirs]]);
    // Behind more of another type than a page has.
    expect([order, await listed(`statuses=PENDING&type=WIRE_DEPOSIT&limit=1&${order}`)]).toEqual([order, [announced]]);
  }
  expect(await rest("type=WIRE_DEPOSIT&limit=1", "", "")).toEqual([announced, opening]);
  expect(await service.service.transfers.step(acme.id, theirs, CANCELLED, TESTER)).toEqual({
    kind: "rejected",
    rejection: { code: "no_steps", id: theirs },
  });
  expect(await listed("statuses=PENDING", neighbour)).toEqual([theirs]);
});

test("by UPDATED_AT a record stands at its last change, and filters of that time go by it", async () => {
  const ids = [await request(), await request(), await request(), await request()] as const;
  // Of what is complete at once the only change is between the requests and the steps.
  const deposit = { as: acme.token, body: { asset: "USD", amount: "1" } };
  expect((await service.call("POST", `/v2/sandbox/profiles/${profile}/deposit`, deposit)).status).toBe(200);
  await take(ids[2], APPROVED);
  await take(ids[0], APPROVED, SENT);
  const complete = (await page("type=WIRE_DEPOSIT")).ids as Uuid[];
  expect(complete).toHaveLength(2);
  const expected = await byLastChange([...complete, ...ids]);
  expect(expected.at(-1)).toBe(ids[0]);
  for (const limit of [1, 2, 100]) {
    expect(await rest(`order_by=UPDATED_AT&limit=${limit}`)).toEqual(expected);
    expect(await rest(`order_by=UPDATED_AT&order=DESC&limit=${limit}`)).toEqual(expected.toReversed());
  }
  const { updated_at: at } = await read(ids[2]);
  const place = expected.indexOf(ids[2]);
  for (const [bound, wanted] of [
    ["lt", expected.slice(0, place)],
    ["lte", expected.slice(0, place + 1)],
    ["eq", [ids[2]]],
    ["gte", expected.slice(place)],
    ["gt", expected.slice(place + 1)],
  ] as const) {
    const query = `updated_at.${bound}=${at}&limit=1`;
    const pending = wanted.filter((id) => !(complete as string[]).includes(id));
    expect([query, await rest(`order_by=UPDATED_AT&${query}`)]).toEqual([query, wanted]);
    expect([query, await rest(`order_by=UPDATED_AT&statuses=PENDING&${query}`)]).toEqual([query, pending]);
    expect([query, await rest(`order=ASC&${query}`)]).toEqual([query, wanted.toSorted()]);
  }
});

test("steps between two pages by UPDATED_AT leave nothing out: what has changed comes again, at its new place", async () => {
  const ids = [await request(), await request(), await request(), await request(), await request()] as const;
  const query = "order_by=UPDATED_AT&statuses=PENDING&limit=2";
  const first = await page(query);
  expect(first.ids).toEqual([ids[0], ids[1]]);
  await take(ids[1], APPROVED);
  await take(ids[3], APPROVED);
  expect(await rest(query, first.cursor)).toEqual([ids[2], ids[4], ids[1], ids[3]]);

  const latest = await page(`${query}&order=DESC`);
  expect(latest.ids).toEqual([ids[3], ids[1]]);
  await take(ids[3], SENT);
  expect(await rest(`${query}&order=DESC`, latest.cursor)).toEqual([ids[4], ids[2], ids[0]]);
});

test("steps between two pages by status take out what has another one now, and leave all others in their place", async () => {
  const ids = [await request(), await request(), await request(), await request(), await request()] as const;
  const first = await page("statuses=PENDING&limit=2&order=ASC");
  expect(first.ids).toEqual([ids[0], ids[1]]);
  // The cursor is at a record that is not PENDING any more, and so is the next one.
  await take(ids[1], CANCELLED);
  await take(ids[2], CANCELLED);
  await take(ids[3], APPROVED);
  expect(await rest("statuses=PENDING&limit=2&order=ASC", first.cursor)).toEqual([ids[3], ids[4]]);

  const failed = await page("statuses=FAILED&limit=1");
  expect(failed.ids).toEqual([ids[2]]);
  await take(ids[0], CANCELLED);
  await take(ids[4], CANCELLED);
  expect(await rest("statuses=FAILED&limit=1", failed.cursor)).toEqual([ids[1], ids[0]]);
});
