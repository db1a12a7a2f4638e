import type { CustomerId } from "../../customers/customer-id.ts";
import { columnsOf, type SqlRecord } from "../../ledger/rows.ts";
import type { Queryable } from "../../postgres/database.ts";
import { type Execution, executionTable } from "../execution.ts";

const COLUMNS = columnsOf(executionTable);

/** Filters combine with AND; what is undefined does not filter. */
export interface ExecutionFilter {
  readonly customerId: CustomerId;
  readonly profileId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly orderId?: string | undefined;
  /** Bounds on the id, both inclusive. They express time bounds and the page's start. */
  readonly from: bigint;
  readonly to: bigint;
  readonly limit: number;
}

/** Newest first. Every filter has an index that ends with the id, so deep pages are as fast as the first. */
export async function listExecutions(database: Queryable, filter: ExecutionFilter): Promise<Execution[]> {
  const rows = await database.rows<SqlRecord>(
    `select ${COLUMNS} from execution
      where customer_id = $1
        and ($2::uuid is null or profile_id = $2)
        and ($3::text is null or account_id = $3)
        and ($4::uuid is null or order_id = $4)
        and id >= $5 and id <= $6
      order by id desc limit $7`,
    [
      filter.customerId,
      filter.profileId ?? null,
      filter.accountId ?? null,
      filter.orderId ?? null,
      filter.from,
      filter.to,
      filter.limit,
    ],
  );
  return rows.map(executionTable.read);
}
