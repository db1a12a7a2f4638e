/**
 * A cache of the rows that the lane wrote or read recently, as the last decided batch leaves them. It is never trusted:
 * each batch checks the versions of the rows that it depends on. The absence of a row is not cached.
 */
import { assert } from "../../../std/assert.ts";
import { LruCache } from "../../../std/lru-cache.ts";
import type { AnyStateTable, StateRow, StateTable } from "../../tables.ts";

export class RowCache {
  readonly #tables = new Map<string, LruCache<StateRow>>();
  readonly #max: number;

  /** @param max rows per table: far more than a few batches touch, so that no row in flight is evicted */
  constructor(max: number) {
    this.#max = max;
  }

  get<Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined {
    return this.#tables.get(table.name)?.get(key) as Row | undefined;
  }

  has(table: AnyStateTable, key: string): boolean {
    return this.#tables.get(table.name)?.has(key) ?? false;
  }

  /** Evicts rows that were not used recently when there are too many. */
  set(table: AnyStateTable, key: string, row: StateRow): void {
    assert(row.version > 0n, () => `a cached row has been written, but ${table.name} ${key} has not`);
    const rows = this.#tables.get(table.name) ?? new LruCache<StateRow>(this.#max);
    this.#tables.set(table.name, rows);
    rows.set(key, row);
  }

  delete(table: AnyStateTable, key: string): void {
    this.#tables.get(table.name)?.delete(key);
  }

  clear(): void {
    this.#tables.clear();
  }
}
