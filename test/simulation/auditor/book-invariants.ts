/**
 * What an order book promises, checked on the rows alone: an engine with a stale book would break it, even though every
 * balance is right.
 */

import type { Commit } from "../postgres/simulated-postgres.ts";
import type { Row, Tables } from "../postgres/tables.ts";
import { invariant } from "./invariants.ts";

export function checkBook(commit: Commit, tables: Tables): void {
  if (!commit.changes.some(({ table }) => table === "orders")) return;
  checkUncrossed(tables);
  checkPriority(commit, tables);
}

/** Resting orders do not cross. */
function checkUncrossed(tables: Tables): void {
  const open = tables.rows("orders").filter(({ status }) => status === "OPEN");
  const prices = (side: string): number[] => open.filter((row) => row.side === side).map((row) => Number(row.price));
  const [bid, ask] = [Math.max(...prices("BUY")), Math.min(...prices("SELL"))];
  invariant(bid < ask, `the best bid, ${bid}, is below the best offer, ${ask}`);
}

/** Price-time priority: every order of the book that precedes the maker of a match is filled or closed too. */
function checkPriority({ changes }: Commit, tables: Tables): void {
  const touched = new Map(
    changes.flatMap(({ table, key, row }) => (table === "orders" ? [[key, row]] : [])) as [string, Row][],
  );
  const untouched = tables
    .rows("orders")
    .filter((row) => row.status === "OPEN" && !touched.has(`${row.profile_id}/${row.id}`));
  const orderOf = (execution: Row): Row | undefined => touched.get(`${execution.profile_id}/${execution.order_id}`);
  const executions = changes.flatMap(({ table, row }) => (table === "execution" && row !== undefined ? [row] : []));
  for (const execution of executions) {
    const [maker, taker] = [
      orderOf(execution),
      executions.find(({ id }) => BigInt(String(id)) === BigInt(String(execution.id)) + 1n),
    ];
    if (BigInt(String(execution.id)) % 2n === 1n || maker === undefined || taker === undefined) continue;
    const passedOver = untouched.find(
      (row) => row.side === maker.side && row.customer_id !== taker.customer_id && comesBefore(row, maker),
    );
    invariant(passedOver === undefined, `order ${maker.id} is filled before ${passedOver?.id}, which precedes it`);
  }
}

function comesBefore(a: Row, b: Row): boolean {
  const better = a.side === "BUY" ? Number(a.price) - Number(b.price) : Number(b.price) - Number(a.price);
  return better > 0 || (better === 0 && Number(a.priority) < Number(b.priority));
}
