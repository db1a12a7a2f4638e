import { afterAll, beforeAll, expect, test } from "vitest";
import { amountOf } from "../../src/money/amount.ts";
import { siblingId } from "../../src/std/id.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { TESTER } from "../support/movements.ts";
import { expectProblem, expectSuccess, failingField } from "../support/problems.ts";
import { unwrap } from "../support/results.ts";
import { type Answer, startTestService, type TestCustomer, type TestService } from "../support/service.ts";

const UNKNOWN = "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

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
  await service.close();
});

const move = (kind: "platform" | "internal", body: object, as = acme.token): Promise<Answer> =>
  service.call("POST", `/v2/transfer/${kind}`, { as, body });
const read = (id: string, as = acme.token): Promise<Answer> =>
  service.call("GET", `/v2/transfer/transfers/${id}`, { as });

/** A debit record as it has to be, but for what the service chose. */
function debitRecord(type: string, answer: Answer, fields: { from: string; amount: string; asset: string }) {
  const { id, created_at: createdAt } = answer.body;
  expect(id).toMatch(UUID);
  expect(createdAt).toMatch(TIME);
  return {
    id,
    customer_id: acme.id,
    profile_id: fields.from,
    amount: fields.amount,
    total: fields.amount,
    fee: "0",
    asset: fields.asset,
    direction: "DEBIT",
    type,
    status: "COMPLETED",
    created_at: createdAt,
    updated_at: createdAt,
    balance_asset: fields.asset,
    auto_conversion: {},
    group_id: id,
  };
}

