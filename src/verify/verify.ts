/**
 * Verifies everything: recomputes derived data from its sources and reports every record that does not match. It may
 * run while money moves, on the primary or on a replica. The checks:
 *
 *   known columns     this version knows every table and column that the batches wrote
 *   chain             the batches of each slot are numbered without gaps and match their hashes
 *   journals          each sums to zero per asset, and changes each reserve as it does the supply
 *   transfers         debit and credit exist and match their journal
 *   matches           each journal moved what its executions and orders require
 *   conversions       each matches its journals
 *   external transfers  each step may follow the one before it, and moved what it has to
 *   legal holds       each was placed, and perhaps lifted, with its amount
 *   changing rows     each row matches the digest in the batch that it refers to
 *   append-only rows  each belongs to a batch
 *   accounts          each equals the result of its postings
 *   reserve           of each stablecoin: equals its outstanding supply, which profiles hold
 *   pending, trading  held parts equal the holds of conversions, withdrawals and the law, and of orders
 *   orders            each holds what its remainder needs, and has filled what its executions say
 *   executions        both sides exist, at the rates of their orders
 *   customer volumes  each equals the sum of its executions
 *   incoming counts   profiles count the records that will pay into them
 *   events            each follows from the batches, and none is missing
 *   claims            every ref_id refers to its record, and every record to its ref_id
 */
import { type ChainHead, readHeads } from "../ledger/stored-batches.ts";
import type { LaneTables } from "../ledger/tables.ts";
import type { Database } from "../postgres/database.ts";
import { type CheckResult, type Examination, examine, type ProgressListener } from "./check.ts";
import { eventsExamination } from "./events/events.ts";
import { customerVolumeExamination } from "./exchange/customer-volume.ts";
import { executionsExamination } from "./exchange/executions.ts";
import { matchCheck } from "./exchange/matches.ts";
import { ordersExamination, tradingExamination } from "./exchange/orders.ts";
import { LANE_TABLES } from "./lane-tables.ts";
import { accountsExamination } from "./ledger/accounts.ts";
import { chainExamination } from "./ledger/chain.ts";
import { missingRowsCheck, statesExamination } from "./ledger/changing-rows.ts";
import { incomingCountExamination } from "./ledger/incoming-counts.ts";
import { journalCheck } from "./ledger/journals.ts";
import { KNOWN_COLUMNS, knownColumnsExamination } from "./ledger/known-columns.ts";
import { claimsExamination } from "./ledger/ref-id-claims.ts";
import { reserveExamination } from "./ledger/reserve.ts";
import { recordsExamination } from "./ledger/rows-without-batch.ts";
import { conversionCheck } from "./operations/conversions.ts";
import { externalTransferCheck } from "./operations/external-transfers.ts";
import { legalHoldCheck } from "./operations/legal-holds.ts";
import { pendingExamination } from "./operations/pending-holds.ts";
import { transferCheck } from "./operations/transfers.ts";
import { findTimesAhead } from "./times-ahead.ts";

export interface VerifyReport {
  readonly checks: readonly CheckResult[];
  /** The chains' heads when verification began. */
  readonly heads: readonly ChainHead[];
  /** Without a checkpoint, a chain that was recomputed as a whole looks sound. */
  readonly hadCheckpoint: boolean;
  /** Everything was verified, and nothing is broken. */
  readonly sound: boolean;
  /** False: there are tables or columns that this version does not know. What they hold was not verified. */
  readonly complete: boolean;
  /** For the operator, though nothing is broken. */
  readonly notes: readonly string[];
}

export interface VerifyOptions {
  /** Heads that were recorded outside the database. */
  readonly checkpoint?: readonly ChainHead[];
  readonly watcher?: ProgressListener;
  /** What this version knows. */
  readonly tables?: LaneTables;
}

export async function verifyAll(database: Database, options: VerifyOptions = {}): Promise<VerifyReport> {
  const { tables = LANE_TABLES, checkpoint } = options;
  const heads = await readHeads(database);
  const checks = await examine(database, examinations(tables, checkpoint), options.watcher);
  const sound = checks.every(({ broken }) => broken === 0);
  const complete = checks.every(({ check, broken }) => check !== KNOWN_COLUMNS || broken === 0);
  const notes = await findTimesAhead(database);
  return { checks, heads, hadCheckpoint: checkpoint !== undefined, sound, complete, notes };
}

function examinations(tables: LaneTables, checkpoint: readonly ChainHead[] | undefined): Examination[] {
  const records = [transferCheck, externalTransferCheck, legalHoldCheck, matchCheck, conversionCheck];
  const batchChecks = [journalCheck(), ...records, missingRowsCheck(tables)];
  return [
    knownColumnsExamination(tables),
    chainExamination(tables, batchChecks, checkpoint),
    statesExamination(tables),
    recordsExamination(tables.records),
    accountsExamination,
    reserveExamination,
    pendingExamination,
    tradingExamination,
    ordersExamination,
    executionsExamination,
    customerVolumeExamination,
    incomingCountExamination,
    eventsExamination,
    claimsExamination,
  ];
}
