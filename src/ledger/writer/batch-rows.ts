/** The rows that a batch checks or changes, and what of them its statement has to guard. */
import type { Account } from "../accounts.ts";
import { type AnyStateTable, type AnyVersionedTable, inLockOrder, type Projection, type StateRow } from "../tables.ts";

/** A row that the batch depends on. */
export interface BatchRow {
  readonly table: AnyStateTable;
  readonly key: string;
  /** As it was decided on; of version 0 if there was no row. */
  readonly before: StateRow;
  row: StateRow;
  changed: boolean;
  /** What an accepted command needs of it until the commit; undefined: none depends on it. */
  needed: "that it is active" | "all of it" | undefined;
  /** Whether a decision depends on what it was: a rejection, or one that needs no more. */
  seen: boolean;
  /** The numbers of the callers who requested its changes. */
  callers: Set<number> | undefined;
}

/** In key order. */
export interface RowsOfTable {
  readonly table: AnyStateTable;
  readonly rows: readonly BatchRow[];
}

/** The rows of one table that a batch writes, in key order. */
export interface WrittenRows {
  readonly table: AnyVersionedTable;
  readonly opened: readonly StateRow[];
  readonly changed: readonly StateRow[];
  /** The changed rows as they were before. */
  readonly before: readonly StateRow[];
}

/** The rows of one table that a batch checks or writes, in key order. */
export interface TableRows extends WrittenRows {
  readonly table: AnyStateTable;
  /** Rows that must stay as they are until the commit. */
  readonly checked: readonly StateRow[];
  /** Rows that only have to be as they are when the statement begins. */
  readonly seen: readonly StateRow[];
  readonly projected: readonly ProjectedRows[];
}

/** The rows of a projection that a batch writes or deletes. */
export interface ProjectedRows extends WrittenRows {
  /** The rows to delete, as they were before. */
  readonly closed: readonly StateRow[];
}

export const hasChanged = ({ changed }: BatchRow): boolean => changed;

/** In the order in which the statement locks them. */
export function rowsInLockOrder(
  all: ReadonlyMap<AnyStateTable, ReadonlyMap<string, BatchRow | undefined>>,
): RowsOfTable[] {
  return inLockOrder(all).map(([table, rows]) => {
    const present = [...rows.values()].filter((item) => item !== undefined);
    return { table, rows: present.sort((a, b) => (a.key < b.key ? -1 : 1)) };
  });
}

export function tableRows({ table, rows }: RowsOfTable, standIns: StandIns): TableRows {
  const changed = rows.filter((item) => item.changed && item.before.version > 0n);
  const isChecked = (item: BatchRow): boolean => item.needed !== undefined && !isSpared(item, standIns);
  const unchanged = rows.filter((item) => !item.changed);
  return {
    table,
    opened: rows.filter((item) => item.changed && item.before.version === 0n).map((item) => item.row),
    changed: changed.map((item) => item.row),
    before: changed.map((item) => item.before),
    checked: unchanged.filter(isChecked).map((item) => item.row),
    seen: unchanged.filter((item) => item.seen && !isChecked(item)).map((item) => item.row),
    projected: table.projections.map((projection) => projectedRows(projection, rows.filter(hasChanged))),
  };
}

function projectedRows(projection: Projection<StateRow>, rows: readonly BatchRow[]): ProjectedRows {
  const { includes } = projection;
  const wasIncluded = ({ before }: BatchRow) => before.version > 0n && includes(before);
  const isIncluded = ({ row }: BatchRow) => includes(row);
  const changed = rows.filter((item) => isIncluded(item) && wasIncluded(item));
  return {
    table: projection,
    opened: rows.filter((item) => isIncluded(item) && !wasIncluded(item)).map((item) => item.row),
    changed: changed.map((item) => item.row),
    before: changed.map((item) => item.before),
    closed: rows.filter((item) => !isIncluded(item) && wasIncluded(item)).map((item) => item.before),
  };
}

/**
 * By owner: the latest deactivation that its accounts in the batch know of, if the batch changes accounts of the owner and
 * opens none.
 */
type StandIns = ReadonlyMap<string, bigint | "opens">;

export function standInsOf(accounts: readonly BatchRow[]): StandIns {
  const standIns = new Map<string, bigint | "opens">();
  for (const { before, row } of accounts) {
    const { ownerId } = row as Account;
    const known = standIns.get(ownerId) ?? 0n;
    const own = before.version === 0n ? "opens" : (before as Account).lastDeactivation;
    standIns.set(ownerId, known === "opens" || own === "opens" ? "opens" : known > own ? known : own);
  }
  return standIns;
}

/**
 * Whether an owner that the batch does not change needs no lock, because its accounts stand in for it: the statement compares
 * the last deactivation that they know of. The owner was remembered as active, and not from before that deactivation; so if
 * it is inactive by now, a later deactivation has written to these accounts (decision 4).
 */
function isSpared({ table, key, row, needed }: BatchRow, standIns: StandIns): boolean {
  const { owner } = table;
  if (owner === undefined || needed !== "that it is active" || !owner.isActive(row)) return false;
  const lastDeactivation = standIns.get(key);
  return typeof lastDeactivation === "bigint" && lastDeactivation <= row.version;
}