test("metadata under names that JavaScript gives a meaning comes back as it was sent, everywhere", async () => {
  const from = await service.profile(acme, { USD: "100" });
  const to = await service.profile(acme);
  const metadata = '{"__proto__":"a","constructor":"b"}';
  const text = JSON.stringify({ from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD", ref_id: "proto" });
  const body = text.replace("}", `,"metadata":${metadata},"recipient_metadata":{"__proto__":"c"}}`);
  const send = () => service.call("POST", "/v2/transfer/internal", { as: acme.token, body });
  const { status, body: record } = await send();
  expect(status).toBe(200);
  const again = await send();
  const listed = await service.call("GET", `/v2/transfer/transfers?group_ids=${record.id}`, { as: acme.token });
  const own = (of: Answer["body"]) => Object.entries(of.metadata).sort();
  const sent = [
    ["__proto__", "a"],
    ["constructor", "b"],
  ];
  const shown = [record, (await read(record.id)).body, again.body.meta.existing];
  expect([again.status, shown.map(own)]).toEqual([409, shown.map(() => sent)]);
  expect(listed.body.items.map(own).toSorted()).toEqual([sent, [["__proto__", "c"]]]);
  const { sound } = await verifyAll(service.db.database);
  expect(sound).toBe(true);
});

test("a platform transfer returns the sender's record, as GET does", async () => {
  const from = await service.profile(acme, { USD: "100" });
  const to = await service.profile(other);
  const answer = await move("platform", {
    from_profile_id: from,
    to_profile_id: to,
    amount: "00.50",
    asset: "USD",
    ref_id: "whole-1",
    metadata: { invoice: "1", empty: "" },
    recipient_metadata: { note: "for you" },
    from_identity_id: "identity-a",
    from_account_id: "account-a",
    to_identity_id: "identity-b",
    to_account_id: "account-b",
  });
  expectSuccess(answer);
  expect(answer.body).toEqual({
    ...debitRecord("PLATFORM_TRANSFER_DEBIT", answer, { from, amount: "0.5", asset: "USD" }),
    ref_id: "whole-1",
    metadata: { invoice: "1", empty: "" },
    identity_id: "identity-a",
    account_id: "account-a",
  });
  const again = await read(answer.body.id);
  expectSuccess(again);
  expect(again.body).toEqual(answer.body);

  const [credit] = (await service.call("GET", `/v2/transfer/transfers?profile_ids=${to}`, { as: other.token })).body
    .items;
  expect(credit).toEqual({
    ...debitRecord("PLATFORM_TRANSFER_CREDIT", answer, { from: to, amount: "0.5", asset: "USD" }),
    id: expect.stringMatching(UUID),
    customer_id: other.id,
    direction: "CREDIT",
    metadata: { note: "for you" },
    identity_id: "identity-b",
    account_id: "account-b",
  });
  expectProblem(await read(credit.id), { status: 404, detail: `transfer not found: ${credit.id}` });
  expectProblem(await read(answer.body.id, other.token), {
    status: 404,
    detail: `transfer not found: ${answer.body.id}`,
  });
});

test("an internal transfer needs only its required fields, and both records are the caller's", async () => {
  const [from, to] = [await service.profile(acme, { PYUSD: "1" }), await service.profile(acme)];
  const answer = await move("internal", {
    from_profile_id: from,
    to_profile_id: to,
    amount: ".000001",
    asset: "PYUSD",
  });
  expectSuccess(answer);
  const debit = debitRecord("INTERNAL_TRANSFER_DEBIT", answer, { from, amount: "0.000001", asset: "PYUSD" });
  expect(answer.body).toEqual(debit);
  const list = await service.call("GET", `/v2/transfer/transfers?group_ids=${debit.id}`, { as: acme.token });
  expectSuccess(list);
  expect(list.body).toEqual({
    items: [
      {
        ...debit,
        id: expect.stringMatching(UUID),
        profile_id: to,
        direction: "CREDIT",
        type: "INTERNAL_TRANSFER_CREDIT",
      },
      debit,
    ],
    next_page_cursor: "",
  });
});

test("metadata takes 6 pairs of 100 code points, also of those that UTF-16 counts twice", async () => {
  const [from, to] = [await service.profile(acme, { USD: "1" }), await service.profile(acme)];
  const long = "😀".repeat(100);
  const metadata = { [long]: long, b: "", c: "c", d: "d", toString: "e", constructor: "f" };
  const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD" };
  const answer = await move("internal", { ...body, metadata, recipient_metadata: {} });
  expectSuccess(answer);
  expect(answer.body.metadata).toEqual(metadata);
  const list = await service.call("GET", `/v2/transfer/transfers?profile_ids=${to}`, { as: acme.token });
  expect(list.body.items[0].metadata).toEqual({});
});

test.each(["platform", "internal"] as const)(
  "a %s transfer: null in an optional field is its absence",
  async (kind) => {
    const [from, to] = [await service.profile(acme, { USD: "1" }), await service.profile(acme)];
    const optional = ["ref_id", "metadata", "recipient_metadata", "from_identity_id", "to_account_id"];
    const answer = await move(kind, {
      from_profile_id: from,
      to_profile_id: to,
      amount: "1.000000000000000000000000000000000000000000000000000000000",
      asset: "USD",
      ...Object.fromEntries(optional.map((field) => [field, null])),
    });
    expectSuccess(answer);
    expect(answer.body).toEqual(
      debitRecord(`${kind.toUpperCase()}_TRANSFER_DEBIT`, answer, { from, amount: "1", asset: "USD" }),
    );
  },
);

test("the exact balance can be sent; one unit more is rejected, and leaves the ref_id free", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  const body = { from_profile_id: from, to_profile_id: to, asset: "USD", ref_id: "exact" };
  expectProblem(await move("internal", { ...body, amount: "10.01" }), {
    status: 403,
    slug: "insufficient-funds",
    detail: `profile ${from} has 10 USD available, but 10.01 is needed`,
    meta: { profile_id: from, asset: "USD", available: "10", needed: "10.01" },
  });
  expectSuccess(await move("internal", { ...body, amount: "10" }));
});

test("an amount with more decimals than the asset has is rejected, not rounded", async () => {
  const [from, to] = [await service.profile(acme, { USD: "10" }), await service.profile(acme)];
  for (const amount of ["1.001", "0.0000000000000000001"]) {
    expectProblem(await move("platform", { from_profile_id: from, to_profile_id: to, asset: "USD", amount }), {
      status: 400,
      slug: "exceed-precision",
      detail: `amount "${amount}" has more decimals than USD allows: 2`,
      meta: { asset: "USD", precision: 2 },
    });
  }
});

test("an unknown asset is rejected by name; codes are case-sensitive", async () => {
  const [from, to] = [await service.profile(acme), await service.profile(acme)];
  for (const asset of ["usd", "NOPE"]) {
    const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset };
    expectProblem(
      await move("platform", body),
      failingField("asset", asset, "is not the code of an asset of this service"),
    );
  }
});

test("a transfer to the same profile is rejected, in whatever case its id is written", async () => {
  const profile = await service.profile(acme, { USD: "1" });
  const shouted = String(profile).toUpperCase();
  const body = { from_profile_id: profile, to_profile_id: shouted, amount: "1", asset: "USD" };
  for (const kind of ["platform", "internal"] as const) {
    expectProblem(
      await move(kind, body),
      failingField("to_profile_id", shouted, "is the same profile as from_profile_id"),
    );
  }
});

