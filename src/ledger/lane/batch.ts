/**
 * A batch in the making: the decisions of a group of commands, gathered into what one statement has to check and to
 * write. Each row stands once in it: the number that it had at the start, the state that it has at the end.
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
  type Posting,
  postedAt,
  postingTable,
} from "../accounts.ts";
import { type Caller, Callers } from "../caller.ts";
import type { Changes, Claim } from "../decision.ts";
import {
  type AnyRecordTable,
  type AnyStateTable,
  digestOf,
  inLockOrder,
  type Key,
  keyName,
  line,
  type StateRow,
  type TextRow,
  textRow,
} from "../rows.ts";
import type { Memory } from "./memory.ts";

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

/** Those of one table, in key order. */
interface HeldRows {
  readonly table: AnyStateTable;
  readonly held: readonly Held[];
}

/** Its time is the batch's, which is known when that is closed. */
type PostingInTheMaking = Omit<Posting, "at"> & { at: Instant };

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
  /** By table and key. Undefined: a command has named the row, and memory does not have it. */
  readonly #held = new Map<AnyStateTable, Map<string, Held | undefined>>();
  readonly #records = new Map<AnyRecordTable, { row: object; caller: number }[]>();
  readonly #callers = new Callers();
  readonly #postings: PostingInTheMaking[] = [];
  readonly #claims: (Claim & { readonly replaces?: string })[] = [];
  #adding = false;

  constructor(memory: Memory, slot: number) {
    this.#memory = memory;
    this.#slot = slot;
  }

  /** Notes that a decision rested on these rows. Rows that are not there are not guarded: nobody may rest on that. */
  rest(keys: readonly Key[]): void {
    for (const { table, key } of keys) {
      const rows = this.#heldOf(table);
      if (rows.get(key) !== undefined) continue;
      const row = this.#memory.get<StateRow>(table, key);
      rows.set(key, row && { table, key, was: row.seq, row, changed: false, callers: undefined });
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
   * Gives the batch its time and its digest. The time is the clock's, but never before the last posting of a profile's
   * account that it changes, so that the postings of an account are in the order of their times. A house account that is
   * ahead keeps to its own order alone: it takes part in what everybody does, and would pass its time on to all of them.
   */
  close(clock: Instant): BatchContent {
    const tables = heldRows(this.#held);
    const accounts = tables.flatMap(({ table, held }) => (table === accountTable ? held.filter(hasChanged) : []));
    const profiles = accounts.map(accountOf).filter(({ house }) => house === undefined);
    const at = latest(clock, ...profiles.map((account) => account.at));
    for (const item of accounts) {
      const account = accountOf(item);
      item.row = postedAt(account, latest(at, account.at));
      this.#memory.set(item.table, item.key, item.row);
    }
    for (const posting of this.#postings) posting.at = latest(at, posting.at);
    const records = [...this.#records].map(([table, rows]) => addedRows(table, rows));
    if (this.#postings.length > 0) {
      const postings = this.#postings.map((row) => ({ row, caller: undefined }));
      records.push(addedRows(postingTable, postings));
    }
    records.sort((a, b) => (a.table.name < b.table.name ? -1 : 1));
    const hashed = { at, records, changes: digests(tables), callers: this.#callers.text() };
    return {
      ...hashed,
      states: tables.map(tableRows),
      claims: inKeyOrder(this.#claims),
      digest: contentDigest(hashed),
    };
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
      const isNamed = this.#heldOf(accountTable).has(key);
      assert(isNamed, () => `a command that moves money on account ${key} has named it`);
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
    const rows = this.#heldOf(table);
    const held = rows.get(key);
    if (held !== undefined) return held;
    const row = this.#memory.get<StateRow>(table, key) ?? empty?.() ?? { seq: 0n };
    const taken: Held = { table, key, was: row.seq, row, changed: false, callers: undefined };
    rows.set(key, taken);
    return taken;
  }

  #heldOf(table: AnyStateTable): Map<string, Held | undefined> {
    const rows = this.#held.get(table) ?? new Map<string, Held | undefined>();
    this.#held.set(table, rows);
    return rows;
  }

  #rowsOf(table: AnyRecordTable): { row: object; caller: number }[] {
    const rows = this.#records.get(table) ?? [];
    this.#records.set(table, rows);
    return rows;
  }
}

const latest = (...times: Instant[]): Instant => Math.max(...times) as Instant;

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
function digests(tables: readonly HeldRows[]): string | undefined {
  const changes = tables.flatMap(({ table, held }) => {
    const changed = table.digested ? held.filter(hasChanged) : [];
    return changed.length === 0 ? [] : [[table.name, Object.fromEntries(changed.map(digestOfHeld))]];
  });
  return changes.length === 0 ? undefined : JSON.stringify(Object.fromEntries(changes));
}

function digestOfHeld({ table, key, row, callers = new Set() }: Held): [key: string, digest: string] {
  return [key, [row.seq, digestOf(table, row), ...callers].join(" ")];
}

const accountOf = (held: Held): Account => held.row as Account;

const hasChanged = ({ changed }: Held): boolean => changed;

/** The rows that a batch rests on, in the order in which the statement locks them. */
function heldRows(all: ReadonlyMap<AnyStateTable, ReadonlyMap<string, Held | undefined>>): HeldRows[] {
  return inLockOrder(all).map(([table, rows]) => {
    const held = [...rows.values()].filter((item) => item !== undefined);
    return { table, held: held.sort((a, b) => (a.key < b.key ? -1 : 1)) };
  });
}

/** As the rows: two nodes that are sent the same ref_ids wait for each other instead of deadlocking. */
function inKeyOrder<One extends Claim>(claims: readonly One[]): One[] {
  return [...claims].sort(
    (a, b) => order(a.customerId, b.customerId) || order(a.kind, b.kind) || order(a.refId, b.refId),
  );
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

function tableRows({ table, held }: HeldRows): TableRows {
  const changed = held.filter((item) => item.changed && item.was > 0n);
  return {
    table,
    opened: held.filter((item) => item.changed && item.was === 0n).map((item) => item.row),
    changed: changed.map((item) => item.row),
    changedWas: changed.map((item) => item.was),
    checked: held.filter((item) => !item.changed).map((item) => item.row),
  };
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
