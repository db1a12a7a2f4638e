import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { expectProblem, expectSuccess, failingField } from "../support/problems.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

const NONE = { completed: 0, rejected: 0, exists: 0, not_tried: 0, would_complete: 0, unknown: 0 };

const LONGEST_REF_ID = "ind-3".padEnd(100, "3");

let service: TestService;
let acme: TestCustomer;
let other: TestCustomer;
beforeAll(async () => {
  service = await startTestService();
  acme = await service.customer("Acme");
  other = await service.customer("Other");
});
afterAll(async () => {
  await expectBooksBalance(service.db.owner);
  const { sound } = await verifyAll(service.db.database);
  expect(sound).toBe(true);
  await service.close();
});

/** Stands for a value that is nested deeper than `JSON.stringify` can go. */
const DEEP = "nested deeply";

function bulk(body: object, kind: "platform" | "internal" = "internal"): Promise<Answer> {
  const text = JSON.stringify(body).replaceAll(`"${DEEP}"`, `${"[".repeat(9_000)}${"]".repeat(9_000)}`);
  const headers = { "content-type": "application/json" };
  return service.call("POST", `/v2/transfer/${kind}/bulk`, { as: acme.token, body: text, headers });
}

const move = (body: object): Promise<Answer> => service.call("POST", "/v2/transfer/internal", { as: acme.token, body });
const transfer = async (id: string) =>
  (await service.call("GET", `/v2/transfer/transfers/${id}`, { as: acme.token })).body;

/** Two profiles of Acme, the first with this much USD, and an item from the first to the second. */
async function two(available: string) {
  const [from, to] = [await service.profile(acme, { USD: available }), await service.profile(acme)];
  const item = (refId: string, amount: string) => ({
    from_profile_id: from,
    to_profile_id: to,
    amount,
    asset: "USD",
    ref_id: refId,
  });
  const available_ = async (profile: string) => {
    const { body } = await service.call("GET", `/v2/profiles/${profile}/balances/USD`, { as: acme.token });
    return body.available;
  };
  const balances = async () => [await available_(from), await available_(to)];
  return { from, to, item, balances };
}

/** The problem that the single operation answers, with this response's request id. */
async function problemOfSingle(item: object, answer: Answer) {
  const { body } = await move(item);
  expect(body.title, "a problem").toBeTypeOf("string");
  return { ...body, request_id: answer.headers.get("x-request-id") };
}

const statuses = ({ body }: Answer): string[] => body.items.map((item: { status: string }) => item.status);

test("independent items take effect each on its own, with the answers of single transfers", async () => {
  const { from, item, balances } = await two("10");
  const poor = await two("1");
  const first = await move(item("ind-0", "1"));
  expectSuccess(first);
  // Another customer's ref_id is another's.
  const theirs = { from_profile_id: await service.profile(other, { USD: "1" }), to_profile_id: other.defaultProfile };
  const body = { ...item("ind-0", "1"), ...theirs };
  expectSuccess(await service.call("POST", "/v2/transfer/internal", { as: other.token, body }));
  const items = [
    item("ind-0", "1"),
    item("ind-1", "4"),
    poor.item("ind-2", "100"),
    item(LONGEST_REF_ID, "1e3"),
    item("ind-4", "5"),
    { ...item("ind-5", "1"), to_profile_id: from },
    { ...item("ind-6", "1"), ref_id: null },
  ];
  const answer = await bulk({ ref_id: "payroll", mode: "independent", items });
  expectSuccess(answer);
  const [, one, , , four] = answer.body.items;
  expect(answer.body).toEqual({
    id: answer.headers.get("x-request-id"),
    ref_id: "payroll",
    mode: "independent",
    dry_run: false,
    counts: { ...NONE, completed: 2, rejected: 4, exists: 1 },
    ledger_history: expect.stringMatching(/^[0-9a-f]{16}$/),
    items: [
      { index: 0, ref_id: "ind-0", status: "EXISTS", transfer: first.body },
      { index: 1, ref_id: "ind-1", status: "COMPLETED", transfer: await transfer(one.transfer.id) },
      { index: 2, ref_id: "ind-2", status: "REJECTED", problem: await problemOfSingle(items[2] as object, answer) },
      {
        index: 3,
        ref_id: LONGEST_REF_ID,
        status: "REJECTED",
        problem: await problemOfSingle(items[3] as object, answer),
      },
      { index: 4, ref_id: "ind-4", status: "COMPLETED", transfer: await transfer(four.transfer.id) },
      { index: 5, ref_id: "ind-5", status: "REJECTED", problem: await problemOfSingle(items[5] as object, answer) },
      {
        index: 6,
        status: "REJECTED",
        problem: {
          type: "about:blank",
          title: "Bad Request",
          status: 400,
          detail: "ref_id null is not a string",
          meta: { errors: [{ field: "ref_id", value: null, rule: "is not a string" }] },
          request_id: answer.headers.get("x-request-id"),
        },
      },
    ],
  });
  expect(await balances()).toEqual(["0", "10"]);
  const again = await bulk({ mode: "independent", items: items.slice(0, 5) });
  expect([again.body.counts, again.body.items[1].transfer]).toEqual([
    { ...NONE, rejected: 2, exists: 3 },
    one.transfer,
  ]);
  expect(await balances()).toEqual(["0", "10"]);
});

