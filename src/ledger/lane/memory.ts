/**
 * The rows that the lane remembers: those that it wrote or read lately, as the last decided batch leaves them. Nothing
 * is trusted for being remembered: each batch checks the running numbers of what it rests on. That a row is not there
 * is never remembered.
 */
import { assert } from "../../std/assert.ts";
import { Recent } from "../../std/recent.ts";
import type { AnyStateTable, StateRow, StateTable } from "../rows.ts";

export class Memory {
  readonly #tables = new Map<string, Recent<StateRow>>();
  readonly #most: number;

  /** `most`: rows kept per table. Far more than a few batches touch, so that a row under way is never dropped. */
  constructor(most: number) {
    this.#most = most;
  }

  get<Row extends StateRow>(table: StateTable<Row>, key: string): Row | undefined {
    return this.#tables.get(table.name)?.get(key) as Row | undefined;
  }

  has(table: AnyStateTable, key: string): boolean {
    return this.#tables.get(table.name)?.has(key) ?? false;
  }

  /** Remembers a row; some that were not used for long are dropped when there are too many. */
  set(table: AnyStateTable, key: string, row: StateRow): void {
    assert(row.seq > 0n, () => `a row that is remembered has been written, but ${table.name} ${key} has not`);
    const rows = this.#tables.get(table.name) ?? new Recent<StateRow>(this.#most);
    this.#tables.set(table.name, rows);
    rows.set(key, row);
  }

  forget(): void {
    this.#tables.clear();
  }
}
