/**
 * Deposits and withdrawals that have steps: each step may follow the one before it, and moved what it has to. The row of
 * `transfer` and the first step are in one batch: see transfers.ts.
 */
import { entry, holdEntries, type JournalCause, type ProfileId, releaseEntries } from "../../ledger/accounts.ts";
import { columnsOf, type SqlRecord } from "../../ledger/tables.ts";
import { type Amount, negative } from "../../money/amount.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Database } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import { isOdd, parseUuid, siblingId, type Uuid } from "../../std/id.ts";
import {
  type ExternalTransferStatus,
  externalTransferTable,
  statusesAfter,
} from "../../transfers/external-transfer.ts";
import { type Transfer, transferTable } from "../../transfers/transfer.ts";
import { type PostedChanges, postedChangesCheck, type RequiredJournal } from "../ledger/posted-changes.ts";

const STEPS: PostedChanges<Transfer> = {
  check: "external transfers",
  table: externalTransferTable.name,
  name: "external transfer",
  isOwn: isStep,
  read: readTransfers,
  required: ({ id, fromProfileId, toProfileId, asset, amount }, { version, values }, batch) => {
    const status = values.status as ExternalTransferStatus;
    if (!statusesAfter(fromProfileId !== undefined, version).includes(status))
      return `is ${status} at version ${version}, which no steps lead to`;
    const end = siblingId(id);
    if (fromProfileId === undefined) {
      const to = must(toProfileId, "a deposit has a profile");
      return status === "completed" ? [{ id: end, cause: "deposit", entries: [entry(to, asset, amount)] }] : [];
    }
    const isRequest = batch.records.get(transferTable.name)?.some((row) => row.id === id) === true;
    const held = { id, cause: "withdrawal_held", entries: holdEntries(fromProfileId, asset, amount) } as const;
    return [...(isRequest ? [held] : []), ...endOf(status, end, fromProfileId, asset, amount)];
  },
};

export const externalTransferCheck = postedChangesCheck(STEPS);

function endOf(
  status: ExternalTransferStatus,
  id: Uuid,
  owner: ProfileId,
  asset: AssetCode,
  amount: Amount,
): RequiredJournal[] {
  if (status === "completed")
    return [{ id, cause: "withdrawal", entries: [entry(owner, asset, negative(amount), "pending")] }];
  if (status === "failed" || status === "cancelled")
    return [{ id, cause: "withdrawal_released", entries: releaseEntries(owner, asset, amount) }];
  return [];
}

/** A deposit or a withdrawal with an even id was complete when it was written. */
export function isStep(cause: JournalCause, id: Uuid): boolean {
  return cause === "withdrawal_held" || cause === "withdrawal_released" || (isCrossing(cause) && isOdd(id));
}

const isCrossing = (cause: JournalCause): boolean => cause === "deposit" || cause === "withdrawal";

async function readTransfers(
  database: Database,
  keys: readonly (readonly string[])[],
): Promise<ReadonlyMap<Uuid, Transfer>> {
  const known = keys.filter((key) => key.length === 2 && key.every((part) => parseUuid(part) !== undefined));
  const rows = await database.rows<SqlRecord>(
    `select ${columnsOf(transferTable, "t.")}
       from transfer t join unnest($1::uuid[], $2::uuid[]) as k(customer_id, id)
         on t.customer_id = k.customer_id and t.id = k.id
      where t.has_steps`,
    [known.map(([customer]) => customer), known.map(([, id]) => id)],
  );
  return new Map(rows.map(transferTable.read).map((transfer) => [transfer.id, transfer]));
}
