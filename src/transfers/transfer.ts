/**
 * Transfers. One row holds both sides of a movement, and is never changed: what changes of a deposit or a withdrawal that
 * has steps is in external-transfer.ts. Each customer sees its own sides as records:
 * a transfer between profiles is a debit record with the row's even id and a credit record with the odd id beside it; a
 * deposit or a withdrawal is one record with the row's id.
 */
import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import { type Annotations, annotationColumns, END_USER, filter, METADATA, ofSide } from "../ledger/annotations.ts";
import { amountColumn, booleanColumn, type Stored, textColumn, timeColumn, uuidColumn } from "../ledger/columns.ts";
import type { Claim } from "../ledger/decision.ts";
import { recordTable, type UniqueIndex } from "../ledger/tables.ts";
import type { Amount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { must } from "../std/assert.ts";
import type { Instant } from "../std/clock.ts";
import { siblingId, type Uuid } from "../std/id.ts";
import type { ExternalTransfer } from "./external-transfer.ts";

const EXTERNAL_TYPES = [
  "CRYPTO_DEPOSIT",
  "CRYPTO_WITHDRAWAL",
  "WIRE_DEPOSIT",
  "WIRE_WITHDRAWAL",
  "SEN_DEPOSIT",
  "SEN_WITHDRAWAL",
  "BANK_DEPOSIT",
  "BANK_WITHDRAWAL",
  "SIGNET_DEPOSIT",
  "SIGNET_WITHDRAWAL",
  "CBIT_WITHDRAWAL",
  "CBIT_DEPOSIT",
  "CUBIX_DEPOSIT",
  "CUBIX_WITHDRAWAL",
  "RTP_DEPOSIT",
] as const;
export type ExternalTransferType = (typeof EXTERNAL_TYPES)[number];

/** Between two profiles: of one customer, or of the platform. */
const PAIRED_TYPES = ["INTERNAL_TRANSFER", "PLATFORM_TRANSFER"] as const;
type PairedType = (typeof PAIRED_TYPES)[number];

/** Internal: both profiles are one customer's. Platform: the receiving profile may be another customer's. */
export type MoveKind = "internal" | "platform";

export const TYPE_OF_KIND = {
  internal: "INTERNAL_TRANSFER",
  platform: "PLATFORM_TRANSFER",
} as const satisfies Readonly<Record<MoveKind, PairedType>>;

export type TransferType = ExternalTransferType | PairedType;

/** The types of records: those of a transfer between profiles say which side it is. */
export type RecordType = ExternalTransferType | `${PairedType}_${Direction}`;

export const RECORD_TYPES: readonly RecordType[] = [
  "INTERNAL_TRANSFER_DEBIT",
  "INTERNAL_TRANSFER_CREDIT",
  ...EXTERNAL_TYPES.slice(0, 8),
  "PLATFORM_TRANSFER_DEBIT",
  "PLATFORM_TRANSFER_CREDIT",
  ...EXTERNAL_TYPES.slice(8),
];

export type Direction = "CREDIT" | "DEBIT";

export const CRYPTO_NETWORKS = [
  "BITCOIN",
  "ETHEREUM",
  "BITCOIN_CASH",
  "LITECOIN",
  "SOLANA",
  "POLYGON_POS",
  "BASE",
  "ARBITRUM_ONE",
  "STELLAR",
  "INK",
  "XLAYER",
  "AVALANCHE",
  "DOGECOIN",
  "SUI",
  "ROBINHOOD",
  "BNB",
] as const;
export type CryptoNetwork = (typeof CRYPTO_NETWORKS)[number];

/** Of each side, whose customer alone sees them. Lists look for the first that is asked for. */
export const TRANSFER_ANNOTATIONS = {
  accountId: { ...END_USER.accountId, filter: filter("account_ids", "Records of these accounts.") },
  identityId: { ...END_USER.identityId, filter: filter("identity_ids", "Records of these identities.") },
  metadata: METADATA,
};

/** With their names in SQL. */
export const SIDES = {
  DEBIT: ofSide("from_", TRANSFER_ANNOTATIONS),
  CREDIT: ofSide("to_", TRANSFER_ANNOTATIONS),
};

type SideAnnotations = Annotations<typeof TRANSFER_ANNOTATIONS>;

/** The details of a deposit or withdrawal outside the platform. */
export interface ExternalTransferDetails {
  readonly cryptoNetwork?: CryptoNetwork | undefined;
  readonly destinationAddress?: string | undefined;
  readonly cryptoTxHash?: string | undefined;
  readonly cryptoTxIndex?: string | undefined;
  /** In USD. */
  readonly notionalValue?: Amount | undefined;
  readonly memo?: string | undefined;
}

/** A movement of money. A side outside the platform has no profile: the one that a deposit comes from, for example. */
export interface Transfer extends ExternalTransferDetails {
  /** Even. Also the id of the journal, or of the one that holds the money. */
  readonly id: Uuid;
  /** Who requested it, and whose ref_id it is: the sending profile's customer, or that of the profile of a deposit. */
  readonly customerId: CustomerId;
  readonly type: TransferType;
  /** Of a deposit or a withdrawal that does not complete at once. */
  readonly hasSteps: true | undefined;
  readonly fromProfileId: ProfileId | undefined;
  readonly fromAnnotations: SideAnnotations;
  readonly toProfileId: ProfileId | undefined;
  readonly toCustomerId: CustomerId | undefined;
  readonly toAnnotations: SideAnnotations;
  readonly asset: AssetCode;
  readonly amount: Amount;
  readonly refId: string | undefined;
  readonly createdAt: Instant;
}

export const transferTable = recordTable<Transfer>({
  name: "transfer",
  columns: {
    customerId: uuidColumn("customer_id"),
    id: uuidColumn("id"),
    type: textColumn("type", "transfer_type"),
    hasSteps: booleanColumn("has_steps") as Stored<true>,
    fromProfileId: uuidColumn("from_profile_id"),
    fromAnnotations: annotationColumns(SIDES.DEBIT),
    toProfileId: uuidColumn("to_profile_id"),
    toCustomerId: uuidColumn("to_customer_id"),
    toAnnotations: annotationColumns(SIDES.CREDIT),
    asset: textColumn("asset"),
    amount: amountColumn("amount"),
    refId: textColumn("ref_id"),
    cryptoNetwork: textColumn("crypto_network", "crypto_network"),
    destinationAddress: textColumn("destination_address"),
    cryptoTxHash: textColumn("crypto_tx_hash"),
    cryptoTxIndex: textColumn("crypto_tx_index"),
    notionalValue: amountColumn("notional_value"),
    memo: textColumn("memo"),
    createdAt: timeColumn("created_at"),
  },
  hasCaller: true,
  orderBy: ({ customerId, refId, id }) => `${customerId}/${refId ?? ""}/${id}`,
  keyOf: ({ fromProfileId, toProfileId, id }) => [fromProfileId, toProfileId, id].filter(Boolean).join("/"),
  keepsClaims: true,
});

// References ---------------------------------------------------------------------------------------------------------

const REF_IDS: UniqueIndex = {
  table: transferTable.name,
  constraint: "transfer_ref_id_already_used",
  columns: [
    { name: "customer_id", type: "uuid" },
    { name: "ref_id", type: "text" },
  ],
};

const CHAIN_DEPOSITS: UniqueIndex = {
  table: transferTable.name,
  constraint: "chain_transaction_already_deposited",
  columns: [
    { name: "digits", type: "text", expression: "regexp_replace(t.crypto_tx_hash, '^0x', '')" },
    { name: "crypto_tx_index", type: "text" },
  ],
  where: "t.from_profile_id is null",
};

/** @returns no claim without a ref_id */
export function refIdClaims(customerId: CustomerId, refId: string | undefined, id: Uuid): Claim[] {
  if (refId === undefined) return [];
  return [{ customerId, kind: "transfer", refId, id, keptBy: { index: REF_IDS, values: [customerId, refId] } }];
}

type ChainTransaction = Pick<ExternalTransferDetails, "cryptoTxHash" | "cryptoTxIndex">;

/** How the hashes of a network are written: hexadecimal digits, those behind 0x, or base58, in which case matters. */
export function hashFormOf(network: CryptoNetwork | undefined): "bare" | "prefixed" | "base58" {
  if (network === "SOLANA" || network === "SUI") return "base58";
  return BARE_NETWORKS.has(network) ? "bare" : "prefixed";
}

const BARE_NETWORKS: ReadonlySet<CryptoNetwork | undefined> = new Set([
  ...(["BITCOIN", "BITCOIN_CASH", "LITECOIN", "DOGECOIN", "STELLAR"] as const),
]);
const HEXADECIMAL = /^(?:0x)?[0-9a-f]+$/i;
/** Of a network with base58 a transaction has 43 characters, or more than 80: this is one of another network, misnamed. */
const HASH_OF_256_BITS = /^(?:0x)?[0-9a-f]{64}$/i;

/** Each transaction as one text, however it is written: hexadecimal digits in lower case, an index without leading zeros. */
export function canonicalTransaction(
  network: CryptoNetwork | undefined,
  { cryptoTxHash: hash, cryptoTxIndex: index }: ChainTransaction,
): ChainTransaction {
  const cryptoTxIndex = index !== undefined && /^[0-9]+$/.test(index) ? index.replace(/^0+(?=[0-9])/, "") : index;
  const form = hashFormOf(network);
  const hexadecimal = form === "base58" ? HASH_OF_256_BITS : HEXADECIMAL;
  if (hash === undefined || !hexadecimal.test(hash)) return { cryptoTxHash: hash, cryptoTxIndex };
  const digits = hash.toLowerCase().replace(/^0x/, "");
  return { cryptoTxHash: form === "prefixed" ? `0x${digits}` : digits, cryptoTxIndex };
}

/** Every text that a hash may be stored as, of whichever network it is. */
export function formsOfHash(hash: string): readonly string[] {
  const forms = (["BITCOIN", "ETHEREUM", "SOLANA"] as const).map(
    (network) => canonicalTransaction(network, { cryptoTxHash: hash }).cryptoTxHash ?? hash,
  );
  return [...new Set(forms)];
}

/**
 * An output of a transaction on a chain is deposited once, whichever customer it is for and whichever network is named: an
 * operator may name the wrong one.
 * @returns no claim if none is named
 */
export function chainDepositClaims(customerId: CustomerId, details: ExternalTransferDetails, id: Uuid): Claim[] {
  const { cryptoTxHash, cryptoTxIndex } = details;
  if (cryptoTxHash === undefined || cryptoTxIndex === undefined) return [];
  const values = [cryptoTxHash.replace(/^0x/, ""), cryptoTxIndex];
  const keptBy = { index: CHAIN_DEPOSITS, values };
  return [{ customerId, kind: "chain_deposit", refId: values.join("/"), id, keptBy }];
}

// Records ------------------------------------------------------------------------------------------------------------

/** One profile's side of a transfer, as its customer sees it. */
export interface TransferRecord extends ExternalTransferDetails {
  readonly id: Uuid;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly type: RecordType;
  readonly direction: Direction;
  readonly asset: AssetCode;
  readonly amount: Amount;
  /** On the requester's record only. */
  readonly refId: string | undefined;
  readonly annotations: SideAnnotations;
  readonly createdAt: Instant;
  /** How far it is; undefined if it was complete when it was written. */
  readonly steps: ExternalTransfer | undefined;
}

/** The side of the profile that the money comes from. */
export function debitOf(transfer: Transfer, steps?: ExternalTransfer): TransferRecord {
  return recordOf(transfer, steps, {
    id: transfer.id,
    profileId: must(transfer.fromProfileId, "a debit has a profile"),
    customerId: transfer.customerId,
    type: isPaired(transfer.type) ? `${transfer.type}_DEBIT` : transfer.type,
    direction: "DEBIT",
    refId: transfer.refId,
    annotations: transfer.fromAnnotations,
  });
}

/** The side of the profile that the money goes to. */
export function creditOf(transfer: Transfer, steps?: ExternalTransfer): TransferRecord {
  const paired = isPaired(transfer.type);
  return recordOf(transfer, steps, {
    id: paired ? siblingId(transfer.id) : transfer.id,
    profileId: must(transfer.toProfileId, "a credit has a profile"),
    customerId: must(transfer.toCustomerId, "a credit has a customer"),
    type: isPaired(transfer.type) ? `${transfer.type}_CREDIT` : transfer.type,
    direction: "CREDIT",
    refId: paired ? undefined : transfer.refId,
    annotations: transfer.toAnnotations,
  });
}

type Side = Pick<TransferRecord, "id" | "profileId" | "customerId" | "type" | "direction" | "refId" | "annotations">;

/** Written out: an object that is spread and then added to takes fifty times as long to make. */
function recordOf(transfer: Transfer, steps: ExternalTransfer | undefined, side: Side): TransferRecord {
  return {
    id: side.id,
    profileId: side.profileId,
    customerId: side.customerId,
    type: side.type,
    direction: side.direction,
    asset: transfer.asset,
    amount: transfer.amount,
    refId: side.refId,
    annotations: side.annotations,
    createdAt: transfer.createdAt,
    steps,
    cryptoNetwork: transfer.cryptoNetwork,
    destinationAddress: transfer.destinationAddress,
    cryptoTxHash: transfer.cryptoTxHash,
    cryptoTxIndex: transfer.cryptoTxIndex,
    notionalValue: transfer.notionalValue,
    memo: transfer.memo,
  };
}

/** When the record last changed. */
export const updatedAtOf = ({ steps, createdAt }: Pick<TransferRecord, "steps" | "createdAt">): Instant =>
  steps?.updatedAt ?? createdAt;

/** Whether both sides are profiles, so that it has two records. */
export function isPaired(type: TransferType): type is PairedType {
  return (PAIRED_TYPES as readonly TransferType[]).includes(type);
}

/** The types of transfers whose record of this direction has one of these types. */
export function typesOf(direction: Direction, types: readonly RecordType[]): TransferType[] {
  const suffix = `_TRANSFER_${direction}`;
  return types.flatMap((type) => {
    if (type.endsWith(suffix)) return [type.slice(0, -`_${direction}`.length) as PairedType];
    const isOther = /_TRANSFER_(DEBIT|CREDIT)$/.test(type);
    return isOther || type.endsWith("_DEPOSIT") === (direction === "DEBIT") ? [] : [type as ExternalTransferType];
  });
}
