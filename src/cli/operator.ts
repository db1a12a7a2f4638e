/** Who is at the command line, for what is kept of a write. */
import { userInfo } from "node:os";
import type { OperatorCaller } from "../ledger/caller.ts";

/** `operation`: the command, such as "market halt". */
export function operatorOf(operation: string): OperatorCaller {
  return { operator: userName(), operation };
}

/** In a container the user need not have a name: then it is the number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`;
  }
}
