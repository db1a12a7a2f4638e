/**
 * Deposits and withdrawals that have steps. Their row of `transfer` is written when they are requested and never changes;
 * how far they are is a row of `external_transfer` (docs/withdrawals.md).
 */
import type { CustomerId } from "../customers/customer-id.ts";
import { changing, key, textColumn, timeColumn, uuidColumn, versionColumn } from "../ledger/columns.ts";
import { type Key, keyOf, type StateRow, stateTable } from "../ledger/tables.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";

type OpenStatus = "requested" | "approved" | "sent";
type FinalStatus = "completed" | "failed" | "cancelled";
export type ExternalTransferStatus = OpenStatus | FinalStatus;

type Steps = Readonly<Record<OpenStatus, readonly ExternalTransferStatus[]>>;

/**
 * What may follow each status. A withdrawal is recorded as sent before it is handed over, so whatever may have left is never
 * given back without somebody having seen that it failed.
 */
const WITHDRAWAL_STEPS: Steps = {
  requested: ["approved", "cancelled"],
  approved: ["sent", "cancelled"],
  sent: ["completed", "failed"],
};

const DEPOSIT_STEPS: Pick<Steps, "requested"> = { requested: ["completed", "failed"] };

/** Whether a withdrawal, or else a deposit, may take this step. */
export function mayFollow(isWithdrawal: boolean, from: ExternalTransferStatus, to: ExternalTransferStatus): boolean {
  return followers(isWithdrawal, from).includes(to);
}

function followers(isWithdrawal: boolean, from: ExternalTransferStatus): readonly ExternalTransferStatus[] {
  const steps: Partial<Steps> = isWithdrawal ? WITHDRAWAL_STEPS : DEPOSIT_STEPS;
  return steps[from as OpenStatus] ?? [];
}

/** The statuses that this many steps can lead to. */
export function statusesAfter(isWithdrawal: boolean, steps: bigint): readonly ExternalTransferStatus[] {
  let reached: readonly ExternalTransferStatus[] = steps > 0n && steps <= LONGEST ? ["requested"] : [];
  for (let step = 1n; step < steps && reached.length > 0; step += 1n)
    reached = reached.flatMap((status) => followers(isWithdrawal, status));
  return reached;
}

/** More than the steps of any. */
const LONGEST = 10n;

export interface ExternalTransfer extends StateRow {
  /** The transfer's, as is the id. */
  readonly customerId: CustomerId;
  readonly id: Uuid;
  readonly status: ExternalTransferStatus;
  /** When it got this status. */
  readonly updatedAt: Instant;
  /** Why it failed or was cancelled, in the operator's words. */
  readonly reason: string | undefined;
  /** Of a withdrawal, as far as it is known. That of a deposit is in the transfer. */
  readonly cryptoTxHash: string | undefined;
  readonly cryptoTxIndex: string | undefined;
}

export const externalTransferTable = stateTable<ExternalTransfer>({
  name: "external_transfer",
  columns: {
    customerId: key(uuidColumn("customer_id")),
    id: key(uuidColumn("id")),
    status: changing(textColumn("status", "external_transfer_status")),
    updatedAt: changing(timeColumn("updated_at")),
    reason: changing(textColumn("reason")),
    cryptoTxHash: changing(textColumn("crypto_tx_hash")),
    cryptoTxIndex: changing(textColumn("crypto_tx_index")),
    version: versionColumn,
  },
  digested: true,
  keyOf: (row) => `${row.customerId}/${row.id}`,
  keyValues: (text) => text.split("/"),
});

export function externalTransferKey(customerId: CustomerId, id: Uuid): Key {
  return keyOf(externalTransferTable, `${customerId}/${id}`);
}

/** As it is when it is requested. */
export function requestedTransfer(customerId: CustomerId, id: Uuid, at: Instant): ExternalTransfer {
  const details = { reason: undefined, cryptoTxHash: undefined, cryptoTxIndex: undefined };
  return { customerId, id, status: "requested", updatedAt: at, ...details, version: 0n };
}

// On the wire --------------------------------------------------------------------------------------------------------

export const TRANSFER_STATUSES = ["PENDING", "COMPLETED", "FAILED"] as const;
export type TransferStatus = (typeof TRANSFER_STATUSES)[number];

/** What each status of a record stands for. */
export const STATUSES_OF: Readonly<Record<TransferStatus, readonly ExternalTransferStatus[]>> = {
  PENDING: ["requested", "approved", "sent"],
  COMPLETED: ["completed"],
  FAILED: ["failed", "cancelled"],
};
