/**
 * The batches that this process has just committed, so that its publisher need not read them back from the database. Used
 * only if the chain in the database ends with the very hash that was committed here: the hash covers the batch and all
 * batches before it.
 */
import type { CustomerId } from "../../customers/customer-id.ts";
import { executionTable } from "../../exchange/execution.ts";
import { readChanges } from "../../ledger/change-history.ts";
import type { AddedRows, HashedContent } from "../../ledger/writer/batch.ts";
import type { CommittedBatch } from "../../ledger/writer/lane-options.ts";
import type { Uuid } from "../../std/id.ts";
import { transferTable } from "../../transfers/transfer.ts";
import type { TransferType } from "../../transfers/transfers.ts";
import type { Range } from "./chain-store.ts";
import type { AddedBatch, ExecutionKey, Heads, TransferSides } from "./event-batch.ts";

/** What of a committed batch is needed. */
type Committed = Pick<CommittedBatch, "slot" | "n" | "hash" | "content">;

interface RecentBatch extends Omit<AddedBatch, "written"> {
  readonly hash: Buffer;
  readonly changes: string | undefined;
}

interface Bounds {
  readonly batches: number;
  readonly rows: number;
  /** Of changes, as JSON. */
  readonly characters: number;
}

const BOUNDS: Bounds = { batches: 1_000, rows: 20_000, characters: 16_000_000 };

export class RecentBatches {
  readonly #bounds: Bounds;
  /** Of one slot, without gaps. */
  #batches: RecentBatch[] = [];
  #rows = 0;
  #characters = 0;
  #isCollecting = false;

  constructor(bounds = BOUNDS) {
    this.#bounds = bounds;
  }

  /** Only a process that publishes needs them. */
  collect(isCollecting: boolean): void {
    this.#isCollecting = isCollecting;
    this.#clear();
  }

  add({ slot, n, hash, content }: Committed): void {
    if (!this.#isCollecting) return;
    const last = this.#batches.at(-1);
    if (last !== undefined && (last.slot !== slot || last.n + 1n !== n)) this.#clear();
    const batch = { slot, n, hash, at: content.at, changes: content.changes, ...addedBy(content) };
    this.#batches.push(batch);
    this.#rows += rowsOf(batch);
    this.#characters += charactersOf(batch);
    while (this.#hasTooMany) this.#removeFirst();
  }

  /**
   * All batches of a range, in order.
   * @param hash of the last of them in the database
   * @returns undefined if they have to be read
   */
  within({ slot, after, until }: Range, hash: Buffer | undefined): AddedBatch[] | undefined {
    const first = this.#batches[0];
    if (first?.slot !== slot || first.n > after + 1n) return undefined;
    const last = this.#batches[Number(until - first.n)];
    if (last === undefined || hash?.equals(last.hash) !== true) return undefined;
    const wanted = this.#batches.slice(Number(after + 1n - first.n), Number(until + 1n - first.n));
    return wanted.map(({ changes, hash: _, ...batch }) => ({ ...batch, written: readChanges(changes) }));
  }

  /** These have been published. */
  forget(heads: Heads): void {
    for (let first = this.#batches[0]; first !== undefined; first = this.#batches[0]) {
      if (first.n > (heads.get(first.slot) ?? -1n)) return;
      this.#removeFirst();
    }
  }

  get #hasTooMany(): boolean {
    const { batches, rows, characters } = this.#bounds;
    return this.#batches.length > batches || this.#rows > rows || this.#characters > characters;
  }

  #removeFirst(): void {
    const first = this.#batches.shift();
    if (first === undefined) return;
    this.#rows -= rowsOf(first);
    this.#characters -= charactersOf(first);
  }

  #clear(): void {
    this.#batches = [];
    this.#rows = 0;
    this.#characters = 0;
  }
}

const charactersOf = ({ changes }: RecentBatch): number => changes?.length ?? 0;
const rowsOf = ({ transfers, executions }: RecentBatch): number => transfers.length + executions.length;

function addedBy({ records }: HashedContent): Pick<AddedBatch, "transfers" | "executions"> {
  return {
    transfers: valuesIn(records, transferTable.name, SIDES).flatMap(sidesOf),
    executions: valuesIn(records, executionTable.name, ["id", "customer_id"]).map(
      ([id, customerId]): ExecutionKey => ({ id: BigInt(id ?? 0), customerId: customerId as CustomerId }),
    ),
  };
}

const SIDES = ["id", "type", "customer_id", "from_profile_id", "to_customer_id", "has_steps"];

/** As `readTransfers` has them: the events of a transfer that has steps are its steps. */
function sidesOf([id, type, customerId, fromProfileId, toCustomerId, hasSteps]: (string | null)[]): TransferSides[] {
  if (hasSteps !== null) return [];
  return [
    {
      id: id as Uuid,
      type: type as TransferType,
      from: fromProfileId === null ? undefined : (customerId as CustomerId),
      to: (toCustomerId ?? undefined) as CustomerId | undefined,
    },
  ];
}

/** The values of some columns of the rows that were added to a table. */
function valuesIn(records: readonly AddedRows[], table: string, columns: readonly string[]): (string | null)[][] {
  return records.flatMap(({ table: { name }, columns: all, rows }) => {
    if (name !== table) return [];
    const places = columns.map((column) => all.findIndex((one) => one.name === column));
    return rows.map((row) => places.map((place) => row[place] ?? null));
  });
}
