import { createHash } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { type Amount, amountOf, negative, ZERO } from "../../money/amount.ts";
import { type AssetCode, USD } from "../../money/asset.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import {
  type Account,
  accountKey,
  accountTable,
  emptyAccount,
  entry,
  type Journal,
  journal,
  type Owner,
  type Posting,
  type ProfileId,
  postingTable,
} from "../accounts.ts";
import type { Caller, ClientCaller } from "../caller.ts";
import { bigintColumn, booleanColumn, changing, countColumn, key, uuidColumn, versionColumn } from "../columns.ts";
import type { Changes } from "../decision.ts";
import { addition, change, recordTable, type StateRow, stateTable } from "../tables.ts";
import { addedRows, Batch, contentDigest, guardsOf, linkHash, NO_HASH, voidHash } from "./batch.ts";
import { RowCache } from "./row-cache.ts";

const ids = new IdSource();
const [a, b] = [ids.next(), ids.next()] as [Uuid & ProfileId, Uuid & ProfileId];
const NOW = 1_000_000 as Instant;
const OLD_PROFILE = "0190d5a4-1111-7000-8000-000000000004" as Uuid;
const OLD_TRANSFER = "0190d5a4-2222-7000-8000-000000000006" as Uuid;
const ONE = amountOf("1");
const ENGINE: Caller = { house: "engine" };

interface Counter extends StateRow {
  readonly id: Uuid;
  readonly count: number;
}
const counterTable = stateTable<Counter>({
  name: "counter",
  columns: { id: key(uuidColumn("id")), count: changing(countColumn("count")), version: versionColumn },
  digested: true,
  keyOf: (row) => row.id,
  keyValues: (id) => [id],
});
const noteTable = recordTable<{ id: Uuid }>({
  name: "note",
  columns: { id: uuidColumn("id") },
  hasCaller: true,
  orderBy: (row) => row.id,
  keyOf: (row) => row.id,
  keepsClaims: false,
});

let cache: RowCache;
let batch: Batch;
beforeEach(() => {
  cache = new RowCache(100);
  batch = new Batch(cache, 1);
});

function remember(owner: Owner, available: string, version: bigint, at = 0): Account {
  const account = { ...emptyAccount(owner, USD, 1), available: amountOf(available), version, at: at as Instant };
  cache.set(accountTable, accountKey(owner, USD).key, account);
  return account;
}

function move(from: Owner, to: Owner, amount: Amount = ONE): Journal {
  return journal(ids.next(), "transfer", [entry(from, USD, negative(amount)), entry(to, USD, amount)]);
}

/** Adds changes to a batch as the lane does: a command depends on every account that it changes. */
function add(to: Batch, changes: Changes, caller: Caller = ENGINE): void {
  const entries = (changes.journals ?? []).flatMap((one) => one.entries);
  to.dependOn(entries.map(({ owner, asset }) => accountKey(owner, asset)));
  to.add(changes, caller);
}

const keyOfCounter = (id: Uuid) => ({ table: counterTable, key: id });

/** The postings as they are sent, by column name. */
function postingsOf({ records }: ReturnType<Batch["close"]>): Readonly<Record<string, string | null>>[] {
  const names = postingTable.columns.map(({ name }) => name);
  const rows = records.find(({ table }) => table === postingTable)?.rows ?? [];
  return rows.map((texts) => Object.fromEntries(names.map((name, i) => [name, texts[i] as string | null])));
}

test("an account occurs once in a batch, with its version before and its state after", () => {
  remember(a, "10", 7n);
  batch.dependOn([accountKey(a, USD), accountKey(b, USD)]);
  add(batch, { journals: [move(a, b)] });
  add(batch, { journals: [move(a, b), move(b, a)] });
  const content = batch.close(NOW);
  const [accounts] = content.states;
  expect(accounts).toMatchObject({
    changed: [{ ownerId: a, available: amountOf("9"), version: 10n, at: NOW }],
    before: [{ version: 7n }],
    opened: [{ ownerId: b, available: ONE, version: 3n, at: NOW }],
    checked: [],
  });
  const numbers = postingsOf(content).map(({ owner_id, version }) => `${owner_id === a ? "a" : "b"}${version}`);
  expect(numbers).toEqual(["a8", "a9", "a10", "b1", "b2", "b3"]);
  expect([...guardsOf(content).values()].sort()).toEqual([0n, 7n]);
  expect(cache.get<Account>(accountTable, accountKey(a, USD).key)).toMatchObject({ version: 10n, at: NOW });
});

