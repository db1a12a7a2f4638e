/** A transfer as it is on the wire: one profile's side of a movement. */
import { type Static, Type } from "typebox";
import { formatAmount } from "../../money/amount.ts";
import { formatInstant } from "../../std/clock.ts";
import { siblingId, type Uuid } from "../../std/id.ts";
import { CRYPTO_NETWORKS, TRANSFER_TYPES, type Transfer, type TransferType } from "../../transfers/transfers.ts";
import { AccountId, AssetCode, Decimal, IdentityId, Metadata, Timestamp, UuidText } from "../requests/schemas.ts";
import { present } from "../wire.ts";

export const TRANSFER_STATUSES = ["PENDING", "COMPLETED", "FAILED"] as const;

const EXAMPLE = {
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

export const TransferBody = Type.Object(
  {
    id: UuidText,
    customer_id: UuidText,
    profile_id: Type.String({ description: "The profile whose balance this record changed.", format: "uuid" }),
    amount: Decimal,
    total: Type.String({
      ...Decimal,
      description: "By how much the balance changed, without a sign: a deposit less its fee, a withdrawal with it.",
    }),
    fee: Type.String({ ...Decimal, examples: ["0"], description: 'What was paid for it: "0".' }),
    asset: AssetCode,
    direction: Type.Enum(["CREDIT", "DEBIT"], { description: "Whether the balance rose or fell." }),
    type: Type.Enum([...TRANSFER_TYPES]),
    status: Type.Enum([...TRANSFER_STATUSES]),
    created_at: Timestamp,
    updated_at: Timestamp,
    identity_id: Type.Optional(IdentityId),
    account_id: Type.Optional(AccountId),
    ref_id: Type.Optional(
      Type.String({ description: "On the debit record alone: the sender's name for the request." }),
    ),
    balance_asset: Type.Optional(
      Type.String({ description: "The asset whose balance changed: that of the transfer." }),
    ),
    secondary_status: Type.Optional(Type.Object({}, { description: "More on the status. Not used for now." })),
    status_details: Type.Optional(Type.Object({}, { description: "Why it has its status. Not used for now." })),
    metadata: Type.Optional(Metadata),
    destination_address: Type.Optional(Type.String({ description: "Where a crypto transfer went to." })),
    crypto_network: Type.Optional(Type.Enum([...CRYPTO_NETWORKS])),
    crypto_tx_hash: Type.Optional(Type.String({ description: "The hash of the transaction on its chain." })),
    crypto_tx_index: Type.Optional(Type.String({ description: "The output's index within the transaction." })),
    auto_conversion: Type.Optional(Type.Object({}, { description: "Always empty: nothing is converted on the way." })),
    group_id: Type.Optional(
      Type.String({ description: "The same on both records of an internal or platform transfer.", format: "uuid" }),
    ),
    fiat_account_id: Type.Optional(Type.String({ description: "Not used for now.", format: "uuid" })),
    notional_value: Type.Optional(
      Type.String({ ...Decimal, description: "What a crypto deposit or withdrawal was worth in USD at its time." }),
    ),
    memo: Type.Optional(Type.String({ description: "The operator's note on a deposit." })),
  },
  {
    title: "Transfer",
    description: "One profile's side of a movement. A transfer between profiles has two, with one group_id.",
    examples: [EXAMPLE],
  },
);

/** The types of records that come in twos. */
export const PAIRED_TYPES: readonly TransferType[] = [
  "INTERNAL_TRANSFER_DEBIT",
  "INTERNAL_TRANSFER_CREDIT",
  "PLATFORM_TRANSFER_DEBIT",
  "PLATFORM_TRANSFER_CREDIT",
];

export function transferBody(transfer: Transfer): Static<typeof TransferBody> {
  // Nothing takes a fee, so every total is the amount itself.
  const amount = formatAmount(transfer.amount);
  const createdAt = formatInstant(transfer.createdAt);
  return present({
    id: transfer.id,
    customer_id: transfer.customerId,
    profile_id: transfer.profileId,
    amount,
    total: amount,
    fee: "0",
    asset: transfer.asset,
    direction: transfer.direction,
    type: transfer.type,
    status: "COMPLETED" as const,
    created_at: createdAt,
    updated_at: createdAt,
    identity_id: transfer.identityId,
    account_id: transfer.accountId,
    ref_id: transfer.refId,
    balance_asset: transfer.asset,
    metadata: transfer.metadata,
    destination_address: transfer.destinationAddress,
    crypto_network: transfer.cryptoNetwork,
    crypto_tx_hash: transfer.cryptoTxHash,
    crypto_tx_index: transfer.cryptoTxIndex,
    auto_conversion: {},
    group_id: groupOf(transfer),
    notional_value: transfer.notionalValue === undefined ? undefined : formatAmount(transfer.notionalValue),
    memo: transfer.memo,
  });
}

/** Deposits and withdrawals have no other side, so no group. */
function groupOf({ id, type, direction }: Transfer): Uuid | undefined {
  if (!PAIRED_TYPES.includes(type)) return undefined;
  return direction === "DEBIT" ? id : siblingId(id);
}
