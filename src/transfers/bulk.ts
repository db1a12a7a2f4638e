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
  existing,
  type ItemOutcome,
  onlyAt,
  type PreparedItem,
  type Tried,
  tryAll,
} from "./bulk-rules.ts";
import { transferKeys } from "./rules.ts";
import { findByRefIds } from "./store.ts";
import { refIdClaims, type TransferRecord } from "./transfer.ts";

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
  if (outcome.kind === "exists") return existing(items, await recordsOf(parts, bulk));
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
  const found = await recordsOf(parts, bulk);
  if (found.size > 0 && mode === "atomic") return existing(items, found);
  const prepared = items.filter(({ refId }) => !found.has(refId)).map((item) => prepare(parts, item));
  const tried = prepared.length === 0 ? [] : await tryPrepared(parts, customerId, prepared, mode, caller);
  const remaining = tried.values();
  return items.map(({ refId }) => {
    const record = found.get(refId);
    if (record !== undefined) return { kind: "exists", record };
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

/** The records that have ref_ids of the items, by ref_id. */
async function recordsOf(
  { database }: Parts,
  { customerId, items }: BulkRequest,
): Promise<ReadonlyMap<string, TransferRecord>> {
  const refIds = items.map(({ refId }) => refId);
  const records = await findByRefIds(database.commits, customerId, refIds);
  return new Map(records.map((record) => [must(record.refId, "it was found by its ref_id"), record]));
}
