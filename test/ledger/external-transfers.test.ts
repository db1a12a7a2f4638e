/** Deposits and withdrawals that have steps, on two nodes. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Catalogue, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import { createCustomers } from "../../src/customers/customers.ts";
import { createProfiles } from "../../src/customers/profiles/profiles.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import type { Lane } from "../../src/ledger/writer/lane.ts";
import { amountOf } from "../../src/money/amount.ts";
import { systemClock } from "../../src/std/clock.ts";
import { IdSource, type Uuid } from "../../src/std/id.ts";
import {
  createTransfers,
  type ExternalTransferRequest,
  listOpenTransfers,
  type Step,
  type TransferRecord,
  type Transfers,
} from "../../src/transfers/transfers.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { newId, startLane, TESTER, type TestLane } from "../support/movements.ts";

let db: TestDatabase;
let catalogue: Catalogue;
let nodes: (TestLane & { readonly transfers: Transfers })[];
let profile: { readonly id: ProfileId; readonly customerId: CustomerId };
beforeAll(async () => {
  db = await testDatabase();
  catalogue = await loadCatalogue(db.database);
  nodes = await Promise.all([startNode(), startNode()]);
});
beforeEach(async () => {
  const [node] = nodes;
  const parts = { database: db.database, lane: node?.lane as Lane, ids: new IdSource(), clock: systemClock };
  const customerId = newId() as CustomerId;
  await createCustomers(parts).ensure(customerId, `Acme ${customerId}`, TESTER);
  const made = await createProfiles(parts).create({ customerId, nickname: "till", description: undefined }, TESTER);
  profile = { id: made.kind === "done" ? made.value.id : (newId() as ProfileId), customerId };
});
afterEach(() => expectBooksBalance(db.owner));
afterAll(async () => {
  for (const { lane } of nodes) await lane.stop();
  catalogue.close();
  await db.close();
});

async function startNode() {
  const database = db.another();
  const node = await startLane(database);
  return { ...node, transfers: createTransfers({ database, lane: node.lane, catalogue, ids: new IdSource() }) };
}

const transfersOf = (node: number): Transfers => nodes[node]?.transfers as Transfers;

function requestOf(more: Partial<ExternalTransferRequest>): ExternalTransferRequest {
  const { customerId, id: profileId } = profile;
  const wire = { direction: "DEBIT", type: "WIRE_WITHDRAWAL", asset: "USD", amount: amountOf("10") } as const;
  return { customerId, profileId, ...wire, details: {}, ...more };
}

async function record(more: Partial<ExternalTransferRequest>): Promise<TransferRecord> {
  const outcome = await transfersOf(0).recordExternal(requestOf(more), TESTER);
  if (outcome.kind !== "done") throw new Error(`it is ${JSON.stringify(outcome.kind)}`);
  return outcome.value;
}

const deposit = (asset: string, amount: string, more: Partial<ExternalTransferRequest> = {}) =>
  record({ direction: "CREDIT", type: "WIRE_DEPOSIT", asset, amount: amountOf(amount), ...more });

const step = (id: Uuid, taken: Step, node = 0) => transfersOf(node).step(profile.customerId, id, taken, TESTER);

async function steps(id: Uuid, ...all: Step[]): Promise<void> {
  for (const taken of all) expect((await step(id, taken)).kind).toBe("done");
}

/** Available, pending and, in the world, all that there is. */
async function balance(asset: string): Promise<{ readonly available: string; readonly pending: string }> {
  const [row] = await db.owner.rows<{ available: string; pending: string }>(
    `select trim_scale(available)::text as available, trim_scale(pending)::text as pending
       from account where owner_id = $1 and asset = $2`,
    [profile.id, asset],
  );
  return row ?? { available: "none", pending: "none" };
}

const APPROVED: Step = { to: "approved" };
const SENT: Step = { to: "sent" };
const COMPLETED: Step = { to: "completed" };
const FAILED: Step = { to: "failed", reason: "account closed" };
const CANCELLED: Step = { to: "cancelled", reason: "asked for by phone" };

