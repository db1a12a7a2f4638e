/**
 * The operator's changes to the fees of a market: its tiers, and agreements with single customers. Existing orders keep
 * their rates; every node applies new rates within seconds.
 *
 * Constraints of the tables enforce the same rules as the checks here.
 */
import type { Caller } from "../../ledger/caller.ts";
import { recordConfigurationWrite } from "../../ledger/configuration-writes.ts";
import { formatAmount } from "../../money/amount.ts";
import type { Database, Queryable } from "../../postgres/database.ts";
import { waitForStandby } from "../../postgres/durability.ts";
import type { Uuid } from "../../std/id.ts";
import { type Check, PASSED, reject } from "../../std/result.ts";
import { checkRates, checkTiers, type FeeRates, type FeeRejection, type FeeTier, highestRebate } from "../fee-tiers.ts";
import type { MarketCode } from "../market.ts";
import {
  type Agreement,
  deleteAgreement,
  deleteTiers,
  insertAgreement,
  insertTiers,
  lockSchedule,
  readAgreedBounds,
  readTiers,
  writeCeiling,
} from "./store.ts";

export { type Agreement, listAgreements, readSchedules, readTiers, type Schedule } from "./store.ts";

export interface MarketNotScheduled {
  readonly code: "market_not_found";
}

type Change = Promise<Check<FeeRejection | MarketNotScheduled>>;

/** Replaces all tiers of a market. */
export async function setFeeTiers(
  database: Database,
  market: MarketCode,
  tiers: readonly FeeTier[],
  caller: Caller,
): Change {
  const check = checkTiers(tiers);
  if (check.kind === "rejected") return check;
  const volumes = tiers.map((tier): [string, string] => [`from_${formatAmount(tier.minimumGross)}`, textOfRates(tier)]);
  return changeRates(database, market, {
    record: (transaction) => recordFeeWrite(transaction, caller, market, undefined, Object.fromEntries(volumes)),
    ratesAfter: async (transaction) => [...tiers, ...(await readAgreedBounds(transaction, market, undefined))],
    remove: (transaction) => deleteTiers(transaction, market),
    insert: (transaction) => insertTiers(transaction, market, tiers),
  });
}

/** Agrees rates with a customer on a market, replacing an earlier agreement. */
export function agreeFees(database: Database, market: MarketCode, agreement: Agreement, caller: Caller): Change {
  const { customerId } = agreement;
  const agreed = { agreed: textOfRates(agreement) };
  return changeRates(database, market, {
    record: (transaction) => recordFeeWrite(transaction, caller, market, customerId, agreed),
    ratesAfter: async (transaction) => [
      agreement,
      ...(await readTiers(transaction, market)),
      ...(await readAgreedBounds(transaction, market, customerId)),
    ],
    remove: async (transaction) => void (await deleteAgreement(transaction, market, customerId)),
    insert: (transaction) => insertAgreement(transaction, market, agreement),
  });
}

/** Ends an agreement, so that the tiers apply again. @returns false if there is durably no agreement */
export async function endAgreement(
  database: Database,
  market: MarketCode,
  customerId: Uuid,
  caller: Caller,
): Promise<boolean> {
  const hasEnded = await database.transaction(async (transaction) => {
    const remove = (): Promise<boolean> => deleteAgreement(transaction, market, customerId);
    // Twice: a statement that has waited for one that is being replaced does not see what takes its place.
    if (!(await remove()) && !(await remove())) return false;
    await recordFeeWrite(transaction, caller, market, customerId, { agreed: "nothing" });
    return true;
  });
  if (!hasEnded) await waitForStandby(database);
  return hasEnded;
}

interface RateChange {
  /** All rates of the market after the change, or their bounds. */
  readonly ratesAfter: (transaction: Queryable) => Promise<readonly FeeRates[]>;
  readonly remove: (transaction: Queryable) => Promise<void>;
  readonly insert: (transaction: Queryable) => Promise<void>;
  readonly record: (transaction: Queryable) => Promise<void>;
}

/** Concurrent changes of a market are serialised by a lock. */
function changeRates(
  database: Database,
  market: MarketCode,
  { ratesAfter, remove, insert, record }: RateChange,
): Change {
  return database.transaction(async (transaction) => {
    if (!(await lockSchedule(transaction, market))) return reject({ code: "market_not_found" });
    const rates = await ratesAfter(transaction);
    const check = checkRates(rates);
    if (check.kind === "rejected") return check;
    // In this order, because removed rates may violate the new ceiling, and inserted ones the old.
    await remove(transaction);
    await writeCeiling(transaction, market, highestRebate(rates));
    await insert(transaction);
    await record(transaction);
    return PASSED;
  });
}

function recordFeeWrite(
  transaction: Queryable,
  caller: Caller,
  market: MarketCode,
  customerId: Uuid | undefined,
  details: Readonly<Record<string, string>>,
): Promise<void> {
  return recordConfigurationWrite(transaction, caller, { kind: "fees", subject: market, customerId, details });
}

const textOfRates = ({ takerRate, makerRebate }: FeeRates): string =>
  `taker rate ${formatAmount(takerRate)}, maker rebate ${formatAmount(makerRebate)}`;
