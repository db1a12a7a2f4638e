import { namesOf, type SqlRecord } from "../../ledger/columns.ts";
import { type Amount, amountOf, formatAmount } from "../../money/amount.ts";
import type { Queryable } from "../../postgres/database.ts";
import type { Uuid } from "../../std/id.ts";
import type { FeeRates, FeeTier } from "../fee-tiers.ts";
import { feeTierColumns, feeTierOf, type MarketCode } from "../market.ts";

interface RatesRow {
  readonly taker_rate: string;
  readonly maker_rebate: string;
}

export interface Agreement extends FeeRates {
  readonly customerId: Uuid;
}

/** Of a market and a customer, as they were at one time. */
export interface Schedule {
  readonly tiers: readonly FeeTier[];
  /** Undefined: the tiers apply. */
  readonly agreed: FeeRates | undefined;
}

/** By market, or of one. One statement: from tiers and agreements of different times would follow rates that the customer never had. */
export async function readSchedules(
  database: Queryable,
  customerId: Uuid,
  market?: MarketCode,
): Promise<Map<MarketCode, Schedule>> {
  const rows = await database.rows<ScheduleRow>(
    `select t.market, ${feeTierColumns.map(({ name }) => `t.${name}`).join(", ")}, a.taker_rate as agreed_taker_rate,
            a.maker_rebate as agreed_maker_rebate
       from fee_tier t left join fee_agreement a on a.market = t.market and a.customer_id = $1
      where $2::text is null or t.market = $2
      order by t.market, t.minimum_gross`,
    [customerId, market ?? null],
  );
  const schedules = new Map<MarketCode, { readonly tiers: FeeTier[]; readonly agreed: FeeRates | undefined }>();
  for (const row of rows) {
    const schedule = schedules.get(row.market) ?? { tiers: [], agreed: agreedOf(row) };
    schedule.tiers.push(feeTierOf(row));
    schedules.set(row.market, schedule);
  }
  return schedules;
}

type ScheduleRow = SqlRecord & {
  readonly market: MarketCode;
  readonly agreed_taker_rate: string | null;
  readonly agreed_maker_rebate: string | null;
};

function agreedOf({ agreed_taker_rate: taker, agreed_maker_rebate: rebate }: ScheduleRow): FeeRates | undefined {
  return taker === null || rebate === null ? undefined : ratesOf({ taker_rate: taker, maker_rebate: rebate });
}

/** The agreements on a market, by customer id. */
export async function listAgreements(database: Queryable, market: MarketCode, most: number): Promise<Agreement[]> {
  const rows = await database.rows<RatesRow & { customer_id: Uuid }>(
    `select customer_id, taker_rate, maker_rebate from fee_agreement where market = $1
      order by customer_id limit $2`,
    [market, most],
  );
  return rows.map((row) => ({ customerId: row.customer_id, ...ratesOf(row) }));
}

/**
 * Locks the fee schedule of a market. Every change of its rates does so first, and so sees the changes before it.
 * @returns false if there is no such market
 */
export async function lockSchedule(transaction: Queryable, market: MarketCode): Promise<boolean> {
  const rows = await transaction.rows("select 1 from fee_schedule where market = $1 for update", [market]);
  return rows.length === 1;
}

export async function readTiers(database: Queryable, market: MarketCode): Promise<FeeTier[]> {
  const rows = await database.rows<SqlRecord>(
    `select ${namesOf(feeTierColumns)} from fee_tier where market = $1 order by minimum_gross`,
    [market],
  );
  return rows.map(feeTierOf);
}

/** The lowest commission and highest rebate agreed with any other customer; empty without agreements. */
export async function readAgreedBounds(
  database: Queryable,
  market: MarketCode,
  except: Uuid | undefined,
): Promise<FeeRates[]> {
  const rows = await database.rows<RatesRow>(
    `select min(taker_rate) as taker_rate, max(maker_rebate) as maker_rebate from fee_agreement
      where market = $1 and customer_id is distinct from $2::uuid having count(*) > 0`,
    [market, except ?? null],
  );
  return rows.map(ratesOf);
}

/** Sets the ceiling, which cascades to every tier and agreement. */
export async function writeCeiling(transaction: Queryable, market: MarketCode, ceiling: Amount): Promise<void> {
  await transaction.rows("update fee_schedule set rebate_ceiling = $2 where market = $1", [
    market,
    formatAmount(ceiling),
  ]);
}

export async function deleteTiers(transaction: Queryable, market: MarketCode): Promise<void> {
  await transaction.rows("delete from fee_tier where market = $1", [market]);
}

export async function insertTiers(
  transaction: Queryable,
  market: MarketCode,
  tiers: readonly FeeTier[],
): Promise<void> {
  await transaction.rows(
    `insert into fee_tier (market, ${namesOf(feeTierColumns)}, rebate_ceiling)
     select s.market, k.*, s.rebate_ceiling
       from fee_schedule s cross join unnest($2::numeric[], $3::numeric[], $4::numeric[]) as k
      where s.market = $1`,
    [market, ...feeTierColumns.map(({ text }) => tiers.map(text))],
  );
}

/** @returns false if there was none */
export async function deleteAgreement(database: Queryable, market: MarketCode, customerId: Uuid): Promise<boolean> {
  const rows = await database.rows("delete from fee_agreement where market = $1 and customer_id = $2 returning 1", [
    market,
    customerId,
  ]);
  return rows.length === 1;
}

export async function insertAgreement(
  transaction: Queryable,
  market: MarketCode,
  { customerId, takerRate, makerRebate }: Agreement,
): Promise<void> {
  await transaction.rows(
    `insert into fee_agreement (customer_id, market, taker_rate, maker_rebate, rebate_ceiling)
     select $2, market, $3, $4, rebate_ceiling from fee_schedule where market = $1`,
    [market, customerId, formatAmount(takerRate), formatAmount(makerRebate)],
  );
}

function ratesOf(row: RatesRow): FeeRates {
  return { takerRate: amountOf(row.taker_rate), makerRebate: amountOf(row.maker_rebate) };
}
