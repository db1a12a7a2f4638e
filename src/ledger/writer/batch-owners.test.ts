/** How a batch guards the owners of accounts (docs/decisions/0004-profiles-are-guarded-by-a-share-lock.md). */
import { beforeEach, expect, test } from "vitest";
import { add, commandOn, ENGINE, move, rememberAccount } from "../../../test/support/batches.ts";
import { amountOf } from "../../money/amount.ts";
import { type AssetCode, USD } from "../../money/asset.ts";
import type { Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import { type Account, accountKey, accountTable, type ProfileId } from "../accounts.ts";
import { bigintColumn, booleanColumn, changing, key, uuidColumn, versionColumn } from "../columns.ts";
import { accept } from "../decision.ts";
import { change, type Key, type StateRow, stateTable } from "../tables.ts";
import { Batch } from "./batch.ts";
import { Decider } from "./decider.ts";
import { BOUNDS } from "./lane-options.ts";
import { RowCache } from "./reading/row-cache.ts";

const ids = new IdSource();
const [a, b] = [ids.next(), ids.next()] as [Uuid & ProfileId, Uuid & ProfileId];
const NOW = 1_000_000 as Instant;

let cache: RowCache;
let batch: Batch;
beforeEach(() => {
  cache = new RowCache(100_000);
  batch = new Batch(cache, 1);
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

/** What a deactivation makes of the owner at version 5. */
const INACTIVE_HOLDER: Holder = { id: a, isActive: false, lastDeactivation: 6n, version: 5n };

/** Owner `a` at version 5, and its account, which knows of this deactivation; undefined: there is none. */
function holds(deactivation: bigint | undefined, isActive = true): void {
  cache.set(holderTable, a, { id: a, isActive, lastDeactivation: 0n, version: 5n } as Holder);
  rememberAccount(cache, b, "10", 3n);
  if (deactivation === undefined) return;
  const account = { ...rememberAccount(cache, a, "10", 7n), lastDeactivation: deactivation };
  cache.set(accountTable, accountKey(a, USD).key, account);
}

const ACTIVE_HOLDER = { table: holderTable, key: a, reads: "that it is active" } as const;
const holders = () => batch.close(NOW).states.find(({ table }) => table === holderTable);
const checkedHolders = () => holders()?.checked;
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
  cache = new RowCache(100_000);
  batch = new Batch(cache, 1);
  holds(0n);
  batch.dependOn([ACTIVE_HOLDER, accountKey(a, USD)]);
  add(batch, { journals: [move(b, "world")] });
  expect(checkedHolders()).toMatchObject(isLocked);
});

test("a decision that needs more of an owner locks it, before and after a command that does not", () => {
  for (const order of [0, 1]) {
    cache = new RowCache(100_000);
    batch = new Batch(cache, 1);
    holds(0n);
    if (order === 0) batch.dependOn([{ table: holderTable, key: a }]);
    batch.dependOn([ACTIVE_HOLDER]);
    add(batch, { journals: [move(b, a)] });
    if (order === 1) batch.dependOn([{ table: holderTable, key: a }]);
    expect(holders()).toMatchObject({ checked: isLocked, seen: [] });
  }
});

test("a rejection locks nothing that it saw, and an owner that an accepted command locks is not compared twice", () => {
  const seen = { table: holderTable, key: a };
  for (const [keys, expected] of [
    [[], { checked: [], seen: isLocked }],
    [[ACTIVE_HOLDER], { checked: isLocked, seen: [] }],
    [[seen], { checked: isLocked, seen: [] }],
  ] as const) {
    for (const order of [0, 1]) {
      cache = new RowCache(100_000);
      batch = new Batch(cache, 1);
      holds(0n);
      if (order === 0) batch.dependOn([seen], "rejected");
      batch.dependOn(keys);
      if (order === 1) batch.dependOn([seen], "rejected");
      expect(holders()).toMatchObject(expected);
    }
  }
});

test("of a group of commands, one that is rejected has seen an owner whose account another one changes", () => {
  const owner: Holder = { id: a, isActive: true, lastDeactivation: 0n, version: 5n };
  const accounts = [a, b].map((id) => rememberAccount(cache, id, "10", 3n));
  const keys = [ACTIVE_HOLDER, accountKey(a, USD), accountKey(b, USD)];
  const rows = [owner, ...accounts].map((row, i) => ({ ...(keys[i] as Key), row }));
  const accepted = commandOn([], 0, { dependsOn: keys, decide: () => accept("moved", { journals: [move(b, a)] }) });
  const rejected = commandOn([], 0, { dependsOn: [ACTIVE_HOLDER], decide: () => reject({ code: "unknown_asset" }) });
  for (const [group, seen] of [
    [[accepted], []],
    [[accepted, rejected], isLocked],
    [[rejected, accepted], isLocked],
  ] as const) {
    const decider = new Decider(BOUNDS);
    decider.remember(keys, rows, []);
    const { batch: decided } = decider.decide(group, 1, NOW);
    const found = decided?.content.states.find(({ table }) => table === holderTable);
    expect(found).toMatchObject({ checked: [], seen });
  }
});

test("what deactivates an owner writes it to its accounts in the batch, without a posting or another time", () => {
  holds(0n);
  const BTC = "BTC" as AssetCode;
  const keys = [{ table: holderTable, key: a }, accountKey(a, USD), accountKey(b, USD), accountKey(a, BTC)];
  add(batch, { states: [change(holderTable, INACTIVE_HOLDER)] }, ENGINE, keys);
  const { states, deactivated } = batch.close(NOW);
  const [holders, accounts] = ["holder", "account"].map((name) => states.find(({ table }) => table.name === name));
  expect(deactivated).toEqual([{ ownerId: a, accounts: 1 }]);
  expect(holders).toMatchObject({ changed: [{ version: 6n, lastDeactivation: 6n }], checked: [] });
  const was = { ownerId: a, version: 7n, available: amountOf("10"), at: 0, lastDeactivation: 0n };
  expect(accounts).toMatchObject({ changed: [{ ...was, lastDeactivation: 6n }], before: [was], opened: [] });
  expect(accounts?.checked).toMatchObject([{ ownerId: b }]);
  expect(cache.get<Account>(accountTable, accountKey(a, USD).key)?.lastDeactivation).toBe(6n);
});

test.each([
  ["opened", undefined],
  ["changed", 0n],
])(
  "a command may not deactivate an owner of which another command has %s an account that it does not name",
  (_, known) => {
    holds(known);
    add(batch, { journals: [move("world", a)] });
    const keys = [{ table: holderTable, key: a }, accountKey(a, "BTC" as AssetCode)];
    const deactivate = () => add(batch, { states: [change(holderTable, INACTIVE_HOLDER)] }, ENGINE, keys);
    expect(deactivate).toThrow(`a command that deactivates ${a} depends on its accounts`);
    expect(batch.isInconsistent).toBe(true);
  },
);

test("an owner that is opened is not one that is deactivated", () => {
  const row: Holder = { id: a, isActive: true, lastDeactivation: 0n, version: 0n };
  add(batch, { states: [change(holderTable, row)] });
  expect(batch.close(NOW).deactivated).toEqual([]);
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
