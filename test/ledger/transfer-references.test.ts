/** What keeps a transfer from taking effect twice: its ref_id, and the transaction of a chain that a deposit names. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type Catalogue, loadCatalogue } from "../../src/catalogue/catalogue.ts";
import type { CustomerId } from "../../src/customers/customer-id.ts";
import type { ProfileId } from "../../src/ledger/accounts.ts";
import { amountOf } from "../../src/money/amount.ts";
import { serverError } from "../../src/postgres/database.ts";
import { IdSource } from "../../src/std/id.ts";
import {
  createTransfers,
  type ExternalTransferRequest,
  type TransferRequest,
  type Transfers,
} from "../../src/transfers/transfers.ts";
import { verifyAll } from "../../src/verify/verify.ts";
import { expectBooksBalance } from "../support/books.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  availableUsd,
  newId,
  newProfiles,
  startLane,
  TESTER,
  type TestLane,
  type TestLaneOptions,
} from "../support/movements.ts";
import { insertProfile, openTransaction, untilBlocked } from "../support/postgres/rows-in-the-way.ts";
import { until } from "../support/until.ts";

let db: TestDatabase;
let catalogue: Catalogue;
let nodes: (TestLane & { readonly transfers: Transfers })[];
beforeAll(async () => {
  db = await testDatabase();
  catalogue = await loadCatalogue(db.database);
  nodes = await Promise.all([startNode(), startNode()]);
});
afterEach(() => expectBooksBalance(db.owner));
afterAll(async () => {
  for (const { lane } of nodes) await lane.stop();
  catalogue.close();
  await db.close();
});

async function startNode(options: TestLaneOptions = {}) {
  const database = db.another();
  const node = await startLane(database, options);
  return { ...node, transfers: createTransfers({ database, lane: node.lane, catalogue, ids: new IdSource() }) };
}

async function profiles(count: number): Promise<{ readonly id: ProfileId; readonly customerId: CustomerId }[]> {
  const made = newProfiles(count);
  for (const id of made) await insertProfile(db.owner, id);
  const rows = await db.owner.rows<{ id: ProfileId; customer_id: CustomerId }>(
    "select id, customer_id from profile where id = any($1)",
    [made],
  );
  return made.map((id) => ({ id, customerId: rows.find((row) => row.id === id)?.customer_id as CustomerId }));
}

type To = Awaited<ReturnType<typeof profiles>>[number];

function onChain({ id, customerId }: To, cryptoTxHash: string, cryptoTxIndex: string): ExternalTransferRequest {
  const details = { cryptoNetwork: "ETHEREUM", cryptoTxHash, cryptoTxIndex } as const;
  const what = { asset: "USD", amount: amountOf("1"), direction: "CREDIT", type: "CRYPTO_DEPOSIT" } as const;
  return { customerId, profileId: id, ...what, details };
}

/*
 * Taken out to see it fail: the claim of a deposit on its transaction. The others of the fifty received 500, as for a bug.
 */
test("of fifty deposits of one output of a transaction, through two lanes to two customers, one takes effect", async () => {
  const to = await profiles(2);
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      nodes[i % 2]?.transfers.recordExternal(onChain(to[(i >> 1) % 2] as To, "0xabc", "0"), TESTER),
    ),
  );
  const done = outcomes.flatMap((outcome) => (outcome?.kind === "done" ? outcome.value.id : []));
  expect(done).toHaveLength(1);
  const others = outcomes.flatMap((outcome) => (outcome?.kind === "exists" ? outcome.id : []));
  expect(others).toEqual(Array(49).fill(done[0]));
  const sums = await availableUsd(
    db.owner,
    to.map(({ id }) => id),
  );
  expect(sums.map(Number).reduce((a, b) => a + b)).toBe(1);
});

test("other outputs of a transaction, and withdrawals that name it, are transfers of their own, but not other networks", async () => {
  const [to] = (await profiles(1)) as [To];
  const [one] = nodes as [(typeof nodes)[0]];
  const deposit = onChain(to, "0xdef", "0");
  const requests: ExternalTransferRequest[] = [
    deposit,
    onChain(to, "0xdef", "1"),
    onChain(to, "0xdef", "2"),
    { ...deposit, direction: "DEBIT", type: "CRYPTO_WITHDRAWAL" },
    { ...deposit, direction: "DEBIT", type: "CRYPTO_WITHDRAWAL" },
  ];
  for (const request of requests) expect((await one.transfers.recordExternal(request, TESTER)).kind).toBe("done");
  for (const cryptoNetwork of ["ETHEREUM", "BASE", "STELLAR"] as const) {
    const again = { ...deposit, details: { ...deposit.details, cryptoNetwork } };
    expect((await one.transfers.recordExternal(again, TESTER)).kind, cryptoNetwork).toBe("exists");
  }
  // Having repeated one, its customer's are looked up first: what only a withdrawal names was never deposited.
  const named = onChain(to, "0xdaf", "0");
  for (const request of [{ ...named, direction: "DEBIT", type: "CRYPTO_WITHDRAWAL" } as const, named])
    expect((await one.transfers.recordExternal(request, TESTER)).kind).toBe("done");
  expect(await availableUsd(db.owner, [to.id])).toEqual(["1"]);
});

