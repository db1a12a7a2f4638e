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
import type { Changes, Claim } from "./decision.ts";
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
} from "./rows.ts";

/** A row that the batch rests on: `was` is the number that was decided on, 0 where there was no row. */
interface Held {
  readonly table: AnyStateTable;
  readonly key: string;
  readonly was: bigint;
  row: StateRow;
  changed: boolean;
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

/** What a batch holds when it is closed: everything that the statement is made of. */
export interface BatchContent {
  readonly at: Instant;
  readonly states: readonly TableRows[];
  readonly records: readonly { readonly table: AnyRecordTable; readonly rows: readonly object[] }[];
  readonly claims: readonly (Claim & { readonly replaces?: string })[];
  /** Digests of the state rows as the batch leaves them, or undefined when it changes accounts alone. */
  readonly changes: string | undefined;
  readonly digest: Buffer;
}

export class Batch {
  readonly #memory: Memory;
  readonly #slot: number;
  readonly #held = new Map<string, Held>();
  readonly #records = new Map<AnyRecordTable, object[]>();
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
      if (row !== undefined) this.#held.set(id, { table, key, was: row.seq, row, changed: false });
    }
  }

  /** Takes in what an accepted command changes, and remembers the rows as it leaves them. */
  add(changes: Changes): void {
    this.#adding = true;
    for (const { table, row } of changes.states ?? []) this.#put(table, table.keyOf(row), row);
    for (const { table, row } of changes.records ?? []) this.#rowsOf(table).push(row);
    for (const journal of changes.journals ?? []) this.#post(journal);
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
    const states = groupByTable(held);
    if (this.#postings.length > 0) {
      this.#records.set(
        postingTable,
        this.#postings.map((posting) => ({ ...posting, at })),
      );
    }
    const records = [...this.#records]
      .map(([table, rows]) => ({ table, rows: sorted(table, rows) }))
      .sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
    const changes = digests(states);
    return { at, states, records, claims: this.#claims, changes, digest: contentDigest(at, records, changes) };
  }

  #put(table: AnyStateTable, key: string, row: StateRow): void {
    const held = this.#hold(table, key);
    held.row = { ...row, seq: held.row.seq + 1n };
    held.changed = true;
    this.#memory.set(table, key, held.row);
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
    held = { table, key, was: row.seq, row, changed: false };
    this.#held.set(id, held);
    return held;
  }

  #rowsOf(table: AnyRecordTable): object[] {
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
export function contentDigest(at: Instant, records: BatchContent["records"], changes: string | undefined): Buffer {
  const hash = createHash("sha256").update(formatInstant(at));
  for (const { table, rows } of records) {
    hash.update(`\n${table.name}`);
    for (const row of rows) hash.update(`\n${line(table.columns, row)}`);
  }
  return hash.update(`\nchanges ${changes ?? ""}`).digest();
}

/**
 * Digests of the digested tables' rows, as text with sorted keys: {"conversion":{"<key>":"<seq> <digest>"}}.
 * It is stored as it is hashed.
 */
function digests(states: readonly TableRows[]): string | undefined {
  const tables: Record<string, Record<string, string>> = {};
  for (const { table, opened, changed } of states) {
    if (!table.digested) continue;
    const rows = [...opened, ...changed].map((row): [string, string] => [
      table.keyOf(row),
      `${row.seq} ${digestOf(table, row)}`,
    ]);
    if (rows.length > 0) tables[table.name] = Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  return Object.keys(tables).length === 0 ? undefined : JSON.stringify(tables);
}

const accountOf = (held: Held): Account => held.row as Account;

/** The order in which the statement locks the rows: that of `readKeys`, so that the two do not deadlock. */
function byKey(a: Held, b: Held): number {
  if (a.table !== b.table) return lockRank(a.table) < lockRank(b.table) ? -1 : 1;
  return a.key < b.key ? -1 : 1;
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

function sorted(table: AnyRecordTable, rows: readonly object[]): object[] {
  const keyed = rows.map((row): [string, object] => [table.orderBy(row), row]);
  keyed.sort(([a], [b]) => (a < b ? -1 : 1));
  return keyed.map(([, row]) => row);
}