test("an atomic bulk posts all its items, each on what those before it leave, and answers its retry with them", async () => {
  const { from, to, item, balances } = await two("3");
  const back = { ...item("all-back", "2"), from_profile_id: to, to_profile_id: from };
  const items = [item("all-1", "1"), item("all-2", "2"), back, item("all-3", "2")];
  const answer = await bulk({ mode: "atomic", items });
  expectSuccess(answer);
  expect([statuses(answer), answer.body.counts]).toEqual([
    ["COMPLETED", "COMPLETED", "COMPLETED", "COMPLETED"],
    { ...NONE, completed: 4 },
  ]);
  expect(await balances()).toEqual(["0", "3"]);
  for (const done of answer.body.items) expect(await transfer(done.transfer.id)).toEqual(done.transfer);
  const again = await bulk({ mode: "atomic", items });
  expectSuccess(again);
  expect(again.body.items).toEqual(answer.body.items.map((done: object) => ({ ...done, status: "EXISTS" })));
  const rows = await service.db.owner.rows(
    "select count(distinct (slot, batch))::int as batches from transfer where ref_id like 'all-%'",
  );
  expect(rows).toEqual([{ batches: 1 }]);
});

test("the first item of an atomic bulk that is rejected rejects them all, and leaves their ref_ids free", async () => {
  const { item, balances } = await two("3");
  const items = [item("no-1", "2"), item("no-2", "2"), item("no-3", "9")];
  const answer = await bulk({ mode: "atomic", items });
  expectSuccess(answer);
  const problem = {
    ...(await problemOfSingle(item("no-9", "4"), answer)),
    detail: expect.stringMatching(/has 1 USD available, but 2 is needed$/),
    meta: { profile_id: items[0]?.from_profile_id, asset: "USD", available: "1", needed: "2" },
  };
  expect(answer.body).toEqual({
    id: answer.headers.get("x-request-id"),
    mode: "atomic",
    dry_run: false,
    counts: { ...NONE, rejected: 1, not_tried: 2 },
    items: [
      { index: 0, ref_id: "no-1", status: "NOT_TRIED" },
      { index: 1, ref_id: "no-2", status: "REJECTED", problem },
      { index: 2, ref_id: "no-3", status: "NOT_TRIED" },
    ],
  });
  expect(await balances()).toEqual(["3", "0"]);
  expect(statuses(await bulk({ mode: "atomic", items: [item("no-1", "2"), item("no-2", "1")] }))).toEqual([
    "COMPLETED",
    "COMPLETED",
  ]);
  const wrong = await bulk({ mode: "atomic", items: [item("no-4", "1"), { amount: "x" }] });
  expect([statuses(wrong), wrong.body.items[1].problem.status]).toEqual([["NOT_TRIED", "REJECTED"], 400]);
});