test("outputs are the same with leading zeros", async () => {
  const [to] = (await profiles(1)) as [To];
  const [one] = nodes as [(typeof nodes)[0]];
  const tenth = await one.transfers.recordExternal(onChain(to, "0x0f", "010"), TESTER);
  expect(tenth).toMatchObject({ kind: "done", value: { cryptoTxIndex: "10" } });
  expect((await one.transfers.recordExternal(onChain(to, "0x0f", "10"), TESTER)).kind).toBe("exists");
  expect(await availableUsd(db.owner, [to.id])).toEqual(["1"]);
});

test("a deposit names the output of its transaction, and a withdrawal what its operator knows", async () => {
  const [to] = (await profiles(1)) as [To];
  const [one] = nodes as [(typeof nodes)[0]];
  const { details, ...request } = onChain(to, "0x0e", "0");
  const whole = { ...request, details: { ...details, cryptoTxIndex: undefined } };
  expect(() => one.transfers.recordExternal(whole, TESTER)).toThrow("a deposit names the output of its transaction");
  expect((await one.transfers.recordExternal({ ...request, details }, TESTER)).kind).toBe("done");
  const withdrawal = { ...whole, direction: "DEBIT", type: "CRYPTO_WITHDRAWAL" } as const;
  const left = await one.transfers.recordExternal(withdrawal, TESTER);
  expect(left).toMatchObject({ kind: "done", value: { cryptoTxHash: "0x0e", cryptoTxIndex: undefined } });
  expect(await availableUsd(db.owner, [to.id])).toEqual(["0"]);
});

test("a hash in hexadecimal digits is the same transaction in either case, and one in base58 is not", async () => {
  const [to] = (await profiles(1)) as [To];
  const record = async (cryptoNetwork: "ETHEREUM" | "BITCOIN" | "SOLANA", hash: string) => {
    const request = onChain(to, hash, "0");
    const details = { ...request.details, cryptoNetwork };
    return nodes[0]?.transfers.recordExternal({ ...request, details }, TESTER);
  };
  const first = await record("ETHEREUM", "0xDEC0DE");
  expect(first).toMatchObject({ kind: "done", value: { cryptoTxHash: "0xdec0de" } });
  const id = first?.kind === "done" ? first.value.id : undefined;
  for (const hash of ["0xdec0de", "0XDec0dE", "0xDEC0DE", "DEC0DE"]) {
    expect(await record("ETHEREUM", hash)).toMatchObject({ kind: "exists", id });
  }
  for (const hash of ["DEC0DE", "0xdec0de"])
    expect(await record("BITCOIN", hash)).toMatchObject({ kind: "exists", id });
  expect(await record("BITCOIN", "0XDEC2DE")).toMatchObject({ kind: "done", value: { cryptoTxHash: "dec2de" } });
  expect((await record("SOLANA", "DEC1DE"))?.kind).toBe("done");
  expect(await record("SOLANA", "dec1de")).toMatchObject({ kind: "done", value: { cryptoTxHash: "dec1de" } });
  expect(await availableUsd(db.owner, [to.id])).toEqual(["4"]);
});

test("one of 64 hexadecimal digits is the same transaction on each network, too", async () => {
  const [to] = (await profiles(1)) as [To];
  const digits = "c0ffee".padEnd(64, "7");
  const hashes = {
    SOLANA: digits.toUpperCase(),
    ETHEREUM: `0X${digits}`,
    SUI: `0x${digits.toUpperCase()}`,
    BITCOIN: digits,
  };
  const outcomes: unknown[] = [];
  for (const [cryptoNetwork, hash] of Object.entries(hashes)) {
    const request = onChain(to, hash, "0");
    const details = { ...request.details, cryptoNetwork } as typeof request.details;
    const { kind } = (await nodes[0]?.transfers.recordExternal({ ...request, details }, TESTER)) ?? {};
    outcomes.push(kind);
  }
  expect(outcomes).toEqual(["done", "exists", "exists", "exists"]);
  expect(await availableUsd(db.owner, [to.id])).toEqual(["1"]);
});

function payment(from: To, to: To, refId: string, amount = "1"): TransferRequest {
  const sides = { from: { profileId: from.id }, to: { profileId: to.id } };
  return { customerId: from.customerId, kind: "platform", ...sides, amount: amountOf(amount), asset: "USD", refId };
}