test("a profile that does not exist, is another customer's or is inactive is not found", async () => {
  const mine = await service.profile(acme, { USD: "1" });
  const theirs = await service.profile(other, { USD: "1" });
  const inactive = await service.profile(acme);
  expectSuccess(await service.call("PUT", `/v2/profiles/${inactive}/deactivate`, { as: acme.token }));
  const cases = [
    ["platform", UNKNOWN, mine, UNKNOWN],
    ["platform", theirs, mine, theirs],
    ["platform", inactive, mine, inactive],
    ["platform", mine, UNKNOWN, UNKNOWN],
    ["platform", mine, inactive, inactive],
    ["internal", mine, theirs, theirs],
    ["internal", mine, inactive, inactive],
  ] as const;
  for (const [kind, from, to, missing] of cases) {
    const answer = await move(kind, { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD" });
    expectProblem(answer, { status: 404, detail: `profile not found: ${missing}` });
  }
});

test("a used ref_id returns the first record, whatever the amount or profile of the new request", async () => {
  const [from, to] = [await service.profile(acme, { USD: "1" }), await service.profile(acme)];
  const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD", ref_id: "again" };
  const first = await move("internal", body);
  expectSuccess(first);
  const taken = {
    status: 409,
    slug: "already-exists",
    detail: 'ref_id "again" is already in use',
    meta: { existing: first.body },
  };
  expectProblem(await move("internal", body), taken);
  expectProblem(await move("platform", { ...body, amount: "2.001", asset: "XXX", from_profile_id: UNKNOWN }), taken);
  // Another customer's ref_ids are another customer's, and so are another kind of resource's.
  const [theirs, target] = [await service.profile(other, { USD: "1" }), await service.profile(other)];
  const theirBody = { ...body, from_profile_id: theirs, to_profile_id: target };
  expectSuccess(await move("internal", theirBody, other.token));
});

test("of a transfer between two customers events show each its own record, whichever it is asked for", async () => {
  const [from, to] = [await service.profile(acme, { USD: "1" }), await service.profile(other)];
  const body = { from_profile_id: from, to_profile_id: to, amount: "1", asset: "USD" };
  const { id } = (await move("platform", body)).body;
  const ids = [id, siblingId(id)];
  const stranger = await service.customer("Stranger");
  for (const [customer, own] of [
    [acme, [id]],
    [other, [siblingId(id)]],
    [stranger, []],
  ] as const) {
    const found = await service.service.transfers.findRecords(customer.id, ids);
    expect(found.map((record) => [record.id, record.customerId])).toEqual(own.map((one) => [one, customer.id]));
  }
});

test("deposits and withdrawals are found by the hash of their transaction, in any form, the one that a step named last", async () => {
  const owner = await service.customer("Owner");
  const profileId = await service.profile(owner, { USD: "10" });
  const { transfers } = service.service;
  const record = async (direction: "CREDIT" | "DEBIT", details: object, hasSteps?: true) => {
    const type = direction === "CREDIT" ? "CRYPTO_DEPOSIT" : "CRYPTO_WITHDRAWAL";
    const what = { profileId, amount: amountOf("1"), asset: "USD", direction, type, details } as const;
    const request = { customerId: owner.id, ...what, ...(hasSteps && { hasSteps }) };
    const made = await transfers.recordExternal(request, TESTER);
    if (made.kind !== "done") throw new Error(JSON.stringify(made));
    return made.value.id;
  };
  const deposit = await record("CREDIT", { cryptoNetwork: "ETHEREUM", cryptoTxHash: "0xAB01", cryptoTxIndex: "0" });
  const onBitcoin = await record("CREDIT", { cryptoNetwork: "BITCOIN", cryptoTxHash: "AB01", cryptoTxIndex: "1" });
  const onSolana = await record("CREDIT", { cryptoNetwork: "SOLANA", cryptoTxHash: "5xWq", cryptoTxIndex: "0" });
  const replaced = await record(
    "DEBIT",
    { cryptoNetwork: "ETHEREUM", cryptoTxHash: "0xab02", cryptoTxIndex: "7" },
    true,
  );
  unwrap(await transfers.step(owner.id, replaced, { to: "approved" }, TESTER));
  expect((await read(replaced, owner.token)).body).toMatchObject({ crypto_tx_hash: "0xab02", crypto_tx_index: "7" });
  unwrap(await transfers.step(owner.id, replaced, { to: "sent", cryptoTxHash: "AB03" }, TESTER));
  const shown = (await read(replaced, owner.token)).body;
  expect(shown).toMatchObject({ crypto_tx_hash: "0xab03", status_details: { progress: { step: "SENT" } } });
  expect(shown.crypto_tx_index).toBeUndefined();
  const found = async (query: string): Promise<string[]> => {
    const answer = await service.call("GET", `/v2/transfer/transfers?order=ASC&${query}`, { as: owner.token });
    return answer.body.items.map(({ id }: { id: string }) => id);
  };
  for (const hash of ["0xab01", "0xAB01", "AB01", "ab01"]) {
    expect(await found(`crypto_tx_hashes=${hash}`)).toEqual([deposit, onBitcoin]);
  }
  expect(await found("crypto_tx_hashes=5xWq")).toEqual([onSolana]);
  expect(await found("crypto_tx_hashes=5xwq")).toEqual([]);
  // One that could be hexadecimal digits.
  const likeDigits = await record("CREDIT", { cryptoNetwork: "SOLANA", cryptoTxHash: "AB05", cryptoTxIndex: "0" });
  expect(await found("crypto_tx_hashes=AB05")).toEqual([likeDigits]);
  expect(await found("crypto_tx_hashes=ab05")).toEqual([]);
  expect(await found("crypto_tx_hashes=0xab02")).toEqual([]);
  expect(await found("crypto_tx_hashes=ab02&crypto_tx_hashes=ab03")).toEqual([replaced]);
  expect(await found("crypto_tx_hashes=ab01&crypto_tx_hashes=0xab03")).toEqual([deposit, onBitcoin, replaced]);
  for (const further of [
    "type=CRYPTO_WITHDRAWAL",
    "statuses=PENDING",
    `ids=${replaced}`,
    "statuses=PENDING&order_by=UPDATED_AT",
  ]) {
    expect(await found(`crypto_tx_hashes=ab01&crypto_tx_hashes=ab03&${further}`), further).toEqual([replaced]);
  }
  expect(await found("crypto_tx_hashes=ab01&crypto_tx_hashes=ab03&order_by=UPDATED_AT")).toEqual([
    deposit,
    onBitcoin,
    replaced,
  ]);
  // Named when it was requested, and by no step.
  const announced = await record("CREDIT", { cryptoNetwork: "BASE", cryptoTxHash: "0xab04", cryptoTxIndex: "0" }, true);
  for (const step of [undefined, { to: "completed" }] as const) {
    if (step !== undefined) unwrap(await transfers.step(owner.id, announced, step, TESTER));
    for (const further of ["", "&order_by=UPDATED_AT", `&ids=${announced}`, "&statuses=PENDING&statuses=COMPLETED"])
      expect([further, await found(`crypto_tx_hashes=ab04${further}`)]).toEqual([further, [announced]]);
  }
  // In pages as any list: outputs of one transaction, and what a step named.
  const outputs: string[] = [];
  for (const cryptoTxIndex of ["0", "1", "2"])
    outputs.push(await record("CREDIT", { cryptoNetwork: "ETHEREUM", cryptoTxHash: "0xab06", cryptoTxIndex }));
  const spent = await record("DEBIT", { cryptoNetwork: "ETHEREUM" }, true);
  unwrap(await transfers.step(owner.id, spent, { to: "approved" }, TESTER));
  unwrap(await transfers.step(owner.id, spent, { to: "sent", cryptoTxHash: "0xab06" }, TESTER));
  outputs.push(
    spent,
    await record("CREDIT", { cryptoNetwork: "ETHEREUM", cryptoTxHash: "0xab06", cryptoTxIndex: "3" }),
  );
  for (const order of ["ASC", "DESC"]) {
    for (const limit of [1, 2, 3]) {
      const listed: string[] = [];
      let cursor = "";
      do {
        const query = `crypto_tx_hashes=ab06&order=${order}&limit=${limit}&page_cursor=${cursor}`;
        const { body } = await service.call("GET", `/v2/transfer/transfers?${query}`, { as: owner.token });
        listed.push(...body.items.map(({ id }: { id: string }) => id));
        cursor = body.next_page_cursor;
      } while (cursor !== "" && listed.length < 10);
      expect([order, limit, listed]).toEqual([order, limit, order === "ASC" ? outputs : outputs.toReversed()]);
    }
  }
  const stranger = await service.customer("Stranger");
  for (const hash of ["ab01", "ab03", "ab04", "ab06"]) {
    const path = `/v2/transfer/transfers?crypto_tx_hashes=${hash}`;
    expect((await service.call("GET", path, { as: stranger.token })).body.items).toEqual([]);
  }
});
