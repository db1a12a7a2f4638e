/**
 * A cache of the rows that the lane wrote or read recently, as the last decided batch leaves them. It is never trusted:
 * each batch checks the versions of the rows that it depends on. The absence of a row is not cached.
 *
 * Bounded in bytes, over all tables, in two generations. When the younger is full it becomes the older, and what is left of
 * the older one is dropped. A row of the older one that is used moves to the younger. So orders that are closed leave, and
 * accounts that are in use stay, however many there are of either.
 *
 * Rows are evicted only after a batch was decided, so those that it depends on stay from its first decision to its last. Until
 * then, what was read since may exceed the bound: these are the rows of waiting commands, which admission control bounds.
 */
import { assert } from "../../../std/assert.ts";
import type { AnyStateTable, StateRow, StateTable } from "../../tables.ts";

type Generation = Map<string, Map<string, StateRow>>;

export class RowCache {
  readonly #generationBytes: number;
  #younger: Generation = new Map();
  #youngerBytes = 0;
  #older: Generation = new Map();

  /** @param bytes far more than the rows of a few batches take, so that no row in flight is evicted */
  constructor(bytes: number) {
    this.#generationBytes = bytes / 2;
  }

  get<Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined {
    const younger = this.#younger.get(table.name)?.get(key);
    if (younger !== undefined) return younger as Row;
    const older = this.#older.get(table.name)?.get(key);
    if (older !== undefined) this.#add(table, key, older);
    return older as Row | undefined;
  }

  has(table: AnyStateTable, key: string): boolean {
    return (this.#younger.get(table.name)?.has(key) || this.#older.get(table.name)?.has(key)) ?? false;
  }

  set(table: AnyStateTable, key: string, row: StateRow): void {
    assert(row.version > 0n, () => `a cached row has been written, but ${table.name} ${key} has not`);
    const rows = this.#younger.get(table.name);
    if (rows?.has(key)) rows.set(key, row);
    else this.#add(table, key, row);
  }

  #add(table: AnyStateTable, key: string, row: StateRow): void {
    const rows = this.#younger.get(table.name) ?? new Map<string, StateRow>();
    this.#younger.set(table.name, rows.set(key, row));
    this.#youngerBytes += estimateBytes(table, row);
    this.#older.get(table.name)?.delete(key);
  }

  /** Drops rows that were not used recently, if there are too many. */
  evict(): void {
    if (this.#youngerBytes <= this.#generationBytes) return;
    this.#older = this.#younger;
    this.#younger = new Map();
    this.#youngerBytes = 0;
  }

  delete(table: AnyStateTable, key: string): void {
    this.#younger.get(table.name)?.delete(key);
    this.#older.get(table.name)?.delete(key);
  }

  clear(): void {
    this.#younger = new Map();
    this.#youngerBytes = 0;
    this.#older = new Map();
  }
}

/** Of the object, its entry in the map and its key; and of each of its columns. Measured with V8 12, rounded up. */
const ROW_BYTES = 300;
const COLUMN_BYTES = 55;
/** Texts of any length, which may be those of a caller. */
const LONG_TYPES: ReadonlySet<string> = new Set(["text", "jsonb"]);

/** What a row takes in memory, roughly. A version changes it by little, so a row that is replaced is not counted again. */
function estimateBytes({ columns }: AnyStateTable, row: StateRow): number {
  let bytes = ROW_BYTES + COLUMN_BYTES * columns.length;
  for (const { type, text } of columns) if (LONG_TYPES.has(type)) bytes += text(row)?.length ?? 0;
  return bytes;
}
