/**
 * The operator's changes to what trading costs on a market: its tiers, and what is agreed with single customers. Orders
 * that are placed already keep their rates; every node knows the new ones within seconds.
 *
 * What is refused here in words the tables refuse as well, whoever writes to them: see the migration that made them.
 */
import type { Database, Queryable } from "../../postgres/database.ts";
import { waitForStandby } from "../../postgres/durability.ts";
import type { Uuid } from "../../std/id.ts";
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

export { type Agreement, listAgreements, readAgreements, readTiers } from "./store.ts";

import {
  type FeeRates,
  type FeeRejection,
  type FeeTier,
  highestRebate,
  whyNotRates,
  whyNotTiers,
} from "../fee-tiers.ts";
import type { MarketCode } from "../market.ts";

export interface MarketNotScheduled {
  readonly code: "market_not_found";
}

/** Why nothing was changed; undefined when it was. */
type Change = Promise<FeeRejection | MarketNotScheduled | undefined>;

/** Puts these tiers in the place of all that the market has. */
export async function setFeeTiers(database: Database, market: MarketCode, tiers: readonly FeeTier[]): Change {
  const refusal = whyNotTiers(tiers);
  if (refusal !== undefined) return refusal;
  return changeRates(database, market, {
    hold: async (transaction) => [...tiers, ...(await readAgreedBounds(transaction, market, undefined))],
    end: (transaction) => deleteTiers(transaction, market),
    begin: (transaction) => insertTiers(transaction, market, tiers),
  });
}

/** From now on these rates hold for the customer on the market, in the place of others that were agreed before. */
export function agreeFees(database: Database, market: MarketCode, agreement: Agreement): Change {
  const { customerId } = agreement;
  return changeRates(database, market, {
    hold: async (transaction) => [
      agreement,
      ...(await readTiers(transaction, market)),
      ...(await readAgreedBounds(transaction, market, customerId)),
    ],
    end: async (transaction) => void (await deleteAgreement(transaction, market, customerId)),
    begin: (transaction) => insertAgreement(transaction, market, agreement),
  });
}

/** The tiers hold for the customer again. False when nothing was agreed, durably: it may have been ended just before. */
export async function endAgreement(database: Database, market: MarketCode, customerId: Uuid): Promise<boolean> {
  const hasEnded = await deleteAgreement(database, market, customerId);
  if (!hasEnded) await waitForStandby(database);
  return hasEnded;
}

interface RateChange {
  /** All rates that hold on the market afterwards, or their bounds. */
  readonly hold: (transaction: Queryable) => Promise<readonly FeeRates[]>;
  readonly end: (transaction: Queryable) => Promise<void>;
  readonly begin: (transaction: Queryable) => Promise<void>;
}

/** Two operators at once take turns, and the second is held to what the first has written. */
function changeRates(database: Database, market: MarketCode, { hold, end, begin }: RateChange): Change {
  return database.transaction(async (transaction) => {
    if (!(await lockSchedule(transaction, market))) return { code: "market_not_found" };
    const rates = await hold(transaction);
    const refusal = whyNotRates(rates);
    if (refusal !== undefined) return refusal;
    // What ends may lie on the wrong side of the new ceiling, and what begins on that of the old one.
    await end(transaction);
    await writeCeiling(transaction, market, highestRebate(rates));
    await begin(transaction);
    return undefined;
  });
}