test("money of a withdrawal is held until it is complete, and then has left", async () => {
  await deposit("PYUSD", "30", { type: "CRYPTO_DEPOSIT" });
  const { id } = await record({ asset: "PYUSD", type: "CRYPTO_WITHDRAWAL", hasSteps: true });
  expect(await balance("PYUSD")).toEqual({ available: "20", pending: "10" });
  await steps(id, APPROVED, { to: "sent", cryptoTxHash: "0xabc", cryptoTxIndex: "1" });
  expect(await balance("PYUSD")).toEqual({ available: "20", pending: "10" });
  await steps(id, COMPLETED);
  expect(await balance("PYUSD")).toEqual({ available: "20", pending: "0" });
  const found = await transfersOf(1).find(profile.customerId, id);
  expect(found?.steps).toMatchObject({ status: "completed", cryptoTxHash: "0xabc", cryptoTxIndex: "1", version: 4n });
});

test.each<[string, Step[]]>([
  ["cancelled before it is approved", [CANCELLED]],
  ["cancelled after it is approved", [APPROVED, CANCELLED]],
  ["failed", [APPROVED, SENT, FAILED]],
])("money of a withdrawal that is %s is given back", async (_what, taken) => {
  await deposit("USD", "10");
  const { id } = await record({ hasSteps: true });
  expect(await balance("USD")).toEqual({ available: "0", pending: "10" });
  await steps(id, ...taken);
  expect(await balance("USD")).toEqual({ available: "10", pending: "0" });
});

test("a deposit that is announced moves nothing until it is complete, and then makes its profile active", async () => {
  const { id } = await deposit("USD", "7", { hasSteps: true });
  await transfersOf(0).deactivate(profile.customerId, profile.id, TESTER);
  expect(await balance("USD")).toEqual({ available: "none", pending: "none" });
  await steps(id, COMPLETED);
  expect(await balance("USD")).toEqual({ available: "7", pending: "0" });
  const [row] = await db.owner.rows("select status from profile where id = $1", [profile.id]);
  expect(row).toEqual({ status: "ACTIVE" });
});

test("a deposit that failed moved nothing", async () => {
  const { id } = await deposit("USD", "7", { hasSteps: true });
  await steps(id, FAILED);
  expect(await balance("USD")).toEqual({ available: "none", pending: "none" });
});

const ALL: readonly Step[] = [APPROVED, SENT, COMPLETED, FAILED, CANCELLED];

test("each status allows the steps that it allows, and no other", async () => {
  await deposit("USD", "1000");
  const allowed: string[] = [];
  for (const [name, before] of Object.entries({
    requested: [],
    approved: [APPROVED],
    sent: [APPROVED, SENT],
    completed: [APPROVED, SENT, COMPLETED],
    failed: [APPROVED, SENT, FAILED],
    cancelled: [CANCELLED],
  })) {
    for (const next of ALL.filter(({ to }) => to !== name)) {
      const { id } = await record({ hasSteps: true, amount: amountOf("1") });
      await steps(id, ...before);
      const outcome = await step(id, next);
      if (outcome.kind === "done") allowed.push(`${name} to ${next.to}`);
      else expect(outcome).toMatchObject({ rejection: { code: "step_not_allowed", id, status: name, to: next.to } });
    }
  }
  expect(allowed).toEqual([
    ...["requested to approved", "requested to cancelled", "approved to sent", "approved to cancelled"],
    ...["sent to completed", "sent to failed"],
  ]);
});

test("of an announced deposit only completing and failing are allowed", async () => {
  const allowed: string[] = [];
  for (const next of ALL) {
    const { id } = await deposit("USD", "1", { hasSteps: true });
    if ((await step(id, next)).kind === "done") allowed.push(next.to);
  }
  expect(allowed).toEqual(["completed", "failed"]);
});

