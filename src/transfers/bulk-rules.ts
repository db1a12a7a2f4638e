/** Rules of a bulk that is one command: its transfers are posted all together or not at all, or are only tried. */
import type { CustomerId } from "../customers/customer-id.ts";
import type { Journal } from "../ledger/accounts.ts";
import { accept, type Decision, type Rejection, type State } from "../ledger/decision.ts";
import type { RecordAddition } from "../ledger/tables.ts";
import type { Asset } from "../money/asset.ts";
import type { Uuid } from "../std/id.ts";
import { type Rejected, reject } from "../std/result.ts";
import { BalancesSoFar } from "./balances-so-far.ts";
import { decideTransfer, type TransferRejection, type TransferRequest, type TransferSide } from "./rules.ts";
import type { FoundTransfer } from "./store.ts";
import { type Transfer, type TransferRecord, TYPE_OF_KIND } from "./transfer.ts";

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
  | Existing
  /** Because of another item. */
  | { readonly kind: "not_tried" };

/** Its ref_id belongs to this earlier record. */
export interface Existing {
  readonly kind: "exists";
  readonly record: TransferRecord;
  /** Whether it moved what the item would have moved. */
  readonly isSame: boolean;
  /** That in which it was found. */
  readonly history: string;
}

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
  const after = new BalancesSoFar(state);
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
  const after = new BalancesSoFar(state);
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

/** @param found what has the item's ref_id */
export function existing(item: BulkItem, { transfer, record, history }: FoundTransfer): Existing {
  const { kind, from, to, asset, amount } = item;
  const isSame =
    transfer.type === TYPE_OF_KIND[kind] &&
    transfer.fromProfileId === from.profileId &&
    transfer.toProfileId === to.profileId &&
    areOfSameUser(from.annotations, transfer.fromAnnotations) &&
    areOfSameUser(to.annotations, transfer.toAnnotations) &&
    transfer.asset === asset &&
    transfer.amount === amount;
  return { kind: "exists", record, isSame, history };
}

/** A profile may hold the money of many end users: what was paid to one of them is not what another one is to get. */
function areOfSameUser(sent: TransferSide["annotations"], stored: Transfer["toAnnotations"]): boolean {
  return sent?.accountId === stored.accountId && sent?.identityId === stored.identityId;
}

/**
 * The outcomes of an atomic bulk of which items exist: of all, if all were posted before; or of the first that prevents it,
 * because of which no other is tried.
 * @param found by ref_id; at least one
 */
export function existingOfAll(
  items: readonly BulkItem[],
  found: ReadonlyMap<string, FoundTransfer>,
): readonly ItemOutcome[] {
  const outcomes = items.map((item) => {
    const its = found.get(item.refId);
    return its && existing(item, its);
  });
  const isRetry = outcomes.every((outcome) => outcome !== undefined);
  const index = outcomes.findIndex((outcome) => outcome !== undefined && !(isRetry && outcome.isSame));
  const first = outcomes[index];
  return first === undefined ? outcomes.filter((outcome) => outcome !== undefined) : onlyAt(index, first, items.length);
}
