import { expect, onTestFinished, test } from "vitest";
import { FeedClient } from "../../../test/support/exchange/feed-client.ts";
import { ToyFeed } from "../../../test/support/exchange/toy-feed.ts";
import { startToyApi } from "../../../test/support/http/toy-api.ts";
import { until } from "../../../test/support/until.ts";
import { pause } from "../../std/pause.ts";
import { feedRoutes } from "./feeds.ts";

test("a market is followed once, for as long as it is read, and a while longer", async () => {
  const feed = new ToyFeed();
  const toy = await startToyApi((api) => feedRoutes(api, feed.exchange, { lingerMs: 300 }));
  onTestFinished(() => toy.close());
  const readers = await Promise.all([1, 2].map(() => new FeedClient(toy.url, "/marketdata/BTCUSD").opened()));
  await readers[0]?.close();
  expect(feed.followed).toEqual(["BTCUSD"]);
  await readers[1]?.close();
  // Who comes back meanwhile finds it, and keeps it.
  const back = await new FeedClient(toy.url, "/marketdata/BTCUSD").opened();
  expect(feed.subscriptions).toBe(1);
  await pause(400);
  expect(feed.followed).toEqual(["BTCUSD"]);
  await back.close();
  await until("the market is let go of", () => feed.followed.length === 0);
  expect(feed.subscriptions).toBe(1);
});
