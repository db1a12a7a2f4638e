import type { CustomerId } from "../customers/customer-id.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import {
  amountColumn,
  jsonColumn,
  optionalsOf,
  type RecordTable,
  type SqlRecord,
  textColumn,
  timeColumn,
  uuidColumn,
} from "../ledger/rows.ts";
import { type Amount, amountOf, ZERO } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import type { Queryable } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";

export const TRANSFER_TYPES = [
  "INTERNAL_TRANSFER_DEBIT",
  "INTERNAL_TRANSFER_CREDIT",
  "CRYPTO_DEPOSIT",
  "CRYPTO_WITHDRAWAL",
  "WIRE_DEPOSIT",
  "WIRE_WITHDRAWAL",
  "SEN_DEPOSIT",
  "SEN_WITHDRAWAL",
  "BANK_DEPOSIT",
  "BANK_WITHDRAWAL",
  "PLATFORM_TRANSFER_DEBIT",
  "PLATFORM_TRANSFER_CREDIT",
  "SIGNET_DEPOSIT",
  "SIGNET_WITHDRAWAL",
  "CBIT_WITHDRAWAL",
  "CBIT_DEPOSIT",
  "CUBIX_DEPOSIT",
  "CUBIX_WITHDRAWAL",
  "RTP_DEPOSIT",
] as const;
export type TransferType = (typeof TRANSFER_TYPES)[number];

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
] as const;
export type CryptoNetwork = (typeof CRYPTO_NETWORKS)[number];

/** What is known of a deposit or withdrawal outside of the platform. */
export interface ExternalTransfer {
  readonly cryptoNetwork?: CryptoNetwork | undefined;
  readonly destinationAddress?: string | undefined;
  readonly cryptoTxHash?: string | undefined;
  readonly cryptoTxIndex?: string | undefined;
  /** In USD. */
  readonly notionalValue?: Amount | undefined;
  readonly memo?: string | undefined;
}

/**
 * One profile's side of a movement. A transfer is two of these whose ids are siblings: the even one is the debit's, and
 * names the group. Transfers take no fee, and are complete when they are made.
 */
export interface Transfer extends ExternalTransfer {
  readonly id: Uuid;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly type: TransferType;
  readonly direction: "CREDIT" | "DEBIT";
  readonly asset: AssetCode;
  readonly amount: Amount;
  readonly refId?: string | undefined;
  readonly identityId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly createdAt: Instant;
}

export const transferTable: RecordTable<Transfer> = {
  name: "transfer",
  columns: [
    uuidColumn("profile_id", (row) => row.profileId),
    uuidColumn("id", (row) => row.id),
    uuidColumn("customer_id", (row) => row.customerId),
    textColumn("type", "transfer_type", (row) => row.type),
    textColumn("direction", "direction", (row) => row.direction),
    textColumn("asset", "text", (row) => row.asset),
    amountColumn("amount", (row) => row.amount),
    amountColumn("fee", () => ZERO),
    textColumn("ref_id", "text", (row) => row.refId),
    textColumn("identity_id", "text", (row) => row.identityId),
    textColumn("account_id", "text", (row) => row.accountId),
    jsonColumn("metadata", (row) => row.metadata),
    textColumn("crypto_network", "crypto_network", (row) => row.cryptoNetwork),
    textColumn("destination_address", "text", (row) => row.destinationAddress),
    textColumn("crypto_tx_hash", "text", (row) => row.cryptoTxHash),
    textColumn("crypto_tx_index", "text", (row) => row.cryptoTxIndex),
    amountColumn("notional_value", (row) => row.notionalValue),
    textColumn("memo", "text", (row) => row.memo),
    timeColumn("created_at", (row) => row.createdAt),
  ],
  hasCaller: true,
  orderBy: (row) => `${row.profileId}/${row.id}`,
  read: readTransfer,
};

const COLUMNS = transferTable.columns.map((column) => column.name).join(", ");

function readTransfer(record: SqlRecord): Transfer {
  const maybe = optionalsOf(record);
  return {
    id: record.id as Uuid,
    profileId: record.profile_id as ProfileId,
    customerId: record.customer_id as CustomerId,
    type: record.type as TransferType,
    direction: record.direction as Transfer["direction"],
    asset: record.asset as AssetCode,
    amount: amountOf(record.amount as string),
    refId: maybe("ref_id"),
    identityId: maybe("identity_id"),
    accountId: maybe("account_id"),
    metadata: maybe("metadata"),
    cryptoNetwork: maybe("crypto_network"),
    destinationAddress: maybe("destination_address"),
    cryptoTxHash: maybe("crypto_tx_hash"),
    cryptoTxIndex: maybe("crypto_tx_index"),
    notionalValue: maybe("notional_value", amountOf),
    memo: maybe("memo"),
    createdAt: record.created_at as Instant,
  };
}

export async function findTransfer(
  database: Queryable,
  customerId: CustomerId,
  id: Uuid,
): Promise<Transfer | undefined> {
  const [row] = await database.rows<SqlRecord>(`select ${COLUMNS} from transfer where customer_id = $1 and id = $2`, [
    customerId,
    id,
  ]);
  return row && readTransfer(row);
}

/** Filters combine with AND; what is undefined does not filter. */
export interface TransferFilter {
  readonly customerId: CustomerId;
  readonly profileIds?: readonly string[] | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly refIds?: readonly string[] | undefined;
  readonly accountIds?: readonly string[] | undefined;
  readonly identityIds?: readonly string[] | undefined;
  readonly types?: readonly TransferType[] | undefined;
  readonly order: "ASC" | "DESC";
  /** Bounds on the id, which are bounds on the creation time: from, inclusive, and before. */
  readonly from?: Uuid | undefined;
  readonly before?: Uuid | undefined;
  /** Where the page before ended. */
  readonly after?: Uuid | undefined;
  readonly limit: number;
}

/** In the order of the ids, which is that of creation. A ref_id is found by its claim, which has an index. */
export async function listTransfers(database: Queryable, filter: TransferFilter): Promise<Transfer[]> {
  const ascending = filter.order === "ASC";
  const rows = await database.rows<SqlRecord>(
    `select ${COLUMNS} from transfer
      where customer_id = $1
        and ($2::uuid[] is null or profile_id = any($2))
        and ($3::uuid[] is null or id = any($3))
        and ($4::text[] is null or id = any(array(
              select c.id from claim c where c.customer_id = $1 and c.kind = 'transfer' and c.ref_id = any($4))))
        and ($5::text[] is null or account_id = any($5))
        and ($6::text[] is null or identity_id = any($6))
        and ($7::transfer_type[] is null or type = any($7))
        and ($8::uuid is null or id >= $8)
        and ($9::uuid is null or id < $9)
        and ($10::uuid is null or id ${ascending ? ">" : "<"} $10)
      order by id ${ascending ? "asc" : "desc"} limit $11`,
    [
      filter.customerId,
      filter.profileIds ?? null,
      filter.ids ?? null,
      filter.refIds ?? null,
      filter.accountIds ?? null,
      filter.identityIds ?? null,
      filter.types ?? null,
      filter.from ?? null,
      filter.before ?? null,
      filter.after ?? null,
      filter.limit,
    ],
  );
  return rows.map(readTransfer);
}
