/** Which failures of a batch are conflicts with other processes. */
import { serverError } from "../../postgres/database.ts";
import type { Claim } from "../decision.ts";

/** Another process was first with a row or a claim. */
const CONFLICT_CONSTRAINTS = ["rows_changed_meanwhile", "claim_pkey", "claims_already_made"];
const CONTENTION_CONSTRAINTS = [...CONFLICT_CONSTRAINTS, "chain_broken", "clock_ahead", "too_late", "batch_pkey"];

/**
 * Whether PostgreSQL refused a batch because another process was first with what it has. Then it is known not to have
 * committed, whereas slot, session and clocks are as they were.
 *
 * A rule of a table is broken by what was decided on rows of different times, when another process changed one of them in
 * between. The batch would have been refused for that anyway, but PostgreSQL checks the table first, and so neither slot nor
 * clocks: if those have changed, deciding again under lock finds it out.
 * @param claims the batch's: their unique indexes may have rejected it
 */
export function isConflict(error: Error, claims: readonly Claim[]): boolean {
  const { code, constraint, table } = serverError(error) ?? {};
  if (constraint === undefined) return false;
  if (CONFLICT_CONSTRAINTS.includes(constraint) || isKeptBy(constraint, claims)) return true;
  return code === CHECK_VIOLATION && table !== undefined && table !== "batch";
}

const CHECK_VIOLATION = "23514";

const isKeptBy = (constraint: string, claims: readonly Claim[]): boolean =>
  claims.some(({ keptBy }) => keptBy?.index.constraint === constraint);

/**
 * Whether a batch failed because of concurrent work, so that a retry may succeed.
 * @param claims the batch's: their unique indexes may have rejected it
 */
export function isContention(error: Error, claims: readonly Claim[]): boolean {
  const sent = serverError(error);
  if (sent === undefined) return false;
  if (sent.constraint !== undefined && CONTENTION_CONSTRAINTS.includes(sent.constraint)) return true;
  if (sent.constraint !== undefined && isKeptBy(sent.constraint, claims)) return true;
  // Deadlock, serialisation, lock not available, statement timed out, terminated by timeout.
  return ["40P01", "40001", LOCK_NOT_AVAILABLE, "57014", "25P03"].includes(sent.code);
}

/** Another process holds what a batch needs that is decided under lock: it was not committed. */
export class Held extends Error {
  override readonly name = "Held";
}

const LOCK_NOT_AVAILABLE = "55P03";

/** The statement has waited for a lock as long as it may, and has done nothing. */
export const isLockTimeout = (error: Error): boolean => serverError(error)?.code === LOCK_NOT_AVAILABLE;
