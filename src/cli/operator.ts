/** The operator at the command line, for the audit trail. */
import { userInfo } from "node:os";
import type { OperatorCaller } from "../ledger/caller.ts";

/**
 * @param operation The command, such as "market halt".
 * @param person The name that they gave with --as.
 */
export function operatorOf(operation: string, person: string | undefined): OperatorCaller {
  return { operator: userName(), ...(person !== undefined && { person }), operation };
}

/** In a container the user may have no name; then the uid is used. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
