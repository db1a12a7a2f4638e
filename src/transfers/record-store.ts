/** Records by their ids, for events. */
import type { CustomerId } from "../customers/customer-id.ts";
import { columnsOf, type SqlRecord } from "../ledger/tables.ts";
import type { Queryable } from "../postgres/database.ts";
import { evenOf, type Uuid } from "../std/id.ts";
import { creditOf, debitOf, isPaired, type Transfer, type TransferRecord, transferTable } from "./transfer.ts";

/** Rows that need not be read, by the id of their debit. */
export type Remembered = (id: Uuid) => Transfer | undefined;

/**
 * The customer's records with these ids, in no order, without the steps of those that have any. A list takes twice as long:
 * it sorts, and looks for what has steps.
 */
export async function findRecords(
  database: Queryable,
  customerId: CustomerId,
  ids: readonly Uuid[],
  remembered?: Remembered,
): Promise<TransferRecord[]> {
  const rows = new Map<Uuid, Transfer>();
  const wanted = [...new Set(ids.map(evenOf))];
  if (remembered !== undefined)
    for (const id of wanted) {
      const row = remembered(id);
      if (row !== undefined) rows.set(id, row);
    }
  for (const customer of ["customer_id", "to_customer_id"] as const) {
    const missing = wanted.filter((id) => !rows.has(id));
    if (missing.length === 0) break;
    const found = await database.rows<SqlRecord>(
      `select ${columnsOf(transferTable)} from transfer where ${customer} = $1 and id = any($2::uuid[])`,
      [customerId, missing],
    );
    for (const row of found.map(transferTable.read)) rows.set(row.id, row);
  }
  return ids.flatMap((id) => {
    const row = rows.get(evenOf(id));
    if (row === undefined) return [];
    const isDebit = isPaired(row.type) ? id === row.id : row.fromProfileId !== undefined;
    const record = isDebit ? debitOf(row) : creditOf(row);
    return record.id === id && record.customerId === customerId ? [record] : [];
  });
}
