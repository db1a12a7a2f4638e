import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { type Answer, ask, GRANT, problem, startToyApi, type ToyApi } from "../../../../test/support/http/toy-api.ts";
import { until } from "../../../../test/support/until.ts";
import { DatabaseAway, OutcomeUnknown } from "../../../postgres/database.ts";
import type { Uuid } from "../../../std/id.ts";
import type { Transfers } from "../../../transfers/transfers.ts";
import { FairAdmission } from "../../../web/limits/fair-admission.ts";
import type { Verify } from "../../access/guard.ts";
import { createAdmissions } from "../../access/request-admission.ts";
import { bulkTransferRoutes } from "./bulk-transfers.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const profile = (number: number) => `0190d5a4-0000-7000-8004-00000000000${number}`;

/** A bulk route whose transfers are rejected when they are told to, and the indexes of those that were begun. */
async function start(verify: Verify = async () => GRANT, writes?: FairAdmission) {
  const admissions = { ...createAdmissions(), ...(writes && { writes }) };
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const transfers: Pick<Transfers, "move"> & Partial<Pick<Transfers, "findExisting">> = {
    move: ({ refId }) => {
      begun.push(Number(refId));
      return new Promise((resolve) =>
        ends.push(() =>
          resolve({ kind: "rejected", rejection: { code: "unknown_asset", field: "asset", asset: "XYZ" } }),
        ),
      );
    },
  };
  toy = await startToyApi((api) => bulkTransferRoutes(api, transfers as Transfers), { admissions, verify });
  const bodyOf = (count: number) => {
    const items = Array.from({ length: count }, (_, index) => ({
      from_profile_id: profile(1),
      to_profile_id: profile(2),
      amount: "1",
      asset: "XYZ",
      ref_id: String(index),
    }));
    return { mode: "independent", items };
  };
  const bulk = (count: number) => ask(toy, "/v2/transfer/internal/bulk", { method: "POST", json: bodyOf(count) });
  const countsOf = ({ body }: { readonly body: unknown }) => (body as { counts: object }).counts;
  return { admissions, begun, ends, bodyOf, bulk, countsOf, transfers };
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const COUNTS = { completed: 0, rejected: 0, exists: 0, not_tried: 0, would_complete: 0, unknown: 0 };

test("the items of a caller that is alone are begun at once, in their order, as far as its writes may go", async () => {
  const { begun, ends, bulk, countsOf } = await start();
  const answer = bulk(300);
  await until("as many are begun as a caller may have", () => begun.length >= 256);
  expect(begun).toEqual(upTo(256));
  for (const end of ends.splice(0, 10)) end();
  await until("the next ones take their places", () => begun.length >= 266);
  expect(begun).toEqual(upTo(266));
  await until("all are begun, and ended", () => {
    for (const end of ends.splice(0)) end();
    return begun.length === 300;
  });
  expect(countsOf(await answer)).toEqual({ ...COUNTS, rejected: 300 });
});

test("beside another caller's writes the items have a share, of which few wait", async () => {
  const { admissions, begun, ends, bulk, countsOf } = await start();
  expect(await admissions.writes.enter("other")).toBe(true);
  const answer = bulk(100);
  await until("its share is begun", () => begun.length >= 12);
  expect(begun).toEqual(upTo(12));
  // With the other caller's.
  expect(admissions.writes.size).toBe(33);
  const own = admissions.writes.enter(GRANT.customerId);
  for (const end of ends.splice(0, 12)) end();
  await until("those that wait are next", () => begun.length >= 24);
  expect(begun).toEqual(upTo(24));
  // Behind the eight others that waited before it.
  for (const end of ends.splice(0, 9)) end();
  expect(await own).toBe(true);
  admissions.writes.leave(GRANT.customerId);
  await until("all are begun, and ended", () => {
    for (const end of ends.splice(0)) end();
    return begun.length === 100;
  });
  expect(countsOf(await answer)).toEqual({ ...COUNTS, rejected: 100 });
  admissions.writes.leave("other");
});

test("no item is begun once the token has ended", async () => {
  let isValid = true;
  const { begun, ends, bulk, countsOf } = await start(async () => (isValid ? GRANT : undefined));
  const answer = bulk(300);
  await until("as many are begun as a caller may have", () => begun.length >= 256);
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + 2_000);
  onTestFinished(() => void vi.restoreAllMocks());
  isValid = false;
  let isOver = false;
  void answer.finally(() => (isOver = true));
  await until("those that were begun have ended", () => {
    for (const end of ends.splice(0)) end();
    return isOver;
  });
  const { body } = await answer;
  expect(countsOf({ body })).toEqual({ ...COUNTS, rejected: 256, not_tried: 44 });
  expect(begun).toEqual(upTo(256));
  expect(body).toMatchObject({ items: { 299: { problem: { status: 401 } } } });
});

