/** A change of a market's order book by one engine command, as followers receive it. */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Amount } from "../../money/amount.ts";
import type { OrderSide } from "../order.ts";

/** The new total at a price; zero when nothing rests there. */
export interface LevelChange {
  readonly side: OrderSide;
  readonly price: Amount;
  readonly amount: Amount;
}

/** Every command increments the order book version by one, so a gap in versions is a missed change. */
export interface BookChange {
  readonly market: MarketCode;
  /** The order book version after the command: the version of the market's head. */
  readonly version: bigint;
  /** Empty if the command did not change the book. */
  readonly levels: readonly LevelChange[];
}
