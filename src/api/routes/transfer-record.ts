/** A transfer on the wire: one profile's side of a movement. */
import { type Static, Type } from "typebox";
import { formatAmount } from "../../money/amount.ts";
import { must } from "../../std/assert.ts";
import { formatInstant } from "../../std/clock.ts";
import { siblingId, type Uuid } from "../../std/id.ts";
import {
  CRYPTO_NETWORKS,
  type ExternalTransferStatus,
  RECORD_TYPES,
  type RecordType,
  STATUSES_OF,
  TRANSFER_ANNOTATIONS,
  TRANSFER_STATUSES,
  type TransferRecord,
  type TransferStatus,
  updatedAtOf,
} from "../../transfers/transfers.ts";
import { present } from "../domain-mapping.ts";
import { annotatedBodies } from "../requests/annotated-bodies.ts";
import { AssetCode, AssetText, Decimal, Timestamp, UuidText } from "../requests/schemas.ts";

export const SECONDARY_STATUSES = [
  "TRAVEL_RULE_INFO_REQUESTED",
  "TRAVEL_RULE_REJECTED",
  "CUSTOMER_REJECTED",
  "PENDING_CUSTOMER_APPROVAL",
] as const;

export const EXAMPLE_TRANSFER = {
  id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00",
  customer_id: "0190d5a4-0000-7000-8000-000000000002",
  profile_id: "0190d5a4-1111-7000-8000-000000000004",
  amount: "10.5",
  total: "10.5",
  fee: "0",
  asset: "USDG",
  direction: "DEBIT",
  type: "PLATFORM_TRANSFER_DEBIT",
  status: "COMPLETED",
  created_at: "2026-11-21T09:30:00.000Z",
  updated_at: "2026-11-21T09:30:00.000Z",
  ref_id: "payout-2026-11-21-0042",
  balance_asset: "USDG",
  metadata: { invoice: "2026-0042" },
  auto_conversion: {},
  group_id: "0190d5a4-7e1b-7c3d-8a2f-5b6c7d8e9f00",
};

const ANNOTATED = annotatedBodies(TRANSFER_ANNOTATIONS);