test("no item is begun once the caller has gone", async () => {
  const { admissions, begun, ends, bodyOf } = await start();
  let hasGone = false;
  toy.api.server.once("request", (_, response) => response.once("close", () => (hasGone = true)));
  const caller = new AbortController();
  const sent = fetch(`${toy.url}/v2/transfer/internal/bulk`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify(bodyOf(300)),
    signal: caller.signal,
  });
  await until("as many are begun as a caller may have", () => begun.length >= 256);
  caller.abort();
  await expect(sent).rejects.toThrow("aborted");
  await until("it has gone", () => hasGone);
  await until("those that were begun have ended", async () => {
    for (const end of ends.splice(0)) end();
    await new Promise(setImmediate);
    return admissions.writes.size === 0;
  });
  expect(begun).toEqual(upTo(256));
});

test("an item that fails by a bug is UNKNOWN and logged, and the others are answered; of none that is known the bulk fails", async () => {
  const { bulk, transfers } = await start();
  transfers.move = async ({ refId }) => {
    if (refId === "0") throw new Error("the password is hunter2");
    return { kind: "rejected", rejection: { code: "unknown_asset", field: "asset", asset: "XYZ" } };
  };
  const detail = "internal error: quote the request_id when you report it";
  const { body: failed } = problem(500, "Internal Server Error", detail);
  const { body } = await bulk(2);
  expect(body).toMatchObject({ counts: { ...COUNTS, unknown: 1, rejected: 1 } });
  expect((body as { items: unknown[] }).items[0]).toEqual({
    index: 0,
    ref_id: "0",
    status: "UNKNOWN",
    problem: failed,
  });
  expect(toy.logged.at(-1)).toMatchObject({
    level: 50,
    msg: "item of a bulk failed: bug",
    err: { message: "the password is hunter2" },
    request_id: "r-1",
  });
  expect(await bulk(1)).toMatchObject({ status: 500, body: failed });
  transfers.move = async () => {
    throw new OutcomeUnknown(new Error("the connection broke behind the commit"));
  };
  const unknown = "it is not known whether this was done: check the outcome before you retry";
  expect(await bulk(2)).toMatchObject(problem(503, "Service Unavailable", unknown));
});

test("a bulk that is 503 says if one of its items may have been posted, whatever became of the first", async () => {
  const { admissions, bulk, transfers } = await start();
  const answerTo = (faults: readonly Error[]): Promise<Answer> => {
    // The first one's turn does not come in time.
    vi.spyOn(admissions.writes, "run").mockResolvedValueOnce(undefined);
    onTestFinished(() => void vi.restoreAllMocks());
    transfers.move = async ({ refId }) => {
      throw faults[Number(refId) - 1];
    };
    return bulk(1 + faults.length);
  };
  const [away, cutOff] = [new DatabaseAway("away"), new OutcomeUnknown(new Error("cut off"))];
  const unavailable = (detail: string): Answer =>
    problem(503, "Service Unavailable", detail, { headers: { "retry-after": "1" } });
  expect(await answerTo([])).toEqual(unavailable("the service is at capacity: too many requests are waiting"));
  expect(await answerTo([away])).toEqual(unavailable("the database cannot be reached"));
  const unknown = unavailable("it is not known whether this was done: check the outcome before you retry");
  expect(await answerTo([away, cutOff])).toEqual(unknown);
});

