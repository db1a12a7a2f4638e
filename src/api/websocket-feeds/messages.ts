/** The messages of the feeds, as bytes (docs/market-data.md). */
import type { BookNews, Match, OrderBook } from "../../exchange/exchange.ts";
import { formatAmount } from "../../money/amount.ts";
import { orderBookBody, recentExecutionBody } from "../routes/markets/market-data.ts";

/** The whole book. `final_snapshot` is always true: a snapshot is one message. */
export function snapshotMessage(market: string, book: OrderBook): Buffer {
  return message({ type: "SNAPSHOT", ...orderBookBody(market, book), final_snapshot: true });
}

/** One message for each level. `final_update` marks the last: the book is consistent again. */
export function updateMessages(market: string, { version, levels }: BookNews): Buffer[] {
  const sequence = version.toString();
  return levels.map(({ side, price, amount }, at) =>
    message({
      type: "UPDATE",
      market,
      side,
      price: formatAmount(price),
      amount: formatAmount(amount),
      sequence,
      final_update: at === levels.length - 1,
    }),
  );
}

export const executionMessage = (market: string, match: Match): Buffer =>
  message({ market, ...recentExecutionBody(match) });

const message = (body: object): Buffer => Buffer.from(JSON.stringify(body));
