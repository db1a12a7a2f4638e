/** Reports outcomes to callers once everything that they depend on is durable. */
import { done } from "../../std/result.ts";
import type { Decided, PendingCommand } from "./pending-command.ts";
import type { RefIdLookup } from "./reading/ref-id-lookup.ts";

/**
 * Reports the outcomes that are final.
 * @returns the others: a rejected command with a ref_id may be the retry of one that succeeded
 */
export function report(decided: readonly Decided[]): Decided[] {
  const toLookUp: Decided[] = [];
  for (const one of decided) {
    const { pending, decision } = one;
    if (decision.kind === "done") pending.complete(done(decision.value));
    else if (decision.kind === "rejected" && pending.claims.length === 0) pending.complete(decision);
    else toLookUp.push(one);
  }
  return toLookUp;
}

/**
 * Reports those others once their ref_ids have been looked up.
 * @returns the commands that are to be decided again: their ref_id seemed to be taken, but is free
 */
export async function reportByRefId(refIds: RefIdLookup, decided: readonly Decided[]): Promise<Set<PendingCommand>> {
  const free = await refIds.lookUp(decided.map(({ pending }) => pending));
  for (const { pending, decision } of decided) {
    if (decision.kind === "rejected" && free.delete(pending)) pending.complete(decision);
  }
  return free;
}
