import type { CustomerId } from "../customers/customer-id.ts";
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
import { columnsOf, type Key, keyOf, type SqlRecord, type StateRow, stateTable } from "../ledger/rows.ts";
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
    seq: versionColumn,
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

/** Filters combine with AND. */
export interface ConversionFilter {
  readonly customerId: CustomerId;
  readonly profileId?: string | undefined;
  readonly refId?: string | undefined;
  readonly status?: ConversionStatus | undefined;
  readonly updatedFrom?: Instant | undefined;
  readonly updatedBefore?: Instant | undefined;
  readonly order: "ASC" | "DESC";
  /** Bounds on the id, and so on the creation time: `from` inclusive, `before` exclusive. */
  readonly from?: Uuid | undefined;
  readonly before?: Uuid | undefined;
  /** The last id of the previous page. */
  readonly after?: Uuid | undefined;
  readonly limit: number;
}

/** By id, which is by creation. A ref_id is found through `claim`, which has the index. */
export async function listConversions(database: Queryable, filter: ConversionFilter): Promise<Conversion[]> {
  const ascending = filter.order === "ASC";
  const rows = await database.rows<SqlRecord>(
    `select ${COLUMNS} from conversion
      where customer_id = $1
        and ($2::uuid is null or profile_id = $2)
        and ($3::text is null or id = (
              select c.id from claim c where c.customer_id = $1 and c.kind = 'conversion' and c.ref_id = $3))
        and ($4::conversion_status is null or status = $4)
        and ($5::timestamptz is null or updated_at >= $5)
        and ($6::timestamptz is null or updated_at < $6)
        and ($7::uuid is null or id >= $7)
        and ($8::uuid is null or id < $8)
        and ($9::uuid is null or id ${ascending ? ">" : "<"} $9)
      order by id ${ascending ? "asc" : "desc"} limit $10`,
    [
      filter.customerId,
      filter.profileId ?? null,
      filter.refId ?? null,
      filter.status ?? null,
      sqlTime(filter.updatedFrom),
      sqlTime(filter.updatedBefore),
      filter.from ?? null,
      filter.before ?? null,
      filter.after ?? null,
      filter.limit,
    ],
  );
  return rows.map(conversionTable.read);
}

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
