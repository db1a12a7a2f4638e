/**
 * Builds a batch: collects the decisions of a group of commands into what one statement has to check and write. Each
 * row occurs once, with its version before the batch and its state after it.
 */
import { createHash } from "node:crypto";
import { assert } from "../../std/assert.ts";
import { formatInstant, type Instant } from "../../std/clock.ts";
import {
  type Account,
  accountKey,
  accountTable,
  applyEntry,
  emptyAccount,
  type Journal,
  type Owner,
  type Posting,
  postedAt,
  postingTable,
} from "../accounts.ts";
import { type Caller, Callers } from "../caller.ts";
import { changeText } from "../change-history.ts";
import type { Changes, Claim } from "../decision.ts";
import {
  type AnyRecordTable,
  type AnyStateTable,
  type Column,
  hashedText,
  type Key,
  keyName,
  type StateRow,
  type TextRow,
  textRow,
} from "../tables.ts";
import {
  type BatchRow,
  hasChanged,
  type RowsOfTable,
  rowsInLockOrder,
  standInsOf,
  type TableRows,
  tableRows,
} from "./batch-rows.ts";
import type { RowCache } from "./reading/row-cache.ts";

/** Its time is set when the batch is closed. */
type DraftPosting = Omit<Posting, "at"> & { at: Instant };

/** The rows that a batch inserts into one table, in hash order, formatted once for both the statement and the hash. */
export interface AddedRows {
  readonly table: AnyRecordTable;
  readonly columns: readonly Named[];
  readonly rows: readonly TextRow[];
}

type Named = Pick<Column<never>, "name" | "type">;

/** The number of the caller who requested a record. */
const CALLER: Named = { name: "caller", type: "smallint" };

/** What a batch's hash covers, besides its position in the chain. */
export interface HashedContent {
  readonly at: Instant;
  /** Sorted by table name. */
  readonly records: readonly AddedRows[];
  /** What it made of rows that change; undefined when it changes nothing but accounts. */
  readonly changes: string | undefined;
  /** Undefined: it writes nothing that a caller requested. */
  readonly callers: string | undefined;
}

/** A closed batch: everything that the statement is built from. */
export interface BatchContent extends HashedContent {
  readonly states: readonly TableRows[];
  /** Owners that it deactivates, and how many accounts each of them has. */
  readonly deactivated: readonly DeactivatedOwner[];
  readonly claims: readonly (Claim & { readonly replaces?: string })[];
  readonly digest: Buffer;
}

export interface DeactivatedOwner {
  readonly ownerId: string;
  readonly accounts: number;
}

export class Batch {
  readonly #cache: RowCache;
  readonly #slot: number;
  /** By table and key. Undefined: a command depends on the row, but it is not cached. */
  readonly #rows = new Map<AnyStateTable, Map<string, BatchRow | undefined>>();
  readonly #records = new Map<AnyRecordTable, { row: object; caller: number }[]>();
  readonly #callers = new Callers();
  readonly #postings: DraftPosting[] = [];
  readonly #claims: (Claim & { readonly replaces?: string })[] = [];
  readonly #deactivated = new Map<string, number>();
  #adding = false;

  constructor(cache: RowCache, slot: number) {
    this.#cache = cache;
    this.#slot = slot;
  }

  /**
   * Guards the rows that a decision depended on. Absent rows cannot be guarded; rules about absence need `lock`. A rejection
   * changes nothing, so it is right if its rows were at one moment as it saw them, and locks none.
   */
  dependOn(keys: readonly Key[], decision: "accepted" | "rejected" = "accepted"): void {
    for (const { table, key, reads } of keys) {
      const rows = this.#rowsOfTable(table);
      if (!rows.has(key)) {
        const row = this.#cache.get<StateRow>(table, key);
        rows.set(key, row && unchangedRow(table, key, row));
      }
      const known = rows.get(key);
      if (known === undefined) continue;
      if (decision === "rejected" || reads === "as it was") known.seen = true;
      else if (reads === "that it is active") known.needed ??= reads;
      else known.needed = "all of it";
    }
  }

