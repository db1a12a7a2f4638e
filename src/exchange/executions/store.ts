/** Lists executions for their parties. Ids encode times, so bounds on time are bounds on ids. */
import { annotationConditions, type Filter, type Listed, listOf, sql } from "../../customers/list-queries.ts";
import { partOf } from "../../ledger/tables.ts";
import { canonicalAmount } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import { EXECUTION_ANNOTATIONS, executionTable, type ShownExecution } from "../execution.ts";
import { HIGHEST_EXECUTION, lowestId } from "../execution-id.ts";

/** Within the column's range: callers send any number. */
const storable = (id: bigint): bigint => (id < HIGHEST_EXECUTION ? id : HIGHEST_EXECUTION);

const BY_ID = { columns: ["id"], valuesAt: (id: bigint) => [storable(id)] };

/** Each but the bounds has an index that ends with the id, so deep pages are as fast as the first. */
const CONDITIONS = {
  profileId: (id: string) => sql`profile_id = ${id}`,
  orderId: (id: string) => sql`order_id = ${id}`,
  ...annotationConditions(EXECUTION_ANNOTATIONS),
  /** Executions after this id are left out. It need not be the id of an execution. */
  since: (id: bigint) => sql`id <= ${storable(id)}`,
  from: (time: Instant) => sql`id >= ${lowestId(time)}`,
  before: (time: Instant) => sql`id < ${lowestId(time)}`,
};

export type ExecutionFilter = Filter<typeof CONDITIONS, bigint>;

const AS_THEY_ARE = ["orderId", "market", "side", "annotations", "executedAt"] as const;
const asTheyAre = partOf(executionTable, AS_THEY_ARE);

/** Amounts stay text, which would only be printed again; what they multiply to is the database's work. */
const SHOWN: Listed<ShownExecution> = {
  name: executionTable.name,
  columns: `id, amount, price, commission, rebate, amount * price as gross, ${asTheyAre.columns}`,
  read: (stored) => {
    const { orderId, market, side, annotations, executedAt } = asTheyAre.read(stored);
    const amountIn = (column: string): string => canonicalAmount(stored[column] as string);
    return {
      id: stored.id as string,
      orderId,
      market,
      side,
      annotations,
      executedAt,
      amount: amountIn("amount"),
      price: amountIn("price"),
      commission: amountIn("commission"),
      rebate: amountIn("rebate"),
      gross: amountIn("gross"),
    };
  },
};

export const listExecutions = listOf({ table: SHOWN, sortKey: BY_ID, conditions: CONDITIONS });
