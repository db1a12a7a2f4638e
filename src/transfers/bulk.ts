/** Bulks that are one command of the lane. */
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import type { Caller } from "../ledger/caller.ts";
import { type Key, keyName } from "../ledger/tables.ts";
import type { Lane } from "../ledger/writer/lane.ts";
import type { Database } from "../postgres/database.ts";
import { assert, must } from "../std/assert.ts";
import type { IdSource } from "../std/id.ts";
import {
  type BulkItem,
  type BulkMode,
  type BulkRequest,
  decideAll,
  type Existing,
  existing,
  existingOfAll,
  type ItemOutcome,
  onlyAt,
  type PreparedItem,
  type Tried,
  tryAll,
} from "./bulk-rules.ts";
import { transferKeys } from "./rules.ts";
import { type FoundTransfer, findByRefIds } from "./store.ts";
import { refIdClaims } from "./transfer.ts";

interface Parts {
  readonly database: Database;
  readonly lane: Lane;
  readonly catalogue: Catalogue;
  readonly ids: IdSource;
}

export async function moveAll(parts: Parts, bulk: BulkRequest, caller: Caller): Promise<readonly ItemOutcome[]> {
  const { customerId, items } = bulk;
  const prepared = items.map((item) => prepare(parts, item));
  const outcome = await parts.lane.execute({
    queueKey: customerId,
    caller,
    dependsOn: keysOf(prepared),
    claims: prepared.flatMap(({ request, id }) => refIdClaims(customerId, request.refId, id)),
    decide: (state) => decideAll(prepared, state),
  });
  if (outcome.kind === "done") return outcome.value.map((record) => ({ kind: "done", record }));
  if (outcome.kind === "exists") return existingOfAll(items, await foundOf(parts, bulk));
  const { index, because } = outcome.rejection;
  return onlyAt(index, { kind: "rejected", rejection: because }, items.length);
}

export async function tryMoves(
  parts: Parts,
  bulk: BulkRequest,
  mode: BulkMode,
  caller: Caller,
): Promise<readonly ItemOutcome[]> {
  const { customerId, items } = bulk;
  const found = await foundOf(parts, bulk);
  if (found.size > 0 && mode === "atomic") return existingOfAll(items, found);
  const prepared = items.filter(({ refId }) => !found.has(refId)).map((item) => prepare(parts, item));
  const tried = prepared.length === 0 ? [] : await tryPrepared(parts, customerId, prepared, mode, caller);
  const remaining = tried.values();
  return items.map((item) => {
    const its = found.get(item.refId);
    if (its !== undefined) return existing(item, its);
    return must(remaining.next().value, "each other item was tried");
  });
}

async function tryPrepared(
  { lane }: Parts,
  customerId: CustomerId,
  items: readonly PreparedItem[],
  mode: BulkMode,
  caller: Caller,
): Promise<readonly ItemOutcome[]> {
  const outcome = await lane.execute<never, Tried>({
    queueKey: customerId,
    caller,
    dependsOn: keysOf(items),
    decide: (state) => tryAll(items, mode, state),
  });
  assert(outcome.kind === "rejected", "a trial saves nothing");
  return outcome.rejection.outcomes;
}

function prepare({ catalogue, ids }: Parts, request: BulkItem): PreparedItem {
  return { request, id: ids.next(), asset: catalogue.findAsset(request.asset) };
}

/** Each key once: many items have the same sender. */
function keysOf(items: readonly PreparedItem[]): Key[] {
  const keys = items.flatMap(({ request, asset }) => transferKeys(request, asset));
  return [...new Map(keys.map((key) => [keyName(key), key])).values()];
}

/** The earlier transfers whose ref_ids the items have: all of them do. */
export async function findExisting(parts: Pick<Parts, "database">, bulk: BulkRequest): Promise<readonly Existing[]> {
  const found = await foundOf(parts, bulk);
  return bulk.items.map((item) => existing(item, must(found.get(item.refId), "an item that exists is found")));
}

/** By ref_id. */
async function foundOf(
  { database }: Pick<Parts, "database">,
  { customerId, items }: BulkRequest,
): Promise<ReadonlyMap<string, FoundTransfer>> {
  const refIds = items.map(({ refId }) => refId);
  const found = await findByRefIds(database.commits, customerId, refIds);
  return new Map(found.map((one) => [must(one.transfer.refId, "it was found by its ref_id"), one]));
}
