import type { CustomerId } from "../customers/customer-id.ts";
import { byId, type Filter, idBounds, listOf, sql } from "../customers/list-queries.ts";
import type { ProfileId } from "../ledger/accounts.ts";
import {
  amountColumn,
  changing,
  jsonColumn,
  key,
  textColumn,
  timeColumn,
  uuidColumn,
  versionColumn,
} from "../ledger/columns.ts";
import { columnsOf, type Key, keyOf, type SqlRecord, type StateRow, stateTable } from "../ledger/tables.ts";
import type { Amount } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { type Queryable, sqlTime } from "../postgres/database.ts";
import type { Brand } from "../std/brand.ts";
import type { Instant } from "../std/clock.ts";
import type { Uuid } from "../std/id.ts";

export type ConversionId = Brand<Uuid, "ConversionId">;

export const CONVERSION_STATUSES = ["CREATED", "SETTLED", "CANCELLED"] as const;
export type ConversionStatus = (typeof CONVERSION_STATUSES)[number];

/** CREATED -> SETTLED or CANCELLED. A closed conversion never changes again. */
export interface Conversion extends StateRow {
  readonly id: ConversionId;
  readonly profileId: ProfileId;
  readonly customerId: CustomerId;
  readonly sourceAsset: AssetCode;
  readonly targetAsset: AssetCode;
  readonly amount: Amount;
  readonly recipientProfileId: ProfileId | undefined;
  readonly refId: string | undefined;
  readonly identityId: string | undefined;
  readonly accountId: string | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly status: ConversionStatus;
  readonly createdAt: Instant;
  readonly updatedAt: Instant;
  readonly settledAt: Instant | undefined;
  readonly cancelledAt: Instant | undefined;
}

export const conversionTable = stateTable<Conversion>({
  name: "conversion",
  columns: {
    profileId: key(uuidColumn("profile_id")),
    id: key(uuidColumn("id")),
    customerId: uuidColumn("customer_id"),
    sourceAsset: textColumn("source_asset"),
    targetAsset: textColumn("target_asset"),
    amount: amountColumn("amount"),
    recipientProfileId: uuidColumn("recipient_profile_id"),
    refId: textColumn("ref_id"),
    identityId: textColumn("identity_id"),
    accountId: textColumn("account_id"),
    metadata: jsonColumn("metadata"),
    createdAt: timeColumn("created_at"),
    status: changing(textColumn("status", "conversion_status")),
    updatedAt: changing(timeColumn("updated_at")),
    settledAt: changing(timeColumn("settled_at")),
    cancelledAt: changing(timeColumn("cancelled_at")),
    version: versionColumn,
  },
  digested: true,
  keyOf: (row) => `${row.profileId}/${row.id}`,
  keyValues: (text) => text.split("/"),
});

export function conversionKey({ profileId, id }: Pick<Conversion, "profileId" | "id">): Key {
  return keyOf(conversionTable, `${profileId}/${id}`);
}

const COLUMNS = columnsOf(conversionTable);

export async function findConversion(
  database: Queryable,
  customerId: CustomerId,
  id: ConversionId,
): Promise<Conversion | undefined> {
  const [row] = await database.rows<SqlRecord>(`select ${COLUMNS} from conversion where customer_id = $1 and id = $2`, [
    customerId,
    id,
  ]);
  return row && conversionTable.read(row);
}

const CONDITIONS = {
  profileId: (id: string) => sql`profile_id = ${id}`,
  // `claim` has the index.
  refId: (refId: string, customerId: CustomerId) =>
    sql`id = (select c.id from claim c where c.customer_id = ${customerId} and c.kind = 'conversion' and c.ref_id = ${refId})`,
  status: (status: ConversionStatus) => sql`status = ${status}`,
  updatedFrom: (time: Instant) => sql`updated_at >= ${sqlTime(time)}`,
  updatedBefore: (time: Instant) => sql`updated_at < ${sqlTime(time)}`,
  ...idBounds,
};

export type ConversionFilter = Filter<typeof CONDITIONS>;

export const listConversions = listOf({ table: conversionTable, sortKey: byId, conditions: CONDITIONS });

/**
 * The oldest conversions that are still CREATED.
 * @param createdAfter also includes those with a later creation time, from a clock that was ahead
 */
export async function listDueConversions(
  database: Queryable,
  createdBefore: Instant,
  createdAfter: Instant,
  limit: number,
): Promise<Conversion[]> {
  const rows = await database.rows<SqlRecord>(
    `select ${COLUMNS} from conversion
      where status = 'CREATED' and (created_at <= $1 or created_at > $2) order by created_at limit $3`,
    [sqlTime(createdBefore), sqlTime(createdAfter), limit],
  );
  return rows.map(conversionTable.read);
}
