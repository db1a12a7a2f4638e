/**
 * Which tables verify holds against something, and what it does not look at, with the reason. A table or a column that
 * is new has to be put here by hand, or the test of every column fails.
 */
import { LANE_TABLES } from "../../src/verify/lane-tables.ts";

/** Of the others only what a command wrote is in the chain. */
const OPENED_IN_BATCHES = LANE_TABLES.states.filter(({ openedOutsideBatches }) => openedOutsideBatches !== true);
const PROJECTIONS = LANE_TABLES.states.flatMap(({ projections }) => projections);

/**
 * By the hash chain, from which `event` and `event_cut` follow: the rows of the tables that lanes write are in it, or a
 * digest of them; `account` by its postings, `claim` by its records, a projection by the rows that it copies.
 */
export const COVERED: readonly string[] = [...LANE_TABLES.records, ...OPENED_IN_BATCHES, ...PROJECTIONS]
  .map(({ name }) => name)
  // Sealed by a batch.
  .concat("batch", "claim", "configuration_write", "event", "event_cut")
  .sort();

export const NOT_COVERED: Readonly<Record<string, string>> = {
  asset: "the catalogue, which the operator edits; an asset that is missing is found by the reserve",
  book_change: "an hour of market data, unlogged; the book is in the orders",
  event_retention: "from which event on there are lists",
  ledger: "a name, which a checkpoint repeats",
  service_mode: "checked at each start",
  client: "who may call: access, not money",
  client_secret: "digests of secrets, which the service changes and removes",
  customer: "a name for people; whose a profile is, the profile says",
  fee_agreement: "what the operator agrees; an order carries its rates for life, and they are covered",
  fee_schedule: "as fee_agreement",
  fee_tier: "as fee_agreement",
  house_kind: "reference data of the migrations; verify compares what the program posts to, and what accounts repeat",
  lease: "who works on what just now",
  market: "the catalogue, which the operator edits; once a command has halted or opened it, its status is covered",
  migration: "the program compares it with its own files at every start",
  order_cancel: "a queue, emptied when the order is closed",
  access_denial: "what happened at the doors, kept for thirty days",
  signing_key: "keys of access tokens",
  webhook: "where events are posted, as customers set it",
  webhook_attempt: "what receivers answered, kept for thirty days",
  webhook_delivery: "which events are still to be posted; they follow from the chain",
  webhook_progress: "how far events were posted",
  webhook_secret: "what posted events are signed with",
};

const GUARD = "what the statement was held against: a constraint, and of no use once it has committed";

export const COLUMNS_NOT_COVERED: Readonly<Record<string, string>> = {
  "event_cut.fence": "under which lease it was written, and of no use once it has been",
  "batch.rows_found": GUARD,
  "batch.rows_expected": GUARD,
  "batch.claims_made": GUARD,
  "batch.claims_expected": GUARD,
  "batch.predecessor": GUARD,
  "batch.in_time": GUARD,
  "batch.not_ahead": GUARD,
};
