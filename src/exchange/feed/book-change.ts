/** What a command of a market's engine changed on the book, as it is told to those who follow the book. */
import type { MarketCode } from "../../catalogue/market.ts";
import type { Amount } from "../../money/amount.ts";
import type { OrderSide } from "../order.ts";

/** What rests at a price now, all orders together; zero when nothing does. */
export interface LevelChange {
  readonly side: OrderSide;
  readonly price: Amount;
  readonly amount: Amount;
}

/** Every command numbers the market's head on by one, so a book that has all changes up to a number lacks nothing. */
export interface BookChange {
  readonly market: MarketCode;
  /** Of the market's head behind the command. */
  readonly number: bigint;
  /** None when the command left the book as it was. */
  readonly levels: readonly LevelChange[];
}
