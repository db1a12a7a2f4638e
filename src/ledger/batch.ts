/**
 * A batch in the making: the decisions of a group of commands, gathered into what one statement has to check and to
 * write. Each row stands once in it: the number that it had at the start, the state that it has at the end.
 */
import { createHash } from "node:crypto";
import { assert } from "../std/assert.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import {
  type Account,
  accountKey,
  accountTable,
  applyEntry,
  emptyAccount,
  type Journal,
  type Posting,
  postingTable,
} from "./accounts.ts";
import { type Caller, Callers } from "./caller.ts";
import { type Changes, type Claim, claimKey } from "./decision.ts";
import type { Memory } from "./memory.ts";
import {
  type AnyRecordTable,
  type AnyStateTable,
  digestOf,
  type Key,
  keyName,
  line,
  lockRank,
  type StateRow,
  type TextRow,
  textRow,
} from "./rows.ts";

/** A row that the batch rests on: `was` is the number that was decided on, 0 where there was no row. */
interface Held {
  readonly table: AnyStateTable;
  readonly key: string;
  readonly was: bigint;
  row: StateRow;
  changed: boolean;
  /** The numbers of the callers who asked for its changes. */
  callers: Set<number> | undefined;
}

/** The rows of one table that a batch checks or writes, in key order. */
export interface TableRows {
  readonly table: AnyStateTable;
  readonly opened: readonly StateRow[];
  readonly changed: readonly StateRow[];
  /** The numbers that the changed rows had. */
  readonly changedWas: readonly bigint[];
  readonly checked: readonly StateRow[];
}

/** A row to add, turned into text once: for the statement, and for the hash. */
export interface AddedRow {
  readonly texts: TextRow;
  /** The number of the caller who asked for it; null where the table tells none. */
  readonly caller: string | null;
}

/** The rows that a batch adds to one table, in the order in which they are hashed. */
export interface AddedRows {
  readonly table: AnyRecordTable;
  readonly rows: readonly AddedRow[];
}

/** What of a batch its hash covers, besides its place in the chain. */
export interface HashedContent {
  readonly at: Instant;
  /** By the names of their tables. */
  readonly records: readonly AddedRows[];
  /** Digests of the state rows as the batch leaves them, or undefined when it changes accounts alone. */
  readonly changes: string | undefined;
  /** Undefined: it writes nothing, or was written before callers were kept. */
  readonly callers: string | undefined;
}

/** What a batch holds when it is closed: everything that the statement is made of. */
export interface BatchContent extends HashedContent {
  readonly states: readonly TableRows[];
  readonly claims: readonly (Claim & { readonly replaces?: string })[];
  readonly digest: Buffer;
}

export class Batch {
  readonly #memory: Memory;
  readonly #slot: number;
  readonly #held = new Map<string, Held>();
  readonly #records = new Map<AnyRecordTable, { row: object; caller: number }[]>();
  readonly #callers = new Callers();
  readonly #postings: Posting[] = [];
  readonly #claims: (Claim & { readonly replaces?: string })[] = [];
  /** Rows that a command has named: only those are known to be missing when memory does not have them. */
  readonly #named = new Set<string>();
  #adding = false;

  constructor(memory: Memory, slot: number) {
    this.#memory = memory;
    this.#slot = slot;
  }