/** A session that has added a transfer with this ref_id and never commits. */
async function holdRefId({ id, customerId }: To, refId: string) {
  const session = await openTransaction(db.owner);
  await session.query(
    `insert into transfer (customer_id, id, type, to_profile_id, to_customer_id, asset, amount, ref_id, created_at, slot, batch)
     values ($1, $2, 'WIRE_DEPOSIT', $3, $1, 'USD', 1, $4, now(), 1, 1)`,
    [customerId, newId(), id, refId],
  );
  return session;
}

/*
 * Taken out to see it fail: rows were inserted in the order of their ids. The database found deadlocks.
 */
test("two lanes that receive the same ref_ids in opposite orders do not deadlock, and each takes effect once", async () => {
  const [one, other, ...to] = (await profiles(4)) as [To, To, To, To];
  // Of one customer, with accounts of their own: nothing but the ref_ids is shared.
  await db.owner.rows("update profile set customer_id = $1 where id = $2", [one.customerId, other.id]);
  const from = [one, { ...other, customerId: one.customerId }] as const;
  await nodes[0]?.fund([one.id, other.id], "1000");
  const refIds = Array.from({ length: 10 }, (_, i) => String(i));
  // Both have inserted some when they come to the one that is held.
  const session = await holdRefId(one, "5");
  const sent = [refIds, refIds.toReversed()].flatMap((each, i) =>
    each.map((refId) => nodes[i]?.transfers.move(payment(from[i] as To, to[i] as To, refId), TESTER)),
  );
  await untilBlocked(db, 2);
  await session.end();
  const kinds = (await Promise.all(sent)).map((outcome) => outcome?.kind);
  expect(kinds.filter((kind) => kind === "done")).toHaveLength(10);
  expect(kinds.filter((kind) => kind === "exists")).toHaveLength(10);
  const failures = nodes.flatMap(({ events }) =>
    events.flatMap((event) => (event.kind === "batch_failed" ? [event] : [])),
  );
  expect(failures.filter(({ error }) => serverError(error)?.code === "40P01")).toEqual([]);
  expect(failures.filter(({ isContention }) => !isContention)).toEqual([]);
  const left = await availableUsd(db.owner, [one.id, other.id]);
  expect(left.map(Number).reduce((a, b) => a + b)).toBe(1_990);
  const { checks } = await verifyAll(db.database);
  expect(checks.find(({ check }) => check === "claims")?.broken).toBe(0);
});

test("a transfer that loses the race for its ref_id once more, alone under lock, is answered with the record that has it", async () => {
  const [from, to] = (await profiles(2)) as [To, To];
  const { lane, transfers, fund, events } = await startNode({ bounds: { deadlineMs: 60_000 } });
  await fund([from.id, to.id], "10");
  const refIds = ["a", "b", "c"];
  const sessions = await Promise.all(refIds.map((refId) => holdRefId(from, refId)));
  // The batch fails for the first ref_id, what is repeated of it under lock for the second, and then the last one for its own.
  const outcomes = refIds.map((refId) => transfers.move(payment(from, to, refId), TESTER));
  for (const [i, session] of sessions.entries()) {
    await untilBlocked(db);
    await session.query("commit");
    await session.end();
    expect((await outcomes[i])?.kind).toBe("exists");
  }
  await lane.stop();
  expect(events.map(({ kind }) => kind)).toEqual(["batch_failed", "recovered"]);
  expect(await availableUsd(db.owner, [from.id, to.id])).toEqual(["10", "10"]);
  // What the sessions have added belongs to no batch.
  await db.owner.rows("delete from transfer where ref_id = any($1)", [refIds]);
});

/*
 * Taken out to see it fail: the added rows were not counted, so PostgreSQL added them after the deadline was checked.
 */
test("a transfer that waited past its deadline for a ref_id, which is free then, does not take effect", async () => {
  const [from, to] = (await profiles(2)) as [To, To];
  const { lane, transfers, fund } = await startNode({ bounds: { deadlineMs: 1_500 } });
  await fund([from.id], "10");
  const session = await holdRefId(from, "contested");
  const late = transfers.move(payment(from, to, "contested"), TESTER).catch((error: Error) => error.message);
  await untilBlocked(db);
  expect(await late).toBe("not in time");
  await session.end();
  // Behind it in the chain: whether the first has taken effect is decided.
  await until("the next one is done", async () => {
    const next = await transfers.move(payment(from, to, "next", "2"), TESTER).catch(() => undefined);
    return next !== undefined && next.kind !== "rejected";
  });
  await lane.stop();
  expect(await availableUsd(db.owner, [from.id, to.id])).toEqual(["8", "2"]);
});
