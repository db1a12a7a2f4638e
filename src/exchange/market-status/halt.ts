/**
 * Halts and resumes a market, for the operator. Every match depends on the market's row, so nothing is matched after its
 * halt is durable. No order that comes then is placed; those placed at the same moment are rejected by the engine.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Caller } from "../../ledger/caller.ts";
import { accept, type Command, type Rejection } from "../../ledger/decision.ts";
import { change } from "../../ledger/tables.ts";
import { reject } from "../../std/result.ts";
import { type MarketState, marketKey, marketTable } from "../market-state.ts";

export interface MarketNotFound extends Rejection {
  readonly code: "market_not_found";
  readonly market: MarketCode;
}

type SetStatus = (market: MarketCode, caller: Caller) => Command<MarketState, MarketNotFound>;

export const haltMarket: SetStatus = (market, caller) => setStatus(market, "HALTED", caller);

export const resumeMarket: SetStatus = (market, caller) => setStatus(market, "OPEN", caller);

/** Idempotent. */
function setStatus(
  market: MarketCode,
  status: MarketState["status"],
  caller: Caller,
): Command<MarketState, MarketNotFound> {
  return {
    caller,
    // An operator halts a market above all under heavy load, which must not shed this command.
    queueKey: "house",
    dependsOn: [marketKey(market)],
    decide: (state) => {
      const row = state.get(marketTable, market);
      if (row === undefined) return reject({ code: "market_not_found", market });
      const changed: MarketState = { ...row, status };
      return accept(changed, row.status === status ? {} : { states: [change(marketTable, changed)] });
    },
  };
}
