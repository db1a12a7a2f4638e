/**
 * A customer's traded volume on a market in a day, as maker and as taker. The command that commits a match counts it, so
 * volumes always equal the executions. Rows belong to one market, and so to one engine: there is no contention.
 */
import type { MarketCode } from "../catalogue/market.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { amountColumn, changing, key, textColumn, uuidColumn, versionColumn } from "../ledger/columns.ts";
import type { State } from "../ledger/decision.ts";
import { type Key, keyOf, type StateRow, stateTable } from "../ledger/tables.ts";
import { type Amount, multiplyExact, plus, ZERO } from "../money/amount.ts";
import type { Brand } from "../std/brand.ts";
import { formatInstant, type Instant } from "../std/clock.ts";
import type { Execution } from "./execution.ts";

/** A day in UTC, like 2026-11-21. */
export type Day = Brand<string, "Day">;

export interface CustomerDailyVolume extends StateRow {
  readonly customerId: CustomerId;
  readonly day: Day;
  readonly market: MarketCode;
  /** In the market's quote asset. */
  readonly gross: Amount;
}

export const customerVolumeTable = stateTable<CustomerDailyVolume>({
  name: "customer_volume",
  columns: {
    customerId: key(uuidColumn("customer_id")),
    day: key(textColumn("day", "date")),
    market: key(textColumn("market")),
    gross: changing(amountColumn("gross")),
    version: versionColumn,
  },
  digested: true,
  keyOf: keyText,
  keyValues: (text) => text.split("/"),
});

export const dayOf = (instant: Instant): Day => formatInstant(instant).slice(0, 10) as Day;

export const customerVolumeKey = (row: VolumeKey): Key => keyOf(customerVolumeTable, keyText(row));

type VolumeKey = Pick<CustomerDailyVolume, "customerId" | "day" | "market">;

function keyText({ customerId, day, market }: VolumeKey): string {
  return `${customerId}/${day}/${market}`;
}

/**
 * The market's volumes after these executions.
 * @returns undefined when an execution's day is not in `named`, the days that the command depends on
 */
export function customerVolumes(
  state: State,
  market: MarketCode,
  executions: readonly Execution[],
  named: readonly Day[],
): CustomerDailyVolume[] | undefined {
  const sums = new Map<Day, Map<CustomerId, Amount>>();
  const days = new Map<Instant, Day>();
  for (const { customerId, executedAt, amount, price } of executions) {
    // Most matches of a round share one millisecond.
    const day = days.get(executedAt) ?? dayOf(executedAt);
    days.set(executedAt, day);
    if (!named.includes(day)) return undefined;
    const grossOf = sums.get(day) ?? new Map<CustomerId, Amount>();
    sums.set(day, grossOf);
    grossOf.set(customerId, plus(grossOf.get(customerId) ?? ZERO, multiplyExact(amount, price)));
  }
  return [...sums].flatMap(([day, grossOf]) =>
    [...grossOf].map(([customerId, more]) => {
      const names = { customerId, day, market };
      const row = state.get(customerVolumeTable, keyText(names)) ?? { ...names, gross: ZERO, version: 0n };
      return { ...row, gross: plus(row.gross, more) };
    }),
  );
}
