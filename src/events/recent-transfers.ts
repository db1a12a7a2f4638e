/**
 * The transfers that this process has just committed, of the customers whose events are followed here: a moment later each is
 * asked for, and need not be read back from the database. A transfer never changes, and is asked for by the id in an event.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import { storedValue } from "../ledger/columns.ts";
import type { SqlRecord, TextRow } from "../ledger/tables.ts";
import type { HashedContent } from "../ledger/writer/batch.ts";
import type { Uuid } from "../std/id.ts";
import { type Transfer, transferTable } from "../transfers/transfer.ts";

/** A transfer has about 300, and some kilobytes with the longest metadata. */
const MOST_CHARACTERS = 8_000_000;

const { columns } = transferTable;
const placeOf = (column: string): number => columns.findIndex(({ name }) => name === column);
const [ID, CUSTOMER, TO_CUSTOMER] = [placeOf("id"), placeOf("customer_id"), placeOf("to_customer_id")];

export class RecentTransfers {
  readonly #mostCharacters: number;
  /** How often each customer is followed. */
  readonly #followed = new Map<string, number>();
  /** The oldest first. */
  readonly #rows = new Map<string, TextRow>();
  #characters = 0;

  constructor(mostCharacters = MOST_CHARACTERS) {
    this.#mostCharacters = mostCharacters;
  }

  /** @returns a function that ends it */
  follow(customerId: CustomerId): () => void {
    this.#followed.set(customerId, (this.#followed.get(customerId) ?? 0) + 1);
    return () => this.#unfollow(customerId);
  }

  #unfollow(customerId: CustomerId): void {
    const left = (this.#followed.get(customerId) ?? 0) - 1;
    if (left > 0) this.#followed.set(customerId, left);
    else this.#followed.delete(customerId);
    if (this.#followed.size > 0) return;
    this.#rows.clear();
    this.#characters = 0;
  }

  /** Those that a batch has added, which has committed. */
  add({ records }: Pick<HashedContent, "records">): void {
    if (this.#followed.size === 0) return;
    for (const { table, rows } of records) {
      if (table.name !== transferTable.name) continue;
      for (const row of rows) if (this.#isFollowed(row)) this.#keep(row);
    }
  }

  find(id: Uuid): Transfer | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) return undefined;
    const record: Record<string, unknown> = {};
    columns.forEach(({ name, type }, place) => {
      record[name] = storedValue(type, row[place] ?? null);
    });
    return transferTable.read(record satisfies SqlRecord);
  }

  #isFollowed(row: TextRow): boolean {
    return [CUSTOMER, TO_CUSTOMER].some((place) => this.#followed.has(row[place] ?? ""));
  }

  #keep(row: TextRow): void {
    const id = row[ID] ?? "";
    if (this.#rows.has(id)) return;
    this.#rows.set(id, row);
    this.#characters += lengthOf(row);
    for (const [first, oldest] of this.#rows) {
      if (this.#characters <= this.#mostCharacters) return;
      this.#rows.delete(first);
      this.#characters -= lengthOf(oldest);
    }
  }
}

const lengthOf = (row: TextRow): number => row.reduce((sum, text) => sum + (text?.length ?? 0), 0);