test("items whose earlier transfers cannot be read are UNKNOWN, and what became of the others is told", async () => {
  const { bulk, transfers } = await start();
  transfers.move = async ({ refId }) =>
    refId === "0"
      ? { kind: "exists", id: profile(3) as Uuid }
      : { kind: "rejected", rejection: { code: "unknown_asset", field: "asset", asset: "XYZ" } };
  transfers.findExisting = async () => {
    throw new DatabaseAway("away");
  };
  const { body: away } = problem(503, "Service Unavailable", "the database cannot be reached");
  const { status, body } = await bulk(2);
  expect([status, body]).toMatchObject([200, { counts: { ...COUNTS, unknown: 1, rejected: 1 } }]);
  const [first] = (body as { items: unknown[] }).items;
  expect(first).toEqual({ index: 0, ref_id: "0", status: "UNKNOWN", problem: away });
  expect(await bulk(1)).toMatchObject({ status: 503, body: away });
});

test("items that do not get their turn in time are NOT_TRIED", async () => {
  const bounds = { most: 10, atOnce: 1, alone: 1, share: 1, shortQueue: 10, expectedMs: 10_000, maxWaitMs: 50 };
  const writes = new FairAdmission(bounds);
  const { ends, begun, bulk } = await start(undefined, writes);
  const answer = bulk(2);
  await until("one is begun, and the other waits", () => begun.length === 1 && writes.size === 2);
  await until("it has waited too long", () => writes.size === 1);
  for (const end of ends) end();
  const { status, body } = await answer;
  expect([status, begun]).toEqual([200, [0]]);
  expect(body).toMatchObject({ counts: { ...COUNTS, rejected: 1, not_tried: 1 } });
  const detail = "the service is at capacity: too many requests are waiting";
  expect((body as { items: unknown[] }).items[1]).toEqual({
    index: 1,
    ref_id: "1",
    status: "NOT_TRIED",
    problem: problem(503, "Service Unavailable", detail).body,
  });
});

test("a bulk of which some items were not begun in time tells of those that were", async () => {
  const { ends, begun, bulk } = await start();
  const answer = bulk(300);
  await until("as many are begun as a caller may have", () => begun.length >= 256);
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + 20_000);
  onTestFinished(() => void vi.restoreAllMocks());
  let isOver = false;
  void answer.finally(() => (isOver = true));
  await until("those that were begun have ended", () => {
    for (const end of ends.splice(0)) end();
    return isOver;
  });
  const { status, body } = await answer;
  expect([status, begun]).toEqual([200, upTo(256)]);
  expect(body).toMatchObject({ counts: { ...COUNTS, rejected: 256, not_tried: 44 } });
  expect((body as { items: unknown[] }).items[299]).toEqual({
    index: 299,
    ref_id: "299",
    status: "NOT_TRIED",
    problem: problem(503, "Service Unavailable", "the bulk took too long").body,
  });
});

test("a bulk of which no item could be begun in time is 503, and none is begun", async () => {
  const { begun, bulk } = await start();
  const now = performance.now.bind(performance);
  let asked = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 21_000 * asked++);
  onTestFinished(() => clock.mockRestore());
  expect([(await bulk(3)).status, begun]).toEqual([503, []]);
});

test("an item that cannot be read is told by its ref_id, unless that is none", async () => {
  await start();
  const refIds = ["", "a", "é".repeat(200), "x".repeat(201), "\ud800", 7, null];
  const json = { mode: "independent", items: refIds.map((ref_id) => ({ ref_id })) };
  const { body } = await ask(toy, "/v2/transfer/internal/bulk", { method: "POST", json });
  const shown = (body as { items: { ref_id?: string }[] }).items.map((item) => item.ref_id);
  expect(shown).toEqual(["", "a", "é".repeat(200), undefined, undefined, undefined, undefined]);
});
