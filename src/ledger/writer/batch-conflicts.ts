/** Which failures of a batch are conflicts with other processes. */
import { serverError } from "../../postgres/database.ts";
import type { Claim } from "../decision.ts";

const CONTENTION_CONSTRAINTS = [
  "rows_changed_meanwhile",
  "claim_pkey",
  "claims_already_made",
  "chain_broken",
  "clock_ahead",
  "too_late",
  "batch_pkey",
];

/**
 * Whether a batch failed because of concurrent work, so that a retry may succeed.
 * @param claims the batch's: their unique indexes may have rejected it
 */
export function isContention(error: Error, claims: readonly Claim[]): boolean {
  const sent = serverError(error);
  if (sent === undefined) return false;
  if (sent.constraint !== undefined && CONTENTION_CONSTRAINTS.includes(sent.constraint)) return true;
  if (claims.some(({ keptBy }) => keptBy?.index.constraint === sent.constraint)) return true;
  // Deadlock, serialisation, lock not available, statement timed out, terminated by timeout.
  return ["40P01", "40001", "55P03", "57014", "25P03"].includes(sent.code);
}
