import type { MarketCode } from "../../catalogue/market.ts";
import type { CustomerId } from "../../customers/customer-id.ts";
import { type Amount, amountOf } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Day } from "../customer-volume.ts";

/** A customer's volume on each market from a day on. Reads one row per day and market. */
export async function readGross(
  database: Queryable,
  customerId: CustomerId,
  since: Day,
): Promise<{ readonly market: MarketCode; readonly gross: Amount }[]> {
  const rows = await database.rows<{ market: MarketCode; gross: string }>(
    "select market, sum(gross) as gross from customer_volume where customer_id = $1 and day >= $2 group by market",
    [customerId, since],
  );
  return rows.map(({ market, gross }) => ({ market, gross: amountOf(gross) }));
}