export const TransferBody = Type.Object(
  {
    id: UuidText,
    customer_id: UuidText,
    profile_id: Type.String({ description: "The profile whose balance this record changed.", format: "uuid" }),
    amount: Decimal,
    total: Type.String({
      ...Decimal,
      description: "The absolute change of the balance: a deposit less its fee, a withdrawal plus its fee.",
    }),
    fee: Type.String({ ...Decimal, examples: ["0"], description: 'The fee: always "0".' }),
    asset: AssetCode,
    direction: Type.Enum(["CREDIT", "DEBIT"], { description: "CREDIT increased the balance, DEBIT reduced it." }),
    type: Type.Enum([...RECORD_TYPES]),
    status: Type.Enum([...TRANSFER_STATUSES], {
      description: "PENDING: a deposit or withdrawal that is not complete. FAILED: it moved no money in the end.",
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
    ...ANNOTATED.responseSchemas,
    ref_id: Type.Optional(
      Type.String({ description: "The sender's reference for the request. On the debit record only." }),
    ),
    balance_asset: Type.Optional({
      ...AssetText,
      description: "The asset whose balance changed; the same as asset.",
    }),
    secondary_status: Type.Optional(Type.Object({}, { description: "Reserved." })),
    status_details: Type.Optional(
      Type.Object(
        {
          // An object, as each member of the vendor's is: its clients read it as one, whatever it is called.
          progress: Type.Object({
            step: Type.Enum(["REQUESTED", "APPROVED", "SENT", "FAILED", "CANCELLED"]),
            message: Type.String({ examples: ["Approved, not sent yet"] }),
          }),
        },
        { description: "How far a PENDING deposit or withdrawal is, or why it FAILED. Not of a COMPLETED record." },
      ),
    ),
    destination_address: Type.Optional(Type.String({ description: "The destination of a crypto transfer." })),
    crypto_network: Type.Optional(Type.Enum([...CRYPTO_NETWORKS])),
    crypto_tx_hash: Type.Optional(Type.String({ description: "The hash of the on-chain transaction." })),
    crypto_tx_index: Type.Optional(Type.String({ description: "The output's index within the transaction." })),
    auto_conversion: Type.Optional(Type.Object({}, { description: "Always empty: transfers do not convert." })),
    group_id: Type.Optional(
      Type.String({ description: "The same on both records of an internal or platform transfer.", format: "uuid" }),
    ),
    fiat_account_id: Type.Optional(Type.String({ description: "Reserved.", format: "uuid" })),
    notional_value: Type.Optional(
      Type.String({ ...Decimal, description: "The value of a crypto deposit or withdrawal in USD at that time." }),
    ),
    memo: Type.Optional(Type.String({ description: "The operator's note on a deposit or withdrawal." })),
  },
  {
    title: "Transfer",
    description: "One profile's side of a movement. A transfer between profiles has two, with one group_id.",
    examples: [EXAMPLE_TRANSFER],
  },
);

/** The types of records that come in pairs. */
export const PAIRED_TYPES: readonly RecordType[] = [
  "INTERNAL_TRANSFER_DEBIT",
  "INTERNAL_TRANSFER_CREDIT",
  "PLATFORM_TRANSFER_DEBIT",
  "PLATFORM_TRANSFER_CREDIT",
];

export function transferBody(transfer: TransferRecord): Static<typeof TransferBody> {
  // There are no transfer fees, so the total equals the amount.
  const amount = formatAmount(transfer.amount);
  const { steps } = transfer;
  return present<Static<typeof TransferBody>>({
    id: transfer.id,
    customer_id: transfer.customerId,
    profile_id: transfer.profileId,
    amount,
    total: amount,
    fee: "0",
    asset: transfer.asset,
    direction: transfer.direction,
    type: transfer.type,
    status: statusOf(transfer),
    created_at: formatInstant(transfer.createdAt),
    updated_at: formatInstant(updatedAtOf(transfer)),
    ...ANNOTATED.write(transfer.annotations),
    ref_id: transfer.refId,
    balance_asset: transfer.asset,
    secondary_status: undefined,
    status_details: detailsOf(transfer),
    destination_address: transfer.destinationAddress,
    crypto_network: transfer.cryptoNetwork,
    crypto_tx_hash: steps?.cryptoTxHash ?? transfer.cryptoTxHash,
    crypto_tx_index: steps?.cryptoTxHash === undefined ? transfer.cryptoTxIndex : steps.cryptoTxIndex,
    auto_conversion: {},
    group_id: groupOf(transfer),
    fiat_account_id: undefined,
    notional_value: transfer.notionalValue === undefined ? undefined : formatAmount(transfer.notionalValue),
    memo: transfer.memo,
  });
}

function statusOf({ steps }: Pick<TransferRecord, "steps">): TransferStatus {
  const is = steps?.status ?? "completed";
  return must(
    TRANSFER_STATUSES.find((status) => STATUSES_OF[status].includes(is)),
    "each status is one on the wire",
  );
}

/** Of a record that is not COMPLETED. */
function detailsOf({ steps, direction }: TransferRecord): Static<typeof TransferBody>["status_details"] {
  if (steps === undefined || steps.status === "completed") return undefined;
  const { status, reason } = steps;
  const message = MESSAGES[direction][status] + (reason === undefined ? "" : `: ${reason}`);
  return { progress: { step: STEPS[status], message } };
}

type UnfinishedStatus = Exclude<ExternalTransferStatus, "completed">;

const STEPS = {
  requested: "REQUESTED",
  approved: "APPROVED",
  sent: "SENT",
  failed: "FAILED",
  cancelled: "CANCELLED",
} as const satisfies Record<UnfinishedStatus, string>;

const PENDING_WITHDRAWAL = {
  requested: "Waiting for approval",
  approved: "Approved, not sent yet",
  sent: "Sent, not confirmed yet",
};
const ENDED = { failed: "Failed", cancelled: "Cancelled" };
const MESSAGES: Readonly<Record<TransferRecord["direction"], Record<UnfinishedStatus, string>>> = {
  DEBIT: { ...PENDING_WITHDRAWAL, ...ENDED },
  CREDIT: { ...PENDING_WITHDRAWAL, requested: "Announced, not arrived yet", ...ENDED },
};

/** Deposits and withdrawals have no counterpart, so no group. */
function groupOf({ id, type, direction }: TransferRecord): Uuid | undefined {
  if (!PAIRED_TYPES.includes(type)) return undefined;
  return direction === "DEBIT" ? id : siblingId(id);
}
