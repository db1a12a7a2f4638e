/** Lists executions for their parties. Ids encode times, so bounds on time are bounds on ids. */
import { allOf, annotationConditions, type Filter, listOf, sql } from "../../customers/list-queries.ts";
import type { Instant } from "../../std/clock.ts";
import { EXECUTION_ANNOTATIONS, executionTable } from "../execution.ts";
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

export const listExecutions = listOf({ table: allOf(executionTable), sortKey: BY_ID, conditions: CONDITIONS });
