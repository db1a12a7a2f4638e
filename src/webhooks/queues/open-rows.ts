/** The open rows of a webhook, in memory, and which of them have changed since they were written. */
import type { Instant } from "../../std/clock.ts";
import type { OpenRow } from "./delivery-queue.ts";

export class OpenRows {
  readonly #rows = new Map<bigint, OpenRow>();
  #changes = new Map<bigint, OpenRow | undefined>();

  constructor(rows: readonly OpenRow[]) {
    for (const row of rows) this.#rows.set(row.number, row);
  }

  get size(): number {
    return this.#rows.size;
  }

  get(number: bigint): OpenRow | undefined {
    return this.#rows.get(number);
  }

  values(): Iterable<OpenRow> {
    return this.#rows.values();
  }

  /** One that is undelivered is written, and no longer kept here. */
  set(row: OpenRow): void {
    if (row.status === "UNDELIVERED") this.#rows.delete(row.number);
    else this.#rows.set(row.number, row);
    this.#changes.set(row.number, row);
  }

  remove(number: bigint): void {
    this.#rows.delete(number);
    this.#changes.set(number, undefined);
  }

  /** Of those that are retried and that `isFree`, the one that is due first. */
  nextRetry(isFree: (row: OpenRow) => boolean): (OpenRow & { readonly nextAttemptAt: Instant }) | undefined {
    let first: (OpenRow & { readonly nextAttemptAt: Instant }) | undefined;
    for (const row of this.#rows.values()) {
      const { nextAttemptAt } = row;
      if (nextAttemptAt === undefined || (first !== undefined && first.nextAttemptAt <= nextAttemptAt)) continue;
      if (isFree(row)) first = { ...row, nextAttemptAt };
    }
    return first;
  }

  get hasChanges(): boolean {
    return this.#changes.size > 0;
  }

  takeChanges(): ReadonlyMap<bigint, OpenRow | undefined> {
    const changes = this.#changes;
    this.#changes = new Map();
    return changes;
  }

  /** They were not written. What has changed again meanwhile is newer. */
  restoreChanges(changes: ReadonlyMap<bigint, OpenRow | undefined>): void {
    this.#changes = new Map([...changes, ...this.#changes]);
  }
}