test("an atomic bulk of which an item exists is rejected by it, and leaves the others untried", async () => {
  const { item, balances } = await two("9");
  const first = await move(item("some-2", "1"));
  expectSuccess(first);
  const items = [item("some-1", "1"), item("some-2", "1"), item("some-3", "1")];
  for (const extra of [{}, { dry_run: true }]) {
    const answer = await bulk({ mode: "atomic", items, ...extra });
    expectSuccess(answer);
    expect([statuses(answer), answer.body.items[1].problem]).toEqual([
      ["NOT_TRIED", "REJECTED", "NOT_TRIED"],
      await problemOfSingle(item("some-2", "1"), answer),
    ]);
  }
  expect(await balances()).toEqual(["8", "1"]);
});

test("an item whose ref_id belongs to something else is rejected, in every mode", async () => {
  const { item, balances } = await two("9");
  const [first, other] = [await move(item("taken-1", "1")), item("taken-1", "2")];
  expectSuccess(first);
  const expected = await problemOfSingle(other, first);
  for (const extra of [
    { mode: "independent" },
    { mode: "atomic" },
    { mode: "independent", dry_run: true },
    { mode: "atomic", dry_run: true },
  ]) {
    const answer = await bulk({ items: [other], ...extra });
    expectSuccess(answer);
    const problem = { ...expected, request_id: answer.headers.get("x-request-id") };
    expect(answer.body.items).toEqual([{ index: 0, ref_id: "taken-1", status: "REJECTED", problem }]);
    expect(problem.meta).toEqual({ existing: first.body });
  }
  expect(await balances()).toEqual(["8", "1"]);
});

test("a dry run answers what would happen, and saves nothing", async () => {
  const { item, balances } = await two("5");
  const first = await move(item("dry-0", "1"));
  expectSuccess(first);
  const items = [item("dry-0", "1"), item("dry-1", "3"), item("dry-2", "3"), item("dry-3", "1"), { ref_id: "dry-4" }];
  const tried = await bulk({ mode: "independent", dry_run: true, items });
  expectSuccess(tried);
  expect([statuses(tried), tried.body.counts, tried.body.dry_run]).toEqual([
    ["EXISTS", "WOULD_COMPLETE", "REJECTED", "WOULD_COMPLETE", "REJECTED"],
    { ...NONE, exists: 1, would_complete: 2, rejected: 2 },
    true,
  ]);
  expect(tried.body.items[0]).toEqual({ index: 0, ref_id: "dry-0", status: "EXISTS", transfer: first.body });
  expect(tried.body.items[1]).toEqual({ index: 1, ref_id: "dry-1", status: "WOULD_COMPLETE" });
  const rejected = await bulk({ mode: "atomic", dry_run: true, items: items.slice(1, 4) });
  expect(statuses(rejected)).toEqual(["NOT_TRIED", "REJECTED", "NOT_TRIED"]);
  const fine = await bulk({ mode: "atomic", dry_run: true, items: [items[1], items[3]] });
  expect(statuses(fine)).toEqual(["WOULD_COMPLETE", "WOULD_COMPLETE"]);
  expect(await balances()).toEqual(["4", "1"]);
  const real = await bulk({ mode: "atomic", items: [items[1], items[3]] });
  expect(statuses(real)).toEqual(["COMPLETED", "COMPLETED"]);
  expect(await balances()).toEqual(["0", "5"]);
});

test("an item says default for a profile, and leaves a text empty, like a single transfer", async () => {
  const { from, item } = await two("5");
  const sent = { from_identity_id: "", to_account_id: "account-12", metadata: null };
  const items = [
    { ...item("default-1", "2"), ...sent, to_profile_id: "default" },
    { ...item("default-2", "1"), from_profile_id: "default", to_profile_id: from },
    { ...item("default-3", "1"), from_profile_id: "default", to_profile_id: "default" },
  ];
  const answer = await bulk({ mode: "independent", items });
  expectSuccess(answer);
  expect(statuses(answer)).toEqual(["COMPLETED", "COMPLETED", "REJECTED"]);
  const [one, two_, three] = answer.body.items;
  expect([one.transfer.profile_id, one.transfer.identity_id, one.transfer.metadata]).toEqual([
    from,
    undefined,
    undefined,
  ]);
  expect(two_.transfer.profile_id).toBe(acme.defaultProfile);
  expect(three.problem).toEqual(await problemOfSingle(items[2] as object, answer));
  const atomic = await bulk({ mode: "atomic", items: [{ ...item("default-4", "1"), to_profile_id: "default" }] });
  expect(statuses(atomic)).toEqual(["COMPLETED"]);
});

