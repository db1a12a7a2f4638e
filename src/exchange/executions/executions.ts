/** Lists executions for their parties. Ids encode times, so bounds on time are bounds on ids. */
import type { CustomerId } from "../../customers/customer-id.ts";
import type { Queryable } from "../../postgres/database.ts";
import { must } from "../../std/assert.ts";
import type { Instant } from "../../std/clock.ts";
import type { Execution, ExecutionId } from "../execution.ts";
import { executedAtOf, firstIdAt, NO_EXECUTION } from "../execution-id.ts";
import { listExecutions } from "./store.ts";

/** Filters combine with AND; what is undefined does not filter. */
export interface ExecutionQuery {
  readonly customerId: CustomerId;
  readonly profileId?: string | undefined;
  readonly accountId?: string | undefined;
  readonly orderId?: string | undefined;
  /** Executions after this id are left out. It need not be the id of an execution. */
  readonly since?: bigint | undefined;
  /** Time bounds: `from` is inclusive, `before` exclusive. */
  readonly from?: Instant | undefined;
  readonly before?: Instant | undefined;
  /** The last one of the previous page. */
  readonly after?: bigint | undefined;
  readonly limit: number;
}

/** The maximum of the column. */
const HIGHEST = (2n ** 63n - 1n) as ExecutionId;
const FIRST_MARKET = 1;

/** Newest first. */
export async function readExecutions(database: Queryable, query: ExecutionQuery): Promise<Execution[]> {
  const { since, from, before, after, ...filter } = query;
  const to = lowestOf([
    HIGHEST,
    ...(since === undefined ? [] : [since]),
    ...(before === undefined ? [] : [lowestId(before) - 1n]),
    ...(after === undefined ? [] : [after - 1n]),
  ]);
  return listExecutions(database, { ...filter, from: from === undefined ? 0n : lowestId(from), to });
}

/** The lowest possible id, of any market, at this time or later. */
export function lowestId(instant: Instant): bigint {
  if (instant <= executedAtOf(NO_EXECUTION)) return NO_EXECUTION;
  return instant > executedAtOf(HIGHEST) ? HIGHEST : firstIdAt(instant, FIRST_MARKET);
}

function lowestOf(bounds: readonly bigint[]): bigint {
  const [lowest] = bounds.toSorted((a, b) => (a < b ? -1 : 1));
  return must(lowest, "there is a bound");
}
