import type { CustomerId } from "../customers/customer-id.ts";
import { byId, type Filter, idBounds, listOf, sql } from "../customers/list-queries.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import { amountColumn, jsonColumn, textColumn, timeColumn, uuidColumn } from "../ledger/columns.ts";
import { columnsOf, recordTable, type SqlRecord } from "../ledger/tables.ts";
import type { Amount } from "../money/amount.ts";
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

/**
 * One profile's side of a movement. A transfer between profiles is two of these with sibling ids; the even id is that of
 * the debit and of the group. Transfers have no fee, and are complete when they are recorded.
 */
export interface Transfer extends ExternalTransferDetails {
  readonly id: Uuid;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly type: TransferType;
  readonly direction: "CREDIT" | "DEBIT";
  readonly asset: AssetCode;
  readonly amount: Amount;
  /** Always zero: transfers take no fee. */
  readonly fee: Amount;
  readonly refId: string | undefined;
  readonly identityId: string | undefined;
  readonly accountId: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly createdAt: Instant;
}

export const transferTable = recordTable<Transfer>({
  name: "transfer",
  columns: {
    profileId: uuidColumn("profile_id"),
    id: uuidColumn("id"),
    customerId: uuidColumn("customer_id"),
    type: textColumn("type", "transfer_type"),
    direction: textColumn("direction", "direction"),
    asset: textColumn("asset"),
    amount: amountColumn("amount"),
    fee: amountColumn("fee"),
    refId: textColumn("ref_id"),
    identityId: textColumn("identity_id"),
    accountId: textColumn("account_id"),
    metadata: jsonColumn("metadata"),
    cryptoNetwork: textColumn("crypto_network", "crypto_network"),
    destinationAddress: textColumn("destination_address"),
    cryptoTxHash: textColumn("crypto_tx_hash"),
    cryptoTxIndex: textColumn("crypto_tx_index"),
    notionalValue: amountColumn("notional_value"),
    memo: textColumn("memo"),
    createdAt: timeColumn("created_at"),
  },
  hasCaller: true,
  orderBy: (row) => `${row.profileId}/${row.id}`,
});

const COLUMNS = columnsOf(transferTable);

export async function findTransfer(
  database: Queryable,
  customerId: CustomerId,
  id: Uuid,
): Promise<Transfer | undefined> {
  const [row] = await database.rows<SqlRecord>(`select ${COLUMNS} from transfer where customer_id = $1 and id = $2`, [
    customerId,
    id,
  ]);
  return row && transferTable.read(row);
}

const CONDITIONS = {
  profileIds: (ids: readonly string[]) => sql`profile_id = any(${ids})`,
  ids: (ids: readonly string[]) => sql`id = any(${ids})`,
  // `claim` has the index.
  refIds: (refIds: readonly string[], customerId: CustomerId) =>
    sql`id = any(array(
      select c.id from claim c where c.customer_id = ${customerId} and c.kind = 'transfer' and c.ref_id = any(${refIds})))`,
  accountIds: (ids: readonly string[]) => sql`account_id = any(${ids})`,
  identityIds: (ids: readonly string[]) => sql`identity_id = any(${ids})`,
  types: (types: readonly TransferType[]) => sql`type = any(${types})`,
  ...idBounds,
};

export type TransferFilter = Filter<typeof CONDITIONS>;

export const listTransfers = listOf({ table: transferTable, sortKey: byId, conditions: CONDITIONS });
