import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { ask, GRANT, startToyApi, type ToyApi } from "../../../../test/support/http/toy-api.ts";
import { until } from "../../../../test/support/until.ts";
import type { Transfers } from "../../../transfers/transfers.ts";
import type { Verify } from "../../access/guard.ts";
import { createAdmissions } from "../../access/request-admission.ts";
import { bulkTransferRoutes } from "./bulk-transfers.ts";

let toy: ToyApi;
afterEach(() => toy.close());

const profile = (number: number) => `0190d5a4-0000-7000-8004-00000000000${number}`;

/** A bulk route whose transfers are rejected when they are told to, and the indexes of those that were begun. */
async function start(verify: Verify = async () => GRANT) {
  const admissions = createAdmissions();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const transfers: Pick<Transfers, "move"> = {
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
  const bulk = (count: number) => {
    const items = Array.from({ length: count }, (_, index) => ({
      from_profile_id: profile(1),
      to_profile_id: profile(2),
      amount: "1",
      asset: "XYZ",
      ref_id: String(index),
    }));
    const json = { mode: "independent", items };
    return ask(toy, "/v2/transfer/internal/bulk", { method: "POST", json });
  };
  const countsOf = ({ body }: { readonly body: unknown }) => (body as { counts: object }).counts;
  return { admissions, begun, ends, bulk, countsOf };
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
  await until("its share is begun", () => begun.length >= 16);
  expect(begun).toEqual(upTo(16));
  // With the other caller's.
  expect(admissions.writes.size).toBe(33);
  const own = admissions.writes.enter(GRANT.customerId);
  for (const end of ends.splice(0, 16)) end();
  await until("those that wait are next", () => begun.length >= 32);
  expect(begun).toEqual(upTo(32));
  for (const end of ends.splice(0, 1)) end();
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
