/** The messages of the feeds, as bytes (docs/market-data.md). */
import { Type } from "typebox";
import type { BookNews, Match, OrderBook } from "../../exchange/exchange.ts";
import { formatAmount } from "../../money/amount.ts";
import { MarketText } from "../requests/schemas.ts";
import { orderBookBody, recentExecutionBody } from "../routes/markets/market-data.ts";

/** The words in messages of either feed. */
export const FeedWords = Type.Object({
  type: Type.Enum(["SNAPSHOT", "UPDATE"]),
  market: MarketText,
  side: Type.Enum(["BUY", "SELL"]),
});

/** Puts a message into the caller's words. */
type Give = (body: object) => object;

/** The whole book. `final_snapshot` is always true: a snapshot is one message. */
export function snapshotMessage(market: string, book: OrderBook, give: Give): Buffer {
  return message(give({ type: "SNAPSHOT", ...orderBookBody(market, book), final_snapshot: true }));
}

/** One message for each level. `final_update` marks the last: the book is consistent again. */
export function updateMessages(market: string, { version, levels }: BookNews, give: Give): Buffer[] {
  const sequence = version.toString();
  return levels.map(({ side, price, amount }, at) =>
    message(
      give({
        type: "UPDATE",
        market,
        side,
        price: formatAmount(price),
        amount: formatAmount(amount),
        sequence,
        final_update: at === levels.length - 1,
      }),
    ),
  );
}

export const executionMessage = (market: string, match: Match, give: Give): Buffer =>
  message(give({ market, ...recentExecutionBody(match) }));

const message = (body: object): Buffer => Buffer.from(JSON.stringify(body));
