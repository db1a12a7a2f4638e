/** Rules of a bulk that is one command: its transfers are posted all together or not at all, or are only tried. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Journal } from "../ledger/accounts.ts";
import { accept, type Decision, type Rejection, type State } from "../ledger/decision.ts";
import { StateAfter } from "../ledger/state-after.ts";
import type { RecordAddition } from "../ledger/tables.ts";
import type { Asset } from "../money/asset.ts";
import { must } from "../std/assert.ts";
import type { Uuid } from "../std/id.ts";
import { type Rejected, reject } from "../std/result.ts";
import { decideTransfer, type TransferRejection, type TransferRequest } from "./rules.ts";
import type { TransferRecord } from "./transfer.ts";

/** Whether each item takes effect on its own, or all or none. */
export type BulkMode = "independent" | "atomic";

/** One customer's transfers. */
export interface BulkRequest {
  readonly customerId: CustomerId;
  readonly items: readonly BulkItem[];
}

/** No two items of a bulk have the same ref_id. */
export type BulkItem = TransferRequest & { readonly refId: string };

/** What became of an item; of a trial, what would. */
export type ItemOutcome =
  | { readonly kind: "done"; readonly record: TransferRecord }
  | { readonly kind: "rejected"; readonly rejection: TransferRejection }
  /** Its ref_id belongs to this earlier record. */
  | { readonly kind: "exists"; readonly record: TransferRecord }
  /** Because of another item. */
  | { readonly kind: "not_tried" };

const NOT_TRIED: ItemOutcome = { kind: "not_tried" };

/** An item with what its rule needs besides the rows. */
export interface PreparedItem {
  readonly request: TransferRequest;
  /** Even. */
  readonly id: Uuid;
  /** Undefined if the requested asset does not exist. */
  readonly asset: Asset | undefined;
}

/** The first item that is rejected, which rejects all. */
export interface ItemRejected extends Rejection {
  readonly code: "item_rejected";
  readonly index: number;
  readonly because: TransferRejection;
}

/** Decides all items, each on what those before it leave. */
export function decideAll(
  items: readonly PreparedItem[],
  state: State,
): Decision<readonly TransferRecord[], ItemRejected> {
  const after = new StateAfter(state);
  const values: TransferRecord[] = [];
  const journals: Journal[] = [];
  const records: RecordAddition[] = [];
  for (const [index, { request, id, asset }] of items.entries()) {
    const decision = decideTransfer(request, id, asset, after);
    if (decision.kind === "rejected") return reject({ code: "item_rejected", index, because: decision.rejection });
    after.apply(decision.changes);
    values.push(decision.value);
    journals.push(...(decision.changes.journals ?? []));
    records.push(...(decision.changes.records ?? []));
  }
  return accept(values, { journals, records });
}

/** What a trial found. It is a rejection, so that nothing is saved and every row that it rests on is checked. */
export interface Tried extends Rejection {
  readonly code: "tried";
  readonly outcomes: readonly ItemOutcome[];
}

/** Decides each item on what the accepted ones before it leave, and saves nothing. */
export function tryAll(items: readonly PreparedItem[], mode: BulkMode, state: State): Rejected<Tried> {
  const after = new StateAfter(state);
  const outcomes: ItemOutcome[] = [];
  for (const [index, { request, id, asset }] of items.entries()) {
    const decision = decideTransfer(request, id, asset, after);
    if (decision.kind === "rejected") {
      const outcome: ItemOutcome = { kind: "rejected", rejection: decision.rejection };
      if (mode === "atomic") return reject({ code: "tried", outcomes: onlyAt(index, outcome, items.length) });
      outcomes.push(outcome);
      continue;
    }
    after.apply(decision.changes);
    outcomes.push({ kind: "done", record: decision.value });
  }
  return reject({ code: "tried", outcomes });
}

/** The outcome of one item, because of which no other is tried. */
export function onlyAt(index: number, outcome: ItemOutcome, count: number): ItemOutcome[] {
  return Array.from({ length: count }, (_, i) => (i === index ? outcome : NOT_TRIED));
}

/**
 * The outcomes of an atomic bulk of which items exist: of all, or of the first, because of which no other is tried.
 * @param found by ref_id; at least one
 */
export function existing(
  items: readonly BulkItem[],
  found: ReadonlyMap<string, TransferRecord>,
): readonly ItemOutcome[] {
  const exists = ({ refId }: BulkItem): ItemOutcome => ({
    kind: "exists",
    record: must(found.get(refId), "an item that exists was found"),
  });
  if (found.size === items.length) return items.map(exists);
  const index = items.findIndex(({ refId }) => found.has(refId));
  return onlyAt(index, exists(must(items[index], "one of them exists")), items.length);
}