  /**
   * Adds the changes of an accepted command, and updates the cache.
   * @param dependsOn the command's; a deactivation names the owner's accounts in it
   */
  add({ states = [], records = [], journals = [] }: Changes, by: Caller, dependsOn: readonly Key[] = []): void {
    if (states.length + records.length + journals.length === 0) return;
    this.#adding = true;
    const caller = this.#callers.numberOf(by);
    for (const { table, row, requestedBy } of states) {
      const batchRow = this.#put(table, table.keyOf(row), row, dependsOn);
      batchRow.callers ??= new Set();
      batchRow.callers.add(caller);
      if (requestedBy !== undefined) batchRow.callers.add(this.#callers.numberOf(requestedBy));
    }
    for (const { table, row } of records) this.#recordsOfTable(table).push({ row, caller });
    for (const journal of journals) this.#post(journal);
    this.#adding = false;
  }

  /** Whether adding a command's changes failed half-way: the batch and the cache must be discarded. */
  get isInconsistent(): boolean {
    return this.#adding;
  }

  /** Stores a claim that no unique index of its record's table keeps. */
  claim(claim: Claim, replaces?: string): void {
    if (claim.keptBy === undefined) this.#claims.push(replaces === undefined ? claim : { ...claim, replaces });
  }

  /**
   * Gives the batch its time and its digest. The time is the clock's, but never before the last posting of a profile
   * account that it changes, so that an account's postings are in time order. A house account that is ahead only keeps
   * its own postings in order: it is shared by all, and would spread its time to every account.
   */
  close(clock: Instant): BatchContent {
    const tables = rowsInLockOrder(this.#rows);
    const accounts = tables.flatMap(({ table, rows }) => (table === accountTable ? rows.filter(hasChanged) : []));
    const posted = accounts.filter(({ row, before }) => row.version > before.version);
    const profiles = posted.map(accountOf).filter(({ house }) => house === undefined);
    const at = latest(clock, ...profiles.map((account) => account.at));
    for (const item of posted) {
      const account = accountOf(item);
      item.row = postedAt(account, latest(at, account.at));
      this.#cache.set(item.table, item.key, item.row);
    }
    for (const posting of this.#postings) posting.at = latest(at, posting.at);
    const records = [...this.#records].map(([table, rows]) => addedRows(table, rows));
    if (this.#postings.length > 0) {
      const postings = this.#postings.map((row) => ({ row, caller: undefined }));
      records.push(addedRows(postingTable, postings));
    }
    records.sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
    const hashed = { at, records, changes: changesText(tables), callers: this.#callers.text() };
    const standIns = standInsOf(accounts);
    return {
      ...hashed,
      states: tables.map((rows) => tableRows(rows, standIns)),
      deactivated: [...this.#deactivated].map(([ownerId, accounts]) => ({ ownerId, accounts })),
      claims: inKeyOrder(this.#claims),
      digest: contentDigest(hashed),
    };
  }

  #put(table: AnyStateTable, key: string, row: StateRow, dependsOn: readonly Key[]): BatchRow {
    const batchRow = this.#rowFor(table, key);
    const { owner } = table;
    const isNew = batchRow.row.version === 0n;
    if (owner !== undefined && !isNew && owner.lastDeactivation(row) !== owner.lastDeactivation(batchRow.row))
      this.#markAccounts(key, owner.lastDeactivation(row), new Set(dependsOn.map(keyName)));
    batchRow.row = { ...row, version: batchRow.row.version + 1n };
    batchRow.changed = true;
    this.#cache.set(table, key, batchRow.row);
    return batchRow;
  }

  /**
   * A command that deactivates an owner depends on all of its accounts, so that none of them has money that it does not
   * see. The database counts them, because this process may not know each asset.
   */
  #markAccounts(ownerId: string, lastDeactivation: bigint, named: ReadonlySet<string>): void {
    let accounts = 0;
    for (const batchRow of this.#rowsOfTable(accountTable).values()) {
      if (batchRow === undefined || accountOf(batchRow).ownerId !== ownerId) continue;
      assert(named.has(keyName(batchRow)), () => `a command that deactivates ${ownerId} depends on its accounts`);
      if (batchRow.before.version > 0n) accounts += 1;
      batchRow.row = { ...accountOf(batchRow), lastDeactivation } as Account;
      batchRow.changed = true;
      this.#cache.set(accountTable, batchRow.key, batchRow.row);
    }
    // If a batch deactivates it twice, each time all accounts that there were before the batch.
    if (!this.#deactivated.has(ownerId)) this.#deactivated.set(ownerId, accounts);
  }

  #post(journal: Journal): void {
    for (const entry of journal.entries) {
      const { key } = accountKey(entry.owner, entry.asset);
      const isNamed = this.#rowsOfTable(accountTable).has(key);
      assert(isNamed, () => `a command that moves money on account ${key} depends on it`);
      const batchRow = this.#rowFor(accountTable, key, () =>
        emptyAccount(entry.owner, entry.asset, this.#slot, this.#lastDeactivationOf(entry.owner)),
      );
      const account = applyEntry(accountOf(batchRow), entry);
      batchRow.row = account;
      batchRow.changed = true;
      this.#cache.set(accountTable, key, account);
      this.#postings.push({
        ownerId: account.ownerId,
        asset: account.asset,
        version: account.version,
        journalId: journal.id,
        cause: journal.cause,
        part: entry.part,
        amount: entry.amount,
        available: account.available,
        trading: account.trading,
        pending: account.pending,
        at: account.at,
      });
    }
  }

  /** Of the profile, which a command that opens an account depends on. */
  #lastDeactivationOf(owner: Owner): bigint {
    for (const [table, rows] of this.#rows) {
      const row = table.owner === undefined ? undefined : rows.get(owner)?.row;
      if (row !== undefined) return table.owner?.lastDeactivation(row) ?? 0n;
    }
    return 0n;
  }

  #rowFor(table: AnyStateTable, key: string, empty?: () => StateRow): BatchRow {
    const rows = this.#rowsOfTable(table);
    const existing = rows.get(key);
    if (existing !== undefined) return existing;
    const row = this.#cache.get<StateRow>(table, key) ?? empty?.() ?? { version: 0n };
    const taken = unchangedRow(table, key, row);
    rows.set(key, taken);
    return taken;
  }

  #rowsOfTable(table: AnyStateTable): Map<string, BatchRow | undefined> {
    const rows = this.#rows.get(table) ?? new Map<string, BatchRow | undefined>();
    this.#rows.set(table, rows);
    return rows;
  }

