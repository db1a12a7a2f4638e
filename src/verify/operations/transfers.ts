/**
 * Transfers: the journal of each moved its amount between its sides. A transfer and its journal are in one batch. If it has
 * steps, that batch has the first of them, which external-transfers.ts checks.
 */
import { type Entry, entry } from "../../ledger/accounts.ts";
import { batchName, type StoredBatch } from "../../ledger/stored-batches.ts";
import { negative } from "../../money/amount.ts";
import { isOdd } from "../../std/id.ts";
import { externalTransferTable } from "../../transfers/external-transfer.ts";
import { type Transfer, transferTable } from "../../transfers/transfer.ts";
import type { Tally } from "../check.ts";
import type { BatchCheck } from "../ledger/chain.ts";
import { effectOn, haveSameEffect, profileEntries } from "../ledger/journals.ts";
import { isStep } from "./external-transfers.ts";

const CAUSES: readonly string[] = ["transfer", "deposit", "withdrawal"];

export const transferCheck: BatchCheck = {
  check: "transfers",
  examine: (batches, _database, tally) => {
    for (const batch of batches) checkBatch(batch, tally);
  },
};

function checkBatch(batch: StoredBatch, tally: Tally): void {
  const transfers = (batch.rows.get(transferTable.name) ?? []) as readonly Transfer[];
  const ids = new Set(transfers.filter(({ hasSteps }) => hasSteps === undefined).map(({ id }) => id));
  tally.examined(transfers.length);
  for (const transfer of transfers) {
    for (const fault of faultsOf(transfer, batch)) tally.broken(`transfer ${transferTable.keyOf(transfer)}`, fault);
  }
  for (const [id, [posting]] of batch.journals) {
    if (posting === undefined || !CAUSES.includes(posting.cause) || isStep(posting.cause, id) || ids.has(id)) continue;
    tally.broken(`journal ${id}`, `of ${batchName(batch)} belongs to a ${posting.cause} that is missing`);
  }
}

function* faultsOf(transfer: Transfer, batch: StoredBatch): Iterable<string> {
  // The odd id beside it is that of the credit's record.
  if (isOdd(transfer.id)) yield "has an odd id";
  const steps = batch.written.get(externalTransferTable.name)?.get(`${transfer.customerId}/${transfer.id}`);
  if (transfer.hasSteps === true) {
    if (steps === undefined) yield `has steps, but ${batchName(batch)} has not written the first of them`;
    return;
  }
  if (steps !== undefined) yield `has no steps, but ${batchName(batch)} has written one`;
  const postings = batch.journals.get(transfer.id) ?? [];
  const [cause, posted, required] = [postings[0]?.cause, profileEntries(postings), sidesOf(transfer)];
  if (!haveSameEffect(required, posted))
    yield `requires ${effectOn(required)}, but its journal posts ${effectOn(posted)}`;
  else if (cause !== causeOf(transfer)) yield `is a ${causeOf(transfer)}, but its journal is a ${cause}`;
}

/** The effect on the profiles of its sides. */
function sidesOf({ fromProfileId, toProfileId, asset, amount }: Transfer): Entry[] {
  return [
    ...(fromProfileId === undefined ? [] : [entry(fromProfileId, asset, negative(amount))]),
    ...(toProfileId === undefined ? [] : [entry(toProfileId, asset, amount)]),
  ];
}

function causeOf({ fromProfileId, toProfileId }: Transfer): "transfer" | "deposit" | "withdrawal" {
  if (fromProfileId === undefined) return "deposit";
  return toProfileId === undefined ? "withdrawal" : "transfer";
}