test("items that are no transfers at all are rejected one by one", async () => {
  const { item } = await two("5");
  const items = [
    null,
    1,
    "x",
    [],
    DEEP,
    { ...item("odd-1", "1"), metadata: JSON.parse(`${"[".repeat(20)}${"]".repeat(20)}`) },
    { ref_id: "a\0b" },
    Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, 1])),
    item("odd-2", "1"),
  ];
  for (const mode of ["independent", "atomic"]) {
    const answer = await bulk({ mode, items, dry_run: true });
    expectSuccess(answer);
    const details = answer.body.items.map(({ problem }: { problem?: { detail: string } }) => problem?.detail);
    const none = "the item is not a JSON object";
    const all = [
      ...[none, none, none, none, none],
      "metadata[0][0][0][0][0][0][0] is nested more than 8 levels deep",
      "ref_id contains the character NUL",
      "the item has more than 500 values",
      undefined,
    ];
    expect(details).toEqual(mode === "independent" ? all : [none, ...all.slice(1).map(() => undefined)]);
  }
});

test("a wrong envelope is rejected whole: its fields, two items with one ref_id, too many items or bytes", async () => {
  const { item, balances } = await two("5");
  const items = [item("twice", "1"), item("once", "1"), item("twice", "2")];
  expectProblem(
    await bulk({ mode: "independent", items }),
    failingField("items[2].ref_id", "twice", "is that of items[0] too"),
  );
  expectProblem(await bulk({ mode: "both", items }), failingField("mode", "both", "is not one of independent, atomic"));
  expectProblem(await bulk({ mode: "atomic", items: [] }), failingField("items", "[]", "has fewer than 1 entries"));
  const tooMany = { field: "items", rule: "has more than 1000 entries" };
  for (const last of [item("many", "1"), DEEP]) {
    const many = [...Array.from({ length: 1_000 }, (_, i) => item(`many-${i}`, "1")), last];
    const detail = "items has more than 1000 entries";
    expectProblem(await bulk({ mode: "atomic", items: many }), { status: 400, detail, meta: { errors: [tooMany] } });
  }
  const values = await bulk({ mode: "atomic", items: [Array(25_000).fill(1)] });
  expectProblem(values, {
    status: 400,
    detail: "the body has more than 25000 values",
    meta: { errors: [{ field: "the body", rule: "has more than 25000 values" }] },
  });
  const long = await bulk({ mode: "atomic", items: [{ ...item("long", "1"), note: "x".repeat(1_048_576) }] });
  expectProblem(long, { status: 413, detail: "the body has more than 1048576 bytes" });
  expect(await balances()).toEqual(["5", "0"]);
});

test("a platform bulk pays other customers, a thousand items at once", async () => {
  const from = await service.profile(acme, { USD: "1000" });
  const to = await service.profile(other);
  const items = Array.from({ length: 1_000 }, (_, i) => ({
    from_profile_id: from,
    to_profile_id: to,
    amount: "0.5",
    asset: "USD",
    ref_id: `pay-${i}`,
    metadata: { invoice: String(i) },
  }));
  for (const mode of ["atomic", "independent"] as const) {
    const part = mode === "atomic" ? items : items.map((item) => ({ ...item, ref_id: `${item.ref_id}-again` }));
    // The response is serialised in slices around its list.
    const answer = await bulk({ mode, items: part, ref_id: 'all "[]" of them' }, "platform");
    expectSuccess(answer);
    expect([answer.body.ref_id, answer.body.counts]).toEqual(['all "[]" of them', { ...NONE, completed: 1_000 }]);
    expect(answer.body.items.map(({ transfer: { metadata } }: never) => metadata)).toEqual(
      items.map(({ metadata }) => metadata),
    );
  }
  const internal = await bulk({ mode: "atomic", items: items.slice(0, 1).map((item) => ({ ...item, ref_id: "x" })) });
  expect([statuses(internal), internal.body.items[0].problem.detail]).toEqual([
    ["REJECTED"],
    `profile not found: ${to}`,
  ]);
});
