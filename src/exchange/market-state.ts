import type { MarketCode } from "../catalogue/market.ts";
import {
  amountColumn,
  bigintColumn,
  type Key,
  keyOf,
  type StateRow,
  type StateTable,
  textColumn,
} from "../ledger/rows.ts";
import { type Amount, amountOf } from "../money/amount.ts";
import type { ExecutionId } from "./execution.ts";

/** Whether a market takes orders. Every placement and every match checks it. */
export interface MarketState extends StateRow {
  readonly code: MarketCode;
  readonly status: "OPEN" | "HALTED";
}

export const marketTable: StateTable<MarketState> = {
  name: "market",
  keys: [textColumn("code", "text", (row) => row.code)],
  // The catalogue owns the rest of the row, and inserts it.
  fixed: [],
  changing: [textColumn("status", "market_status", (row) => row.status)],
  digested: true,
  keyOf: (row) => row.code,
  keyValues: (key) => [key],
  read: (record) => ({
    code: record.code as MarketCode,
    status: record.status as MarketState["status"],
    seq: BigInt(record.seq as string),
  }),
};

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

export const marketHeadTable: StateTable<MarketHead> = {
  name: "market_head",
  keys: [textColumn("market", "text", (row) => row.market)],
  fixed: [],
  changing: [
    bigintColumn("fence", (row) => row.fence),
    amountColumn("last_price", (row) => row.lastPrice),
    bigintColumn("last_execution_id", (row) => row.lastExecutionId),
    bigintColumn("last_sequence", (row) => row.lastSequence),
  ],
  digested: true,
  keyOf: (row) => row.market,
  keyValues: (key) => [key],
  read: (record) => ({
    market: record.market as MarketCode,
    fence: BigInt(record.fence as string),
    lastPrice: record.last_price === null ? undefined : amountOf(record.last_price as string),
    lastExecutionId: BigInt(record.last_execution_id as string) as ExecutionId,
    lastSequence: BigInt(record.last_sequence as string),
    seq: BigInt(record.seq as string),
  }),
};

export const marketHeadKey = (market: MarketCode): Key => keyOf(marketHeadTable, market);