test("a step that is repeated changes nothing; one with other details is rejected", async () => {
  await deposit("USD", "10");
  const { id } = await record({ hasSteps: true });
  await steps(id, APPROVED, APPROVED, SENT, FAILED, FAILED);
  expect(await balance("USD")).toEqual({ available: "10", pending: "0" });
  expect(await step(id, { to: "failed", reason: "another reason" })).toEqual({
    kind: "rejected",
    rejection: { code: "step_not_allowed", id, status: "failed", to: "failed" },
  });
});

test("a transfer that was complete when it was recorded has no steps, nor has one that is not there", async () => {
  const { id } = await deposit("USD", "10");
  for (const none of [id, newId()]) {
    const rejection = { code: "no_steps", id: none };
    expect(await step(none, COMPLETED)).toEqual({ kind: "rejected", rejection });
  }
});

test("a withdrawal needs what it holds, and what it holds cannot be spent", async () => {
  await deposit("USD", "10");
  await record({ hasSteps: true });
  const another = await transfersOf(0).recordExternal(requestOf({ amount: amountOf("0.01") }), TESTER);
  expect(another).toMatchObject({ kind: "rejected", rejection: { code: "insufficient_funds" } });
});

test("a profile with an open withdrawal is not deactivated", async () => {
  await deposit("USD", "10");
  const { id } = await record({ hasSteps: true });
  const deactivate = () => transfersOf(0).deactivate(profile.customerId, profile.id, TESTER);
  expect(await deactivate()).toMatchObject({ rejection: { code: "profile_not_empty", because: "holds_money" } });
  await steps(id, APPROVED, SENT, COMPLETED);
  expect((await deactivate()).kind).toBe("done");
});

test("what has not ended is listed, the oldest first, and as many as are asked for", async () => {
  const open = () => listOpenTransfers(db.owner, 1_000);
  const before = (await open()).length;
  await deposit("USD", "30");
  const first = await record({ hasSteps: true });
  const announced = await deposit("USD", "7", { hasSteps: true });
  const last = await record({ hasSteps: true });
  const ended = await record({ hasSteps: true });
  await steps(ended.id, CANCELLED);
  await steps(first.id, APPROVED, SENT);
  const all = await open();
  expect(all.slice(before).map(({ id, direction, steps }) => [id, direction, steps?.status])).toEqual([
    [first.id, "DEBIT", "sent"],
    [announced.id, "CREDIT", "requested"],
    [last.id, "DEBIT", "requested"],
  ]);
  expect(await listOpenTransfers(db.owner, before + 1)).toEqual(all.slice(0, before + 1));
});

test("of completing and failing on two nodes at once exactly one happens", async () => {
  await deposit("USD", "200");
  for (let round = 0; round < 20; round += 1) {
    const { id } = await record({ hasSteps: true });
    await steps(id, APPROVED, SENT);
    const outcomes = await Promise.all([step(id, COMPLETED, round % 2), step(id, FAILED, (round + 1) % 2)]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["done", "rejected"]);
    const won = outcomes.find(({ kind }) => kind === "done") as { value: TransferRecord } | undefined;
    expect((await transfersOf(0).find(profile.customerId, id))?.steps).toEqual(won?.value.steps);
  }
});

test("a request whose ref_id is taken finds the withdrawal that has it, however far that is", async () => {
  await deposit("USD", "20");
  const { id } = await record({ hasSteps: true, refId: "once" });
  await steps(id, CANCELLED);
  const again = await transfersOf(1).recordExternal(requestOf({ refId: "once" }), TESTER);
  expect(again).toEqual({ kind: "exists", id });
});

test("verify finds nothing in all of this", async () => {
  const { checks } = await verifyAll(db.owner);
  expect(checks.filter(({ broken }) => broken > 0)).toEqual([]);
  expect(checks.find(({ check }) => check === "external transfers")?.examined).toBeGreaterThan(100);
});