interface Holder extends StateRow {
  readonly id: Uuid;
  readonly isActive: boolean;
  readonly lastDeactivation: bigint;
}
const holderTable = stateTable<Holder>({
  name: "holder",
  columns: {
    id: key(uuidColumn("id")),
    isActive: changing(booleanColumn("is_active")),
    lastDeactivation: changing(bigintColumn("last_deactivation")),
    version: versionColumn,
  },
  digested: true,
  owner: { isActive: ({ isActive }) => isActive, lastDeactivation: ({ lastDeactivation }) => lastDeactivation },
  keyOf: (row) => row.id,
  keyValues: (id) => [id],
});

/** Owner `a` at version 5, and its account, which knows of this deactivation; undefined: there is none. */
function holds(deactivation: bigint | undefined, isActive = true): void {
  cache.set(holderTable, a, { id: a, isActive, lastDeactivation: 0n, version: 5n } as Holder);
  remember(b, "10", 3n);
  if (deactivation === undefined) return;
  const account = { ...remember(a, "10", 7n), lastDeactivation: deactivation };
  cache.set(accountTable, accountKey(a, USD).key, account);
}

const ACTIVE_HOLDER = { table: holderTable, key: a, onlyActive: true } as const;
const checkedHolders = () => batch.close(NOW).states.find(({ table }) => table === holderTable)?.checked;
const isLocked = [{ id: a, version: 5n }];

test.each([
  ["knows of no deactivation", 0n, []],
  ["knows of one that the owner was remembered after", 5n, []],
  ["knows of one that the owner was remembered before", 6n, isLocked],
  ["is opened", undefined, isLocked],
])("an owner whose account %s is locked unless the account stands in for it", (_what, deactivation, locked) => {
  holds(deactivation);
  batch.dependOn([ACTIVE_HOLDER]);
  add(batch, { journals: [move(b, a)] });
  expect(checkedHolders()).toMatchObject(locked);
  expect(checkedHolders()).toHaveLength(locked.length);
});

test("an owner that is not active, or of which no account changes, is locked", () => {
  holds(0n, false);
  batch.dependOn([ACTIVE_HOLDER]);
  add(batch, { journals: [move(b, a)] });
  expect(checkedHolders()).toMatchObject(isLocked);
  cache = new RowCache(100);
  batch = new Batch(cache, 1);
  holds(0n);
  batch.dependOn([ACTIVE_HOLDER, accountKey(a, USD)]);
  add(batch, { journals: [move(b, "world")] });
  expect(checkedHolders()).toMatchObject(isLocked);
});

test.each([
  ["a rejection", [ACTIVE_HOLDER], "rejected"],
  ["a decision that needs more of it", [{ table: holderTable, key: a }], "accepted"],
] as const)("%s locks an owner, before and after a command that does not", (_what, keys, decision) => {
  for (const order of [0, 1]) {
    cache = new RowCache(100);
    batch = new Batch(cache, 1);
    holds(0n);
    if (order === 0) batch.dependOn(keys, decision);
    batch.dependOn([ACTIVE_HOLDER]);
    add(batch, { journals: [move(b, a)] });
    if (order === 1) batch.dependOn(keys, decision);
    expect(checkedHolders()).toMatchObject(isLocked);
  }
});

test("what deactivates an owner writes it to its accounts in the batch, without a posting or another time", () => {
  holds(0n);
  const BTC = "BTC" as AssetCode;
  batch.dependOn([{ table: holderTable, key: a }, accountKey(a, USD), accountKey(b, USD), accountKey(a, BTC)]);
  const row: Holder = { id: a, isActive: false, lastDeactivation: 6n, version: 5n };
  add(batch, { states: [change(holderTable, row)] });
  const [holders, accounts] = ["holder", "account"].map((name) =>
    batch.close(NOW).states.find(({ table }) => table.name === name),
  );
  expect(holders).toMatchObject({ changed: [{ version: 6n, lastDeactivation: 6n }], checked: [] });
  const was = { ownerId: a, version: 7n, available: amountOf("10"), at: 0, lastDeactivation: 0n };
  expect(accounts).toMatchObject({ changed: [{ ...was, lastDeactivation: 6n }], before: [was], opened: [] });
  expect(accounts?.checked).toMatchObject([{ ownerId: b }]);
  expect(cache.get<Account>(accountTable, accountKey(a, USD).key)?.lastDeactivation).toBe(6n);
});

test("an account that is opened knows of its owner's last deactivation", () => {
  cache.set(holderTable, a, { id: a, isActive: true, lastDeactivation: 4n, version: 5n } as Holder);
  batch.dependOn([ACTIVE_HOLDER]);
  add(batch, { journals: [move("world", a)] });
  const accounts = batch.close(NOW).states.find(({ table }) => table === accountTable);
  const opened = accounts?.opened as Account[];
  expect(opened.map(({ ownerId, lastDeactivation }) => [ownerId === a, lastDeactivation])).toEqual([
    [true, 4n],
    [false, 0n],
  ]);
});

