/** Which steps a deposit or a withdrawal may take, stated again for the model. */
import type { Row } from "../postgres/tables.ts";

type NextSteps = Readonly<Record<string, readonly string[]>>;
const WITHDRAWAL_STEPS: NextSteps = {
  requested: ["approved", "cancelled"],
  approved: ["sent", "cancelled"],
  sent: ["completed", "failed"],
};
const DEPOSIT_STEPS: NextSteps = { requested: ["completed", "failed"] };

/** The statuses in which it may be at this version. @param was undefined: it was not requested yet */
export function statusesAfter(isWithdrawal: boolean, was: Row | undefined, version: number): readonly string[] {
  const next = isWithdrawal ? WITHDRAWAL_STEPS : DEPOSIT_STEPS;
  let reached: readonly string[] = was === undefined ? ["requested"] : [String(was.status)];
  for (let at = Number(was?.version ?? 1); at < version; at += 1)
    reached = reached.flatMap((status) => next[status] ?? []);
  return reached;
}
