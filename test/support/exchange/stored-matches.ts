/** Matches in the past, as the engine would have stored them. */
import type { ExecutionId } from "../../../src/exchange/execution.ts";
import { nextMatchId, takerId } from "../../../src/exchange/execution-id.ts";
import type { Queryable } from "../../../src/postgres/database.ts";
import type { Instant } from "../../../src/std/clock.ts";
import { IdSource } from "../../../src/std/id.ts";

export interface StoredMatch {
  readonly at: number;
  /** In whole dollars, and in thousandths of the base asset. */
  readonly price: number;
  readonly amount: number;
}

/** Stores the maker's row and the taker's of each. They come in the order of their times. */
export async function storeMatches(owner: Queryable, market: string, made: readonly StoredMatch[]): Promise<void> {
  const [row] = await owner.rows<{ number: number }>("select number from market where code = $1", [market]);
  let last = 0n as ExecutionId;
  const rows = made.flatMap(({ at, price, amount }) => {
    const maker = nextMatchId(last, row?.number ?? 0, at as Instant);
    last = takerId(maker);
    return [maker, last].map((id) => ({ id: `${id}`, at: new Date(at).toISOString(), price, amount: amount / 1_000 }));
  });
  await owner.rows(
    `insert into execution (profile_id, id, customer_id, order_id, market, side, amount, price, commission, rebate,
                            executed_at, slot, batch)
     select $1, id, $1, $1, $2, case id & 1 when 0 then 'SELL' else 'BUY' end::order_side, amount, price, 0, 0, at, 1, 1
       from jsonb_to_recordset($3) as row (id bigint, at timestamptz, price numeric, amount numeric)`,
    [new IdSource().next(), market, JSON.stringify(rows)],
  );
}