test("a row that was only read is checked, and an absent one is not", () => {
  remember(a, "10", 7n);
  batch.dependOn([accountKey(a, USD), accountKey(b, USD)]);
  const { states } = batch.close(NOW);
  expect(states).toMatchObject([{ opened: [], changed: [], checked: [{ ownerId: a, version: 7n }] }]);
});

test("a row that is read and then changed is not checked as well", () => {
  remember(a, "10", 7n);
  batch.dependOn([accountKey(a, USD)]);
  add(batch, { journals: [move(a, "world")] });
  batch.dependOn([accountKey(a, USD)]);
  const { states } = batch.close(NOW);
  expect(states[0]).toMatchObject({ before: [{ version: 7n }], checked: [] });
});

test("two changes increment a row's version twice, whatever version the rule wrote", () => {
  const id = ids.next();
  cache.set(counterTable, id, { id, count: 1, version: 4n } as Counter);
  batch.dependOn([keyOfCounter(id)]);
  add(batch, { states: [change(counterTable, { id, count: 2, version: 4n })] });
  add(batch, { states: [change(counterTable, { id, count: 3, version: 99n })] });
  const { states } = batch.close(NOW);
  expect(states[0]).toMatchObject({ changed: [{ count: 3, version: 6n }], before: [{ version: 4n }] });
});

test("the postings of an account are never earlier than its last one", () => {
  remember(a, "10", 1n, NOW + 5_000);
  add(batch, { journals: [move(a, b)] });
  const content = batch.close(NOW);
  expect(content.at).toBe(NOW + 5_000);
  expect(postingsOf(content).every(({ at }) => at === formatInstant((NOW + 5_000) as Instant))).toBe(true);
});

test("the time of a batch is the latest of all its accounts, in any order", () => {
  const [early, late] = [NOW + 5_000, NOW + 60_000] as [Instant, Instant];
  for (const [from, to] of [
    [early, late],
    [late, early],
  ] as const) {
    cache = new RowCache(100);
    batch = new Batch(cache, 1);
    remember(a, "10", 7n, from);
    remember(b, "10", 7n, to);
    add(batch, { journals: [move(a, b)] });
    expect(batch.close(NOW).at).toBe(late);
  }
});

test("a batch is inconsistent when adding changes failed half-way", () => {
  remember(a, "1", 1n);
  add(batch, { journals: [move("world", a)] });
  expect(batch.isInconsistent).toBe(false);
  expect(() => add(batch, { journals: [move(a, b, amountOf("5"))] })).toThrow("stays at or above zero");
  expect(batch.isInconsistent).toBe(true);
});

test("the digest covers what is stored, in a canonical order", () => {
  const notes = [ids.next(), ids.next(), ids.next()];
  const journals = [move("world", a), move("world", b)];
  const digests = [notes, [...notes].reverse()].map((order) => {
    const one = new Batch(new RowCache(100), 1);
    add(one, { journals, records: order.map((id) => addition(noteTable, { id })) });
    return one.close(NOW);
  });
  expect(digests[0]?.digest).toEqual(digests[1]?.digest);
  const content = digests[0] as ReturnType<Batch["close"]>;
  expect(contentDigest(content)).toEqual(content.digest);
});

test("the hash of a batch covers names and values in a fixed format", () => {
  const at = 1_700_000_000_000 as Instant;
  const posting: Posting = {
    ownerId: OLD_PROFILE,
    asset: USD,
    version: 7n,
    journalId: OLD_TRANSFER,
    cause: "transfer",
    part: "available",
    amount: amountOf("-1.5"),
    available: amountOf("8.5"),
    trading: ZERO,
    pending: ZERO,
    at,
  };
  const note = { row: { id: OLD_TRANSFER }, caller: 0 };
  const records = [addedRows(noteTable, [note]), addedRows(postingTable, [{ row: posting, caller: undefined }])];
  const digest = contentDigest({ at, records, changes: '{"profile":{"x":"1 y"}}', callers: '[{"house":"engine"}]' });
  const values = ["-1.5", "USD", "2023-11-14T22:13:20.000Z", "8.5", "transfer", OLD_TRANSFER, OLD_PROFILE, "available"];
  const text = [
    "2023-11-14T22:13:20.000Z",
    "note: id caller",
    `=${OLD_TRANSFER}\0=0\0`,
    "posting: amount asset at available cause journal_id owner_id part pending trading version",
    [...values, "0", "0", "7"].map((value) => `=${value}\0`).join(""),
    'changes {"profile":{"x":"1 y"}}',
    'callers [{"house":"engine"}]',
  ].join("\n");
  expect(digest).toEqual(createHash("sha256").update(text).digest());
});

