import type { MarketCode } from "../catalogue/market.ts";
import { amountColumn, bigintColumn, changing, key, textColumn, versionColumn } from "../ledger/columns.ts";
import { type Key, keyOf, type StateRow, stateTable } from "../ledger/tables.ts";
import type { Amount } from "../money/amount.ts";
import type { ExecutionId } from "./execution.ts";

/** Whether a market takes orders. Every placement and every match checks it. */
export interface MarketState extends StateRow {
  readonly code: MarketCode;
  readonly status: "OPEN" | "HALTED";
}

export const marketTable = stateTable<MarketState>({
  name: "market",
  // The catalogue owns the rest of the row, and inserts it.
  columns: {
    code: key(textColumn("code")),
    status: changing(textColumn("status", "market_status")),
    version: versionColumn,
  },
  digested: true,
  openedOutsideBatches: true,
  keyOf: (row) => row.code,
  keyValues: (code) => [code],
});

export const marketKey = (code: MarketCode): Key => keyOf(marketTable, code);

/** The engine's row of a market. Every engine command increments its version, so a fenced engine cannot commit. */
export interface MarketHead extends StateRow {
  readonly market: MarketCode;
  readonly fence: bigint;
  readonly lastPrice: Amount | undefined;
  /** The taker's id of the last match, 0 before the first. */
  readonly lastExecutionId: ExecutionId;
  readonly lastSequence: bigint;
}

export const marketHeadTable = stateTable<MarketHead>({
  name: "market_head",
  columns: {
    market: key(textColumn("market")),
    fence: changing(bigintColumn("fence")),
    lastPrice: changing(amountColumn("last_price")),
    lastExecutionId: changing(bigintColumn("last_execution_id")),
    lastSequence: changing(bigintColumn("last_sequence")),
    version: versionColumn,
  },
  digested: true,
  keyOf: (row) => row.market,
  keyValues: (market) => [market],
});

export const marketHeadKey = (market: MarketCode): Key => keyOf(marketHeadTable, market);
