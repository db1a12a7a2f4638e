/**
 * Halting a market and taking it up again, by the operator. The market's row is among those that every placement and
 * every match is guarded by, so nothing is placed or matched on a market after its halt is durable.
 */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Caller } from "../../ledger/caller.ts";
import { accept, type Command, type Rejection, reject } from "../../ledger/decision.ts";
import { change } from "../../ledger/rows.ts";
import { type MarketState, marketKey, marketTable } from "../market-state.ts";

export interface MarketNotFound extends Rejection {
  readonly code: "market_not_found";
  readonly market: MarketCode;
}

type SetStatus = (market: MarketCode, caller: Caller) => Command<MarketState, MarketNotFound>;

export const haltMarket: SetStatus = (market, caller) => setStatus(market, "HALTED", caller);

export const resumeMarket: SetStatus = (market, caller) => setStatus(market, "OPEN", caller);

/** A market that has the status already keeps it: done twice is done. */
function setStatus(
  market: MarketCode,
  status: MarketState["status"],
  caller: Caller,
): Command<MarketState, MarketNotFound> {
  return {
    caller,
    // The operator stops a market above all when there is too much going on: no load refuses it.
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
