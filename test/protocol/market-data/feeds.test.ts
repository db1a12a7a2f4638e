/** The feeds as the whole service has them: its own engines, its own address, and its end. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectBooksBalance } from "../../support/books.ts";
import { BookClient, FeedClient, shownBook } from "../../support/exchange/feed-client.ts";
import { startTestService, type TestCustomer, type TestService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

let service: TestService;
let maker: TestCustomer;
let taker: TestCustomer;
beforeAll(async () => {
  service = await startTestService({ maxConnections: 20 });
  maker = await service.customer("maker");
  taker = await service.customer("taker");
});
afterAll(() => service.close());

/** Places an order on ETHUSD, and waits until it has closed or a while has passed. */
async function place(customer: TestCustomer, side: string, amount: string, price: string, wait: number) {
  const profile = await service.profile(customer, { USD: "100000", ETH: "100" });
  const answer = await service.call("POST", `/v2/profiles/${profile}/orders`, {
    as: customer.token,
    body: { side, market: "ETHUSD", type: "LIMIT", base_amount: amount, price, await_fill_millis: wait },
  });
  expect(answer.status).toBe(200);
  return answer.body;
}

const heard = (client: FeedClient, count: number) =>
  until(`${count} messages have come`, () => client.messages.length >= count);

test("the feed shows orders as the book does, and trades as the list does", async () => {
  const book = await new BookClient(service.baseUrl, "/marketdata/ETHUSD").opened();
  const executions = await new FeedClient(service.baseUrl, "/executiondata/ETHUSD").opened();
  await heard(book, 1);
  const empty = { type: "SNAPSHOT", market: "ETHUSD", bids: [], asks: [], final_snapshot: true };
  const NUMBER = expect.stringMatching(/^[0-9]+$/);
  expect(book.messages).toEqual([{ ...empty, sequence: NUMBER }]);

  await place(maker, "SELL", "2", "2000", 0);
  await heard(book, 2);
  const level = { type: "UPDATE", market: "ETHUSD", side: "SELL", price: "2000", sequence: NUMBER };
  expect(book.messages[1]).toEqual({ ...level, amount: "2", final_update: true });
  const bought = await place(taker, "BUY", "0.5", "2000", 10_000);
  expect(bought.status).toBe("FILLED");
  await Promise.all([heard(book, 3), heard(executions, 1)]);
  expect(book.messages[2]).toEqual({ ...level, amount: "1.5", final_update: true });
  const sequences = book.messages.map(({ sequence }) => Number(sequence));
  expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));

  const { body } = await service.call("GET", "/v2/markets/ETHUSD/order-book");
  expect(body.sequence).toBe(book.messages[2]?.sequence);
  expect(book.bookAt(body.sequence)).toBe(shownBook(body));
  const recent = await service.call("GET", "/v2/markets/ETHUSD/recent-executions");
  expect(executions.messages).toEqual(recent.body.items.map((item: object) => ({ market: "ETHUSD", ...item })));
  await Promise.all([book.close(), executions.close()]);
  await expectBooksBalance(service.db.owner);
});

test("readers have at most half of the connections, and are notified of a shutdown", async () => {
  const readers: FeedClient[] = [];
  for (let i = 0; i < 10; i += 1) readers.push(await new FeedClient(service.baseUrl, "/marketdata/BTCUSD").opened());
  const late = new FeedClient(service.baseUrl, "/marketdata/BTCUSD");
  await expect(late.closed).rejects.toThrow("Unexpected server response: 503");
  const stopped = service.stop();
  for (const reader of readers) expect(await reader.closed).toBe("1001 the service is shutting down");
  await stopped;
});
