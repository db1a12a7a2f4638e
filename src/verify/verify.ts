/**
 * Verifies everything: computes what the books say again from what they are made of, and names what does not fit. It
 * may run while money moves, on the primary or on a replica. What each check says, its file tells:
 *
 *   chain        the batches of each slot are numbered without gaps and hash to their hashes
 *   journals     each sums to zero per asset
 *   transfers    both sides are there and fit their journal
 *   matches      each one's journal moved what its executions and orders ask for
 *   conversions  each one's journals fit it
 *   states       what changes is as the batch left it that it names
 *   records      what never changes belongs to a batch
 *   accounts     each is what its postings make of it
 *   reserve      the reserve backs what is issued, and that is what profiles hold
 *   pending, trading   what is kept aside is what conversions and orders hold
 *   orders       each holds what is left of it, and filled what its executions say
 *   executions   both sides are there, at their orders' rates
 *   traded days  each is what its executions come to
 *   awaited      profiles count what will pay into them
 *   claims       every ref_id leads to its record
 */
import { conversionTable } from "../conversions/store.ts";
import { profileTable } from "../customers/profiles/profiles.ts";
import { customerVolumeTable } from "../exchange/customer-volume.ts";
import { executionTable } from "../exchange/execution.ts";
import { marketHeadTable, marketTable } from "../exchange/market-state.ts";
import { orderTable } from "../exchange/order.ts";
import { type ChainHead, type LaneTables, readHeads } from "../ledger/batch-log.ts";
import type { Database } from "../postgres/database.ts";
import { transferTable } from "../transfers/store.ts";
import { type CheckResult, type Examination, examine, type Watcher } from "./check.ts";
import { customerVolumeExamination } from "./exchange/customer-volume.ts";
import { executionsExamination } from "./exchange/executions.ts";
import { matchCheck } from "./exchange/matches.ts";
import { ordersExamination, tradingExamination } from "./exchange/orders.ts";
import { accountsExamination } from "./ledger/accounts.ts";
import { awaitedExamination } from "./ledger/awaited.ts";
import { chainExamination } from "./ledger/chain.ts";
import { claimsExamination } from "./ledger/claims.ts";
import { journalCheck } from "./ledger/journals.ts";
import { recordsExamination } from "./ledger/records.ts";
import { reserveExamination } from "./ledger/reserve.ts";
import { goneCheck, statesExamination } from "./ledger/states.ts";
import { conversionCheck, pendingExamination } from "./operations/conversions.ts";
import { transferCheck } from "./operations/transfers.ts";
import { noteTimesAhead } from "./times-ahead.ts";

export interface VerifyReport {
  readonly checks: readonly CheckResult[];
  /** Where the chains stood before. */
  readonly heads: readonly ChainHead[];
  /** Whether there was a checkpoint: without one, a chain that was made again as a whole looks sound. */
  readonly hadCheckpoint: boolean;
  readonly sound: boolean;
  /** What an operator should know, though nothing is broken. */
  readonly notes: readonly string[];
}

export interface VerifyOptions {
  /** Heads that were noted outside the database. */
  readonly checkpoint?: readonly ChainHead[];
  readonly watcher?: Watcher;
}

/** Everything that lanes write. */
export const TABLES: LaneTables = {
  records: [executionTable, transferTable],
  states: [conversionTable, marketTable, marketHeadTable, orderTable, profileTable, customerVolumeTable],
  opened: [marketTable, customerVolumeTable],
};

export async function verifyAll(database: Database, options: VerifyOptions = {}): Promise<VerifyReport> {
  const heads = await readHeads(database);
  const checks = await examine(database, examinations(options.checkpoint), options.watcher);
  const sound = checks.every(({ broken }) => broken === 0);
  const notes = await noteTimesAhead(database);
  return { checks, heads, hadCheckpoint: options.checkpoint !== undefined, sound, notes };
}

function examinations(checkpoint: readonly ChainHead[] | undefined): Examination[] {
  const batchChecks = [journalCheck, transferCheck, matchCheck, conversionCheck, goneCheck(TABLES)];
  return [
    chainExamination(TABLES.records, batchChecks, checkpoint),
    statesExamination(TABLES),
    recordsExamination(TABLES.records),
    accountsExamination,
    reserveExamination,
    pendingExamination,
    tradingExamination,
    ordersExamination,
    executionsExamination,
    customerVolumeExamination,
    awaitedExamination,
    claimsExamination,
  ];
}
