/** The messages of the feeds in the words of a dialect. Without one `feeds.test.ts` has them. */
import { expect, test } from "vitest";
import type { Match } from "../../exchange/exchange.ts";
import { amountOf } from "../../money/amount.ts";
import type { Instant } from "../../std/clock.ts";
import { createDialect, OWN_WORDS } from "../../web/dialect/dialect.ts";
import { ApiDialect } from "../dialect/api-dialect.ts";
import { executionMessage, FeedWords, snapshotMessage, updateMessages } from "./messages.ts";

const words = (...all: string[]) => new Map(all.map((word) => [word, `z_${word}`]));

test("kinds, markets and sides have the words of the dialect", () => {
  const enums = words("SNAPSHOT", "UPDATE", "BUY", "SELL");
  const dialect = new ApiDialect(createDialect({ ...OWN_WORDS, enums, markets: words("BTCUSD") }));
  const give = dialect.giver(FeedWords);
  const level = { price: amountOf("25000"), amount: amountOf("0.1") };
  const executedAt = Date.parse("2026-11-21T09:30:00.000Z") as Instant;
  const match = { ...level, id: 11n, side: "SELL", executedAt } as Match;
  const messages = [
    snapshotMessage("BTCUSD", { version: 7n, bids: [], asks: [] }, give),
    ...updateMessages("BTCUSD", { version: 8n, levels: [{ side: "BUY", ...level }] }, give),
    executionMessage("BTCUSD", match, give),
  ];
  const shown = { market: "z_BTCUSD", price: "25000", amount: "0.1" };
  expect(messages.map((message) => JSON.parse(message.toString()))).toEqual([
    { type: "z_SNAPSHOT", market: "z_BTCUSD", sequence: "7", bids: [], asks: [], final_snapshot: true },
    { ...shown, type: "z_UPDATE", side: "z_BUY", sequence: "8", final_update: true },
    { ...shown, match_number: "11", side: "z_SELL", executed_at: "2026-11-21T09:30:00.000Z" },
  ]);
});