  /** Notes that a decision rested on these rows. Rows that are not there are not guarded: nobody may rest on that. */
  rest(keys: readonly Key[]): void {
    for (const { table, key } of keys) {
      const id = keyName({ table, key });
      this.#named.add(id);
      if (this.#held.has(id)) continue;
      const row = this.#memory.get<StateRow>(table, key);
      if (row !== undefined) this.#held.set(id, { table, key, was: row.seq, row, changed: false, callers: undefined });
    }
  }

  /** Takes in what an accepted command changes, and remembers the rows as it leaves them. */
  add({ states = [], records = [], journals = [] }: Changes, by: Caller): void {
    if (states.length + records.length + journals.length === 0) return;
    this.#adding = true;
    const caller = this.#callers.numberOf(by);
    for (const { table, row, askedBy } of states) {
      const held = this.#put(table, table.keyOf(row), row);
      held.callers ??= new Set();
      held.callers.add(caller);
      if (askedBy !== undefined) held.callers.add(this.#callers.numberOf(askedBy));
    }
    for (const { table, row } of records) this.#rowsOf(table).push({ row, caller });
    for (const journal of journals) this.#post(journal);
    this.#adding = false;
  }

  /** Whether adding a command's changes broke off half-way: the batch and the memory are of no use any more. */
  get spoilt(): boolean {
    return this.#adding;
  }

  claim(claim: Claim, replaces?: string): void {
    this.#claims.push(replaces === undefined ? claim : { ...claim, replaces });
  }

  /**
   * Gives the batch its time and its digest. The time is the clock's, but never before the last posting of an account
   * that it changes or the batch before it, so that the postings of an account are in the order of their times.
   */
  close(clock: Instant): BatchContent {
    const held = [...this.#held.values()].sort(byKey);
    const accounts = held.filter((item) => item.table === accountTable && item.changed);
    const at = Math.max(clock, ...accounts.map((item) => accountOf(item).at)) as Instant;
    for (const item of accounts) {
      const row: Account = { ...accountOf(item), at };
      item.row = row;
      this.#memory.set(item.table, item.key, row);
    }
    const records = [...this.#records].map(([table, rows]) => addedRows(table, rows));
    if (this.#postings.length > 0) {
      const postings = this.#postings.map((posting) => ({ row: { ...posting, at }, caller: undefined }));
      records.push(addedRows(postingTable, postings));
    }
    records.sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
    const hashed = { at, records, changes: digests(held), callers: this.#callers.text() };
    return { ...hashed, states: groupByTable(held), claims: inKeyOrder(this.#claims), digest: contentDigest(hashed) };
  }

  #put(table: AnyStateTable, key: string, row: StateRow): Held {
    const held = this.#hold(table, key);
    held.row = { ...row, seq: held.row.seq + 1n };
    held.changed = true;
    this.#memory.set(table, key, held.row);
    return held;
  }

  #post(journal: Journal): void {
    for (const entry of journal.entries) {
      const { key } = accountKey(entry.owner, entry.asset);
      const named = this.#named.has(keyName({ table: accountTable, key }));
      assert(named, `a command that moves money on account ${key} has named it`);
      const held = this.#hold(accountTable, key, () => emptyAccount(entry.owner, entry.asset, this.#slot));
      const account = applyEntry(accountOf(held), entry);
      held.row = account;
      held.changed = true;
      this.#memory.set(accountTable, key, account);
      this.#postings.push({
        ownerId: account.ownerId,
        asset: account.asset,
        seq: account.seq,
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

  #hold(table: AnyStateTable, key: string, empty?: () => StateRow): Held {
    const id = keyName({ table, key });
    let held = this.#held.get(id);
    if (held !== undefined) return held;
    const known = this.#memory.get<StateRow>(table, key);
    const row = known ?? empty?.() ?? { seq: 0n };
    held = { table, key, was: row.seq, row, changed: false, callers: undefined };
    this.#held.set(id, held);
    return held;
  }

  #rowsOf(table: AnyRecordTable): { row: object; caller: number }[] {
    const rows = this.#records.get(table) ?? [];
    this.#records.set(table, rows);
    return rows;
  }
}

/** What the batch was decided on: each row with the number that it had, 0 for one that was not there. */
export function guardsOf(content: BatchContent): Map<string, bigint> {
  const guards = new Map<string, bigint>();
  for (const { table, opened, changed, changedWas, checked } of content.states) {
    const name = (row: StateRow): string => keyName({ table, key: table.keyOf(row) });
    for (const row of opened) guards.set(name(row), 0n);
    for (const [i, row] of changed.entries()) guards.set(name(row), changedWas[i] as bigint);
    for (const row of checked) guards.set(name(row), row.seq);
  }
  return guards;
}

/** The hash of a batch: of its content and of the batch before it. */
export function linkHash(previous: Buffer, slot: number, n: bigint, content: Buffer): Buffer {
  return createHash("sha256").update(previous).update(`${slot}/${n}/`).update(content).digest();
}

/** The hash of a row that takes a number for nothing. */
export function voidHash(previous: Buffer, slot: number, n: bigint): Buffer {
  return linkHash(previous, slot, n, Buffer.from("void"));
}

/** What the chain starts from. */
export const NO_HASH = Buffer.alloc(32);

/**
 * The digest of a batch's content. It is made of what the append-only tables keep and of `changes`, so that it can be
 * made again from the database: rows in the order of `orderBy`, tables by name.
 */
export function contentDigest({ at, records, changes, callers }: HashedContent): Buffer {
  let text = formatInstant(at);
  for (const { table, rows } of records) {
    text += `\n${table.name}`;
    for (const { texts, caller } of rows) text += `\n${line(texts)}${caller ?? ""}`;
  }
  text += `\nchanges ${changes ?? ""}`;
  // A batch from before callers were kept hashes to what it did then.
  if (callers !== undefined) text += `\ncallers ${callers}`;
  return createHash("sha256").update(text).digest();
}

/**
 * Digests of the digested tables' rows, as text with sorted keys, each with the numbers of the callers who asked for the
 * changes: {"conversion":{"<key>":"<seq> <digest> 0 2"}}. It is stored as it is hashed.
 */
function digests(held: readonly Held[]): string | undefined {
  const tables: Record<string, Record<string, string>> = {};
  for (const { table, key, row, changed, callers } of held) {
    if (!table.digested || !changed) continue;
    tables[table.name] ??= {};
    (tables[table.name] as Record<string, string>)[key] = [row.seq, digestOf(table, row), ...(callers ?? [])].join(" ");
  }
  return Object.keys(tables).length === 0 ? undefined : JSON.stringify(tables);
}

const accountOf = (held: Held): Account => held.row as Account;

/** The order in which the statement locks the rows: that of `readKeys`, so that the two do not deadlock. */
function byKey(a: Held, b: Held): number {
  if (a.table !== b.table) return lockRank(a.table) < lockRank(b.table) ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

/** As the rows: two nodes that are sent the same ref_ids wait for each other instead of deadlocking. */
function inKeyOrder<One extends Claim>(claims: readonly One[]): One[] {
  const keyed = claims.map((claim) => ({ claim, key: claimKey(claim) }));
  return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ claim }) => claim);
}

function groupByTable(held: readonly Held[]): TableRows[] {
  const tables = new Map<AnyStateTable, Held[]>();
  for (const item of held) {
    const group = tables.get(item.table);
    if (group === undefined) tables.set(item.table, [item]);
    else group.push(item);
  }
  return [...tables].map(([table, rows]) => {
    const changed = rows.filter((item) => item.changed && item.was > 0n);
    return {
      table,
      opened: rows.filter((item) => item.changed && item.was === 0n).map((item) => item.row),
      changed: changed.map((item) => item.row),
      changedWas: changed.map((item) => item.was),
      checked: rows.filter((item) => !item.changed).map((item) => item.row),
    };
  });
}

/** Sorts the rows of one table of a batch, and turns them into text. */
export function addedRows(
  table: AnyRecordTable,
  rows: readonly { readonly row: object; readonly caller: number | undefined }[],
): AddedRows {
  const keyed = rows.map((added) => ({ added, key: table.orderBy(added.row) }));
  keyed.sort((a, b) => (a.key < b.key ? -1 : 1));
  const texts = keyed.map(({ added: { row, caller } }) => ({
    texts: textRow(table.columns, row),
    caller: table.tellsCaller && caller !== undefined ? String(caller) : null,
  }));
  return { table, rows: texts };
}
