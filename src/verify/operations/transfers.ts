/**
 * Transfers: the debit and the credit of a pair are both there and fit each other, and their journal moved what they
 * say; so did those of deposits and withdrawals. A transfer, its sibling and its journal are in one batch.
 */
import { type Entry, entry, type ProfileId } from "../../ledger/accounts.ts";
import { batchName, type StoredBatch } from "../../ledger/batch-log.ts";
import type { SqlRecord } from "../../ledger/rows.ts";
import { type Amount, amountOf, formatAmount, minus, negative, plus } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import { siblingId, type Uuid } from "../../std/id.ts";
import type { Tally } from "../check.ts";
import type { BatchCheck } from "../ledger/chain.ts";
import { effectOn, profileEntries } from "../ledger/journals.ts";

/** As the table has it, the fee included. */
interface StoredTransfer {
  readonly id: Uuid;
  readonly profileId: ProfileId;
  readonly type: string;
  readonly direction: "CREDIT" | "DEBIT";
  readonly asset: AssetCode;
  readonly amount: Amount;
  readonly fee: Amount;
}

const CAUSES: readonly string[] = ["transfer", "deposit", "withdrawal"];

export const transferCheck: BatchCheck = {
  check: "transfers",
  look: (batches, _database, tally) => {
    for (const batch of batches) lookAtBatch(batch, tally);
  },
};

function lookAtBatch(batch: StoredBatch, tally: Tally): void {
  // By id, so that of two that do not fit it is always the debit that is named.
  const transfers = (batch.records.get("transfer") ?? []).map(storedTransfer).sort((a, b) => (a.id < b.id ? -1 : 1));
  const byId = new Map(transfers.map((transfer) => [transfer.id, transfer]));
  tally.examined(transfers.length);
  for (const transfer of transfers) {
    const fault = faultOf(transfer, byId, batch);
    if (fault !== undefined) tally.broken(`transfer ${transfer.profileId}/${transfer.id}`, fault);
  }
  for (const [id, [posting]] of batch.journals) {
    if (posting === undefined || !CAUSES.includes(posting.cause) || byId.has(id)) continue;
    tally.broken(`journal ${id}`, `of ${batchName(batch)} is a ${posting.cause}'s, which is missing`);
  }
}

/** What is wrong with a transfer of a batch, if anything is. */
function faultOf(
  transfer: StoredTransfer,
  byId: ReadonlyMap<Uuid, StoredTransfer>,
  batch: StoredBatch,
): string | undefined {
  const sides = [side(transfer)];
  if (isPaired(transfer)) {
    const sibling = byId.get(siblingId(transfer.id));
    if (sibling === undefined) return `has no ${transfer.direction === "DEBIT" ? "credit" : "debit"} beside it`;
    const difference = differenceOf(transfer, sibling);
    if (difference !== undefined) return `differs from ${sibling.id} beside it in its ${difference}`;
    // The journal is looked at once, from the side that gives it its id.
    if (transfer.direction === "CREDIT") return undefined;
    sides.push(side(sibling));
  }
  const asked = effectOn(sides);
  const done = effectOn(profileEntries(batch.journals.get(transfer.id) ?? []));
  return asked === done ? undefined : `asks for ${asked}, but its journal posts ${done}`;
}

function differenceOf(transfer: StoredTransfer, sibling: StoredTransfer): string | undefined {
  const word = (type: string): string => type.replace(/(DEBIT|CREDIT)$/, "");
  if (transfer.direction === sibling.direction) return "direction";
  if (transfer.direction !== (isEven(transfer.id) ? "DEBIT" : "CREDIT")) return "direction";
  if (!transfer.type.endsWith(transfer.direction) || word(transfer.type) !== word(sibling.type)) return "type";
  if (transfer.asset !== sibling.asset) return "asset";
  if (transfer.amount !== sibling.amount) return `amount, ${formatAmount(transfer.amount)}`;
  return undefined;
}

/** What the record says was done to its profile: less the fee for what comes in, and with it for what goes out. */
function side({ direction, profileId, asset, amount, fee }: StoredTransfer): Entry {
  const moved = direction === "CREDIT" ? minus(amount, fee) : negative(plus(amount, fee));
  return entry(profileId, asset, moved);
}

const isPaired = ({ type }: StoredTransfer): boolean => /_TRANSFER_(DEBIT|CREDIT)$/.test(type);
const isEven = (id: Uuid): boolean => siblingId(id) > id;

function storedTransfer(record: SqlRecord): StoredTransfer {
  return {
    id: record.id as Uuid,
    profileId: record.profile_id as ProfileId,
    type: record.type as string,
    direction: record.direction as StoredTransfer["direction"],
    asset: record.asset as AssetCode,
    amount: amountOf(record.amount as string),
    fee: amountOf(record.fee as string),
  };
}
