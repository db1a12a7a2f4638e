import { createHash } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { add, ENGINE, move, rememberAccount } from "../../../test/support/batches.ts";
import { type Amount, amountOf, ZERO } from "../../money/amount.ts";
import { USD } from "../../money/asset.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import {
  type Account,
  accountKey,
  accountTable,
  type Journal,
  type Owner,
  type Posting,
  type ProfileId,
  postingTable,
} from "../accounts.ts";
import type { ClientCaller } from "../caller.ts";
import { changing, countColumn, key, uuidColumn, versionColumn } from "../columns.ts";
import { addition, change, recordTable, type StateRow, stateTable } from "../tables.ts";
import { addedRows, Batch, contentDigest, guardsOf, linkHash, NO_HASH, voidHash } from "./batch.ts";
import { RowCache } from "./reading/row-cache.ts";

const ids = new IdSource();
const [a, b] = [ids.next(), ids.next()] as [Uuid & ProfileId, Uuid & ProfileId];
const NOW = 1_000_000 as Instant;
const OLD_PROFILE = "0190d5a4-1111-7000-8000-000000000004" as Uuid;
const OLD_TRANSFER = "0190d5a4-2222-7000-8000-000000000006" as Uuid;

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
  cache = new RowCache(100_000);
  batch = new Batch(cache, 1);
});

const remember = (owner: Owner, available: string, version: bigint, at = 0): Account =>
  rememberAccount(cache, owner, available, version, at);

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
    opened: [{ ownerId: b, available: amountOf("1"), version: 3n, at: NOW }],
    checked: [],
  });
  const numbers = postingsOf(content).map(({ owner_id, version }) => `${owner_id === a ? "a" : "b"}${version}`);
  expect(numbers).toEqual(["a8", "a9", "a10", "b1", "b2", "b3"]);
  expect([...guardsOf(content).values()].sort()).toEqual([0n, 7n]);
  expect(cache.get<Account>(accountTable, accountKey(a, USD).key)).toMatchObject({ version: 10n, at: NOW });
});

test("a row that was only read is checked, and an absent one is not", () => {
  remember(a, "10", 7n);
  batch.dependOn([accountKey(a, USD), accountKey(b, USD)]);
  const { states } = batch.close(NOW);
  expect(states).toMatchObject([{ opened: [], changed: [], checked: [{ ownerId: a, version: 7n }] }]);
});

test("a row that was only read, or seen by a rejection, has the version in which it was", () => {
  remember(a, "10", 7n);
  remember(b, "10", 3n);
  batch.dependOn([accountKey(a, USD)]);
  batch.dependOn([accountKey(b, USD)], "rejected");
  const versions = [7n, 3n].map((version, i) => [`account/${[a, b][i]}/USD`, version] as const);
  expect(guardsOf(batch.close(NOW))).toEqual(new Map(versions));
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
    cache = new RowCache(100_000);
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
    const one = new Batch(new RowCache(100_000), 1);
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
    const one = new Batch(new RowCache(100_000), 1);
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
