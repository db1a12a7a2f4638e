/** What must be true of bulks of transfers, which are one command each. */
import type { BulkItem, BulkRequest } from "../../../src/transfers/transfers.ts";
import type { Row } from "../postgres/tables.ts";
import type { Action, WorkloadCommand } from "../workload.ts";
import { invariant } from "./invariants.ts";

/** A bulk takes effect in one commit, with the ref_id and a journal of each item. */
export function checkBulk(
  { customerId, items }: BulkRequest,
  row: Row,
  rowsOf: (table: string) => readonly Row[],
): void {
  const refIds = items.map(({ refId }) => refId);
  const isItem = row.customer_id === customerId && refIds.includes(String(row.ref_id));
  invariant(isItem, `transfer ${row.id} is an item of its bulk`);
  const hasJournal = rowsOf("posting").some(({ journal_id }) => journal_id === row.id);
  invariant(hasJournal, `transfer ${row.id} has moved its money`);
  const count = rowsOf("transfer").filter(({ ref_id }) => refIds.includes(String(ref_id))).length;
  invariant(count === items.length, `${count} of ${items.length} items take effect with ${row.ref_id}`);
}

/** The name of a command's effect. Each item of a bulk has one of its own. */
export const effectOf = ({ number, action }: WorkloadCommand, refId: unknown): string =>
  action.kind === "bulk" ? `${number}, ${refId}` : String(number);

export const itemOf = (action: Action, refId: unknown): BulkItem | undefined =>
  action.kind === "bulk" ? action.request.items.find((item) => item.refId === refId) : undefined;

export const claimOf = ({ customerId, refId }: BulkItem) => ({ customerId, kind: "transfer" as const, refId });

/** What the items before the rejected one would have paid into the account that lacks funds; negative for out of it. */
export function paidBefore(action: Action, { profileId, asset, index }: Readonly<Record<string, unknown>>): bigint {
  if (action.kind !== "bulk") return 0n;
  const before = action.request.items.slice(0, Number(index)).filter((item) => item.asset === asset);
  return before.reduce((sum, { from, to, amount }) => {
    const paid = to.profileId === profileId ? (amount as bigint) : 0n;
    return sum + paid - (from.profileId === profileId ? (amount as bigint) : 0n);
  }, 0n);
}