test("the digest depends on every stored value", () => {
  const id = ids.next();
  const transfer = move("world", a);
  const close = (journals: Journal[], count: number, at: number, note: Uuid, caller = ENGINE): string => {
    const one = new Batch(new RowCache(100), 1);
    const states = [change(counterTable, { id, count, version: 0n })];
    add(one, { journals, states, records: [addition(noteTable, { id: note })] }, caller);
    return one.close(at as Instant).digest.toString("hex");
  };
  const more = {
    ...transfer,
    entries: transfer.entries.map((one) => ({ ...one, amount: (one.amount * 2n) as Amount })),
  };
  const digests = [
    close([transfer], 1, NOW, id),
    close([more], 1, NOW, id),
    close([{ ...transfer, cause: "deposit" }], 1, NOW, id),
    close([transfer], 2, NOW, id),
    close([transfer], 1, NOW + 1, id),
    close([transfer], 1, NOW, ids.next()),
    close([transfer], 1, NOW, id, { house: "maker" }),
  ];
  expect(new Set(digests).size).toBe(digests.length);
});

test("what a batch changed is listed by table in key order, and accounts are not", () => {
  const [first, second] = [ids.next(), ids.next()];
  add(batch, {
    journals: [move("world", a)],
    states: [second, first].map((id) => change(counterTable, { id, count: 1, version: 0n })),
  });
  const digest = expect.stringMatching(/^[0-9a-f]{32}$/);
  const opened = (id: Uuid) => ({ key: { id }, version: 1, values: { count: "1" }, digest, callers: [0] });
  expect(JSON.parse(batch.close(NOW).changes ?? "")).toEqual({ counter: [opened(first), opened(second)] });
});

test("each caller occurs once in a batch, and each write refers to its caller by number", () => {
  const [one, other, row] = [ids.next(), ids.next(), ids.next()];
  const request = { token: one, address: "192.0.2.7", operation: "POST /v2/transfer/platform" };
  const acme: ClientCaller = { client: "acme", ...request };
  const globex: ClientCaller = { client: "globex", ...request };
  add(batch, { records: [addition(noteTable, { id: one })] }, acme);
  add(batch, { states: [change(counterTable, { id: row, count: 1, version: 0n })] }, globex);
  add(batch, { records: [addition(noteTable, { id: other })] }, { ...acme });
  add(batch, {}, { house: "settlement" });
  const cancelled = { ...change(counterTable, { id: row, count: 2, version: 1n }), requestedBy: acme };
  add(batch, { states: [cancelled] }, ENGINE);
  const { records, changes, callers } = batch.close(NOW);
  expect(callers).toBe(JSON.stringify([acme, globex, ENGINE]));
  expect(records[0]?.rows.map((texts) => texts.at(-1))).toEqual(["0", "0"]);
  expect(JSON.parse(changes ?? "").counter).toMatchObject([{ key: { id: row }, version: 2, callers: [1, 2, 0] }]);
});

test("a link's hash depends on its predecessor, the slot, the number and the content", () => {
  const content = Buffer.from("content");
  const links = [
    linkHash(NO_HASH, 1, 1n, content),
    linkHash(Buffer.alloc(32, 1), 1, 1n, content),
    linkHash(NO_HASH, 2, 1n, content),
    linkHash(NO_HASH, 1, 2n, content),
    linkHash(NO_HASH, 1, 1n, Buffer.from("other")),
    voidHash(NO_HASH, 1, 1n),
  ].map((hash) => hash.toString("hex"));
  expect(new Set(links).size).toBe(links.length);
  expect(links.every((hash) => hash.length === 64)).toBe(true);
});

test("moving money on an account that the command does not depend on is a bug, found before dispatch", () => {
  batch.dependOn([accountKey(a, USD)]);
  expect(() => batch.add({ journals: [move("world", a)] }, ENGINE)).toThrow("account world/USD depends on it");
  expect(batch.isInconsistent).toBe(true);
});

// In decision order, two nodes that receive the same ref_ids in opposite orders could deadlock.
test("ref_ids are claimed in key order", () => {
  const customerId = ids.next();
  const claim = (refId: string) => ({ customerId, kind: "transfer" as const, refId, id: ids.next() });
  const [third, first, second] = [claim("c"), claim("a"), claim("b")];
  batch.claim(third);
  batch.claim(first, a);
  batch.claim(second);
  expect(batch.close(NOW).claims).toEqual([{ ...first, replaces: a }, second, third]);
});
