import type { CustomerId } from "../customers/customer-id.ts";
import { allOf, annotationConditions, byId, type Filter, idBounds, listOf, sql } from "../customers/list-queries.ts";
import { columnsOf, type SqlRecord } from "../ledger/tables.ts";
import { type Queryable, sqlTime } from "../postgres/database.ts";
import type { Instant } from "../std/clock.ts";
import {
  CONVERSION_ANNOTATIONS,
  type Conversion,
  type ConversionId,
  type ConversionStatus,
  conversionTable,
} from "./conversion.ts";

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
  ...annotationConditions(CONVERSION_ANNOTATIONS),
  ...idBounds,
};

export type ConversionFilter = Filter<typeof CONDITIONS>;

export const listConversions = listOf({ table: allOf(conversionTable), sortKey: byId, conditions: CONDITIONS });

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