  #recordsOfTable(table: AnyRecordTable): { row: object; caller: number }[] {
    const rows = this.#records.get(table) ?? [];
    this.#records.set(table, rows);
    return rows;
  }
}

function unchangedRow(table: AnyStateTable, key: string, row: StateRow): BatchRow {
  return { table, key, before: row, row, changed: false, needed: undefined, seen: false, callers: undefined };
}

const latest = (...times: Instant[]): Instant => Math.max(...times) as Instant;

/** Of all rows that it writes or depends on. */
export const keysOf = ({ states }: BatchContent): Key[] =>
  states.flatMap(({ table, opened, changed, checked, seen }) => [
    ...[...opened, ...changed].map((row) => ({ table, key: table.keyOf(row) })),
    ...checked.map((row) => ({ table, key: table.keyOf(row), reads: "all of it" as const })),
    ...seen.map((row) => ({ table, key: table.keyOf(row), reads: "as it was" as const })),
  ]);

/** The versions that the batch was decided on, by key name; 0 for a row that did not exist. */
export function guardsOf(content: BatchContent): Map<string, bigint> {
  const guards = new Map<string, bigint>();
  for (const { table, opened, changed, before, checked, seen } of content.states) {
    const name = (row: StateRow): string => keyName({ table, key: table.keyOf(row) });
    for (const row of opened) guards.set(name(row), 0n);
    for (const [i, row] of changed.entries()) guards.set(name(row), before[i]?.version ?? 0n);
    for (const row of [...checked, ...seen]) guards.set(name(row), row.version);
  }
  return guards;
}

/** The hash of a batch, which covers its content and its predecessor. */
export function linkHash(previous: Buffer, slot: number, n: bigint, content: Buffer): Buffer {
  return createHash("sha256").update(previous).update(`${slot}/${n}/`).update(content).digest();
}

/** The hash of a void batch, which takes up a number without content. */
export function voidHash(previous: Buffer, slot: number, n: bigint): Buffer {
  return linkHash(previous, slot, n, Buffer.from("void"));
}

/** The predecessor of a chain's first batch. */
export const NO_HASH = Buffer.alloc(32);

/**
 * The digest of a batch's content. It covers the rows of the append-only tables and `changes`, so that it can be
 * recomputed from the database: rows in `orderBy` order, tables by name.
 */
export function contentDigest({ at, records, changes, callers }: HashedContent): Buffer {
  let text = formatInstant(at);
  for (const { table, columns, rows } of records) text += hashedText(table.name, columns, rows);
  text += `\nchanges ${changes ?? ""}`;
  // Part of the format: a batch without callers has no such line.
  if (callers !== undefined) text += `\ncallers ${callers}`;
  return createHash("sha256").update(text).digest();
}

/** The changes of rows in digested tables, in key order. This exact text is stored and hashed. */
function changesText(tables: readonly RowsOfTable[]): string | undefined {
  const changes = tables.flatMap(({ table, rows }) => {
    const changed = table.digested ? rows.filter(hasChanged) : [];
    const texts = changed.map(({ before, row, callers }) =>
      changeText(table, before.version > 0n ? before : undefined, row, callers ?? []),
    );
    return texts.length === 0 ? [] : [`"${table.name}":[${texts}]`];
  });
  return changes.length === 0 ? undefined : `{${changes}}`;
}

const accountOf = (batchRow: BatchRow): Account => batchRow.row as Account;

/** Two nodes that receive the same ref_ids wait for each other instead of deadlocking. */
function inKeyOrder<One extends Claim>(claims: readonly One[]): One[] {
  return [...claims].sort(
    (a, b) => order(a.customerId, b.customerId) || order(a.kind, b.kind) || order(a.refId, b.refId),
  );
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Sorts and formats the rows of one table. */
export function addedRows(
  table: AnyRecordTable,
  rows: readonly { readonly row: object; readonly caller: number | undefined }[],
): AddedRows {
  const keyed = rows.map(({ row, caller }) => {
    const texts = textRow(table.columns, row);
    if (table.hasCaller) texts.push(caller === undefined ? null : String(caller));
    return { key: table.orderBy(row), texts };
  });
  return inHashOrder(table, keyed);
}

/** @param rows the texts of a row each, with that of its caller if the table has callers */
export function inHashOrder(
  table: AnyRecordTable,
  rows: readonly { readonly key: string; readonly texts: TextRow }[],
): AddedRows {
  const columns = table.hasCaller ? [...table.columns, CALLER] : table.columns;
  const sorted = rows.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return { table, columns, rows: sorted.map(({ texts }) => texts) };
}
