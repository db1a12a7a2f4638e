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
import { AssetCode, AssetText, Decimal, NamedEnum, Timestamp, UuidText } from "../requests/schemas.ts";

export const TransferTypeText = NamedEnum(
  "TransferType",
  RECORD_TYPES,
  "What kind of movement it is, and for transfers between profiles which side of it.",
);

export const TransferStatusText = NamedEnum(
  "TransferStatus",
  TRANSFER_STATUSES,
  "PENDING: a deposit or withdrawal that is not complete. FAILED: it moved no money in the end.",
);

export const SecondaryStatus = NamedEnum(
  "TransferSecondaryStatus",
  ["TRAVEL_RULE_INFO_REQUESTED", "TRAVEL_RULE_REJECTED", "CUSTOMER_REJECTED", "PENDING_CUSTOMER_APPROVAL"],
  "Reserved: no record has one.",
);

export const CryptoNetworkText = NamedEnum("CryptoNetwork", CRYPTO_NETWORKS, "The network of a crypto transfer.");

const Direction = NamedEnum(
  "TransferDirection",
  ["CREDIT", "DEBIT"],
  "CREDIT increased the balance, DEBIT reduced it.",
);

const StatusDetails = Type.Object(
  {
    // An object, as each member of the vendor's is: its clients read it as one, whatever it is called.
    progress: Type.Object(
      {
        step: NamedEnum(
          "TransferStep",
          ["REQUESTED", "APPROVED", "SENT", "FAILED", "CANCELLED"],
          "The last step that was taken.",
        ),
        message: Type.String({ description: "The step in words." }),
      },
      { title: "TransferProgress", description: "How far it is." },
    ),
  },
  {
    title: "TransferStatusDetails",
    description: "How far a PENDING deposit or withdrawal is, or why it FAILED. Not of a COMPLETED record.",
  },
);

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
    fee: Type.String({ ...Decimal, description: 'The fee: always "0".' }),
    asset: AssetCode,
    direction: Direction,
    type: TransferTypeText,
    status: TransferStatusText,
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
    secondary_status: Type.Optional(SecondaryStatus),
    status_details: Type.Optional(StatusDetails),
    destination_address: Type.Optional(Type.String({ description: "The destination of a crypto transfer." })),
    crypto_network: Type.Optional(CryptoNetworkText),
    crypto_tx_hash: Type.Optional(Type.String({ description: "The hash of the on-chain transaction." })),
    crypto_tx_index: Type.Optional(Type.String({ description: "The output's index within the transaction." })),
    auto_conversion: Type.Optional(
      Type.Object({}, { description: "Always empty: transfers do not convert.", additionalProperties: false }),
    ),
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
