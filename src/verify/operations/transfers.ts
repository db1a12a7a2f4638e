/**
 * Transfers: the debit and the credit of a pair exist and match, and their journal moved their amounts; likewise for
 * deposits and withdrawals. A transfer, its counterpart and its journal are in one batch.
 */
import { type Entry, entry } from "../../ledger/accounts.ts";
import { batchName, type StoredBatch } from "../../ledger/read-batches.ts";
import { formatAmount, minus, negative, plus } from "../../money/amount.ts";
import { siblingId, type Uuid } from "../../std/id.ts";
import { type Transfer, transferTable } from "../../transfers/store.ts";
import type { Tally } from "../check.ts";
import type { BatchCheck } from "../ledger/chain.ts";
import { effectOn, profileEntries } from "../ledger/journals.ts";

const CAUSES: readonly string[] = ["transfer", "deposit", "withdrawal"];

export const transferCheck: BatchCheck = {
  check: "transfers",
  examine: (batches, _database, tally) => {
    for (const batch of batches) checkBatch(batch, tally);
  },
};

function checkBatch(batch: StoredBatch, tally: Tally): void {
  // By id, so that the debit of a mismatched pair is reported.
  const transfers = (batch.records.get("transfer") ?? [])
    .map(transferTable.read)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const byId = new Map(transfers.map((transfer) => [transfer.id, transfer]));
  tally.examined(transfers.length);
  for (const transfer of transfers) {
    const fault = faultOf(transfer, byId, batch);
    if (fault !== undefined) tally.broken(`transfer ${transfer.profileId}/${transfer.id}`, fault);
  }
  for (const [id, [posting]] of batch.journals) {
    if (posting === undefined || !CAUSES.includes(posting.cause) || byId.has(id)) continue;
    tally.broken(`journal ${id}`, `of ${batchName(batch)} belongs to a ${posting.cause} that is missing`);
  }
}

function faultOf(transfer: Transfer, byId: ReadonlyMap<Uuid, Transfer>, batch: StoredBatch): string | undefined {
  const sides = [side(transfer)];
  if (isPaired(transfer)) {
    const sibling = byId.get(siblingId(transfer.id));
    if (sibling === undefined) return `has no matching ${transfer.direction === "DEBIT" ? "credit" : "debit"}`;
    const difference = differenceOf(transfer, sibling);
    if (difference !== undefined) return `differs from its counterpart ${sibling.id} in ${difference}`;
    // The journal has the debit's id, and is checked once.
    if (transfer.direction === "CREDIT") return undefined;
    sides.push(side(sibling));
  }
  const required = effectOn(sides);
  const posted = effectOn(profileEntries(batch.journals.get(transfer.id) ?? []));
  return required === posted ? undefined : `requires ${required}, but its journal posts ${posted}`;
}

function differenceOf(transfer: Transfer, sibling: Transfer): string | undefined {
  const word = (type: string): string => type.replace(/(DEBIT|CREDIT)$/, "");
  if (transfer.direction === sibling.direction) return "direction";
  if (transfer.direction !== (isEven(transfer.id) ? "DEBIT" : "CREDIT")) return "direction";
  if (!transfer.type.endsWith(transfer.direction) || word(transfer.type) !== word(sibling.type)) return "type";
  if (transfer.asset !== sibling.asset) return "asset";
  if (transfer.amount !== sibling.amount) return `amount, ${formatAmount(transfer.amount)}`;
  return undefined;
}

/** The record's effect on its profile: a fee reduces a credit and increases a debit. */
function side({ direction, profileId, asset, amount, fee }: Transfer): Entry {
  const moved = direction === "CREDIT" ? minus(amount, fee) : negative(plus(amount, fee));
  return entry(profileId, asset, moved);
}

const isPaired = ({ type }: Transfer): boolean => /_TRANSFER_(DEBIT|CREDIT)$/.test(type);
const isEven = (id: Uuid): boolean => siblingId(id) > id;
