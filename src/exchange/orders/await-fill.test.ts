import { afterEach, expect, test, vi } from "vitest";
import { IdSource } from "../../std/id.ts";
import type { Order, OrderId } from "../order.ts";
import { FillWaiters } from "./await-fill.ts";

const ids = new IdSource();
const orderOf = (customerId: string): Order => ({ id: ids.next() as OrderId, customerId }) as unknown as Order;
const NEVER = new AbortController().signal;
const LONG = 60_000;
/** Nothing is found in it: no other node has matched anything. */
const database = { rows: async () => [] };

afterEach(() => {
  vi.useRealTimers();
});

/** Starts to wait for each order. @returns the orders whose wait has ended by now, by place */
function waitFor(waiters: FillWaiters, orders: readonly Order[]): () => Promise<number[]> {
  const ended: number[] = [];
  for (const [place, order] of orders.entries())
    void waiters.untilClosed(order, LONG, NEVER).then(() => ended.push(place));
  return async () => {
    await new Promise((resolve) => setImmediate(resolve));
    return ended;
  };
}

test("a customer can take a quarter of the places, and further requests of it do not wait", async () => {
  const waiters = new FillWaiters(database, 8);
  const endedOf = {
    ann: waitFor(
      waiters,
      [1, 2, 3].map(() => orderOf("ann")),
    ),
    bob: waitFor(waiters, [orderOf("bob")]),
  };
  expect([await endedOf.ann(), await endedOf.bob()]).toEqual([[2], []]);
  waiters.stop();
  expect([await endedOf.ann(), await endedOf.bob()]).toEqual([[2, 0, 1], [0]]);
});

test("when all places are taken nobody else waits", async () => {
  const waiters = new FillWaiters(database, 2);
  const ended = waitFor(waiters, ["ann", "bob", "cid"].map(orderOf));
  expect(await ended()).toEqual([2]);
  waiters.stop();
});

test("a wait ends with the closed order, and only that one's", async () => {
  const waiters = new FillWaiters(database);
  const [first, second] = [orderOf("ann"), orderOf("ann")];
  const waits = [first, second].map((order) => waiters.untilClosed(order, LONG, NEVER));
  const closed = { ...first, status: "FILLED", closedAt: 1 } as Order;
  waiters.onCommitted([{ ...second, status: "OPEN" } as Order, closed]);
  expect(await waits[0]).toBe(closed);
  waiters.stop();
  expect(await waits[1]).toBe(second);
});

test("who does not want to wait, has left, or asks for a closed order is answered at once", async () => {
  const waiters = new FillWaiters(database);
  const order = orderOf("ann");
  const closed = { ...order, closedAt: 1 } as Order;
  expect(await waiters.untilClosed(order, 0, NEVER)).toBe(order);
  expect(await waiters.untilClosed(order, LONG, AbortSignal.abort())).toBe(order);
  expect(await waiters.untilClosed(closed, LONG, NEVER)).toBe(closed);
  const gone = new AbortController();
  const wait = waiters.untilClosed(order, LONG, gone.signal);
  gone.abort();
  expect(await wait).toBe(order);
});

test("while somebody waits, all that is waited for is looked up together every 200 ms, once at a time", async () => {
  vi.useFakeTimers();
  const lookups: unknown[] = [];
  let answer: (() => void) | undefined;
  const slow = {
    rows: async (_text: string, [, ids]: readonly unknown[] = []): Promise<never[]> => {
      lookups.push(ids);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return [];
    },
  };
  const waiters = new FillWaiters(slow);
  const orders = ["ann", "bob"].map(orderOf);
  for (const order of orders) void waiters.untilClosed(order, LONG, NEVER);
  const both = orders.map(({ id }) => id);
  await vi.advanceTimersByTimeAsync(199);
  expect(lookups).toEqual([]);
  await vi.advanceTimersByTimeAsync(1_001);
  expect(lookups).toEqual([both]);
  answer?.();
  await vi.advanceTimersByTimeAsync(200);
  expect(lookups).toEqual([both, both]);
  answer?.();
  waiters.onCommitted(orders.map((order) => ({ ...order, closedAt: 1 }) as Order));
  expect(vi.getTimerCount()).toBe(0);
  void waiters.untilClosed(orderOf("cid"), LONG, NEVER);
  await vi.advanceTimersByTimeAsync(200);
  expect(lookups).toHaveLength(3);
  answer?.();
  waiters.stop();
  answer?.();
});

test("when one of two waits has ended, the other one's order is still looked up", async () => {
  vi.useFakeTimers();
  const lookups: unknown[] = [];
  const rows = async (_text: string, [, ids]: readonly unknown[] = []): Promise<never[]> => {
    lookups.push(ids);
    return [];
  };
  const waiters = new FillWaiters({ rows });
  const [first, second] = [orderOf("ann"), orderOf("bob")];
  for (const order of [first, second]) void waiters.untilClosed(order, LONG, NEVER);
  waiters.onCommitted([{ ...first, closedAt: 1 } as Order]);
  await vi.advanceTimersByTimeAsync(400);
  expect(lookups).toEqual([[second.id], [second.id]]);
  waiters.stop();
});

test("while the database is away, a wait asks it again and again, and returns at its end the order as it was placed", async () => {
  vi.useFakeTimers();
  let lookups = 0;
  const rows = () => {
    lookups += 1;
    return Promise.reject(new Error("away"));
  };
  const waiters = new FillWaiters({ rows });
  const order = orderOf("ann");
  const wait = waiters.untilClosed(order, 1_000, NEVER);
  await vi.advanceTimersByTimeAsync(900);
  expect(lookups).toBe(4);
  await vi.advanceTimersByTimeAsync(100);
  expect(await wait).toBe(order);
});

test("a wait that has ended makes room for another", async () => {
  const waiters = new FillWaiters(database, 4);
  for (let i = 0; i < 3; i += 1) {
    const order = orderOf("ann");
    const wait = waiters.untilClosed(order, LONG, NEVER);
    const closed = { ...order, closedAt: 1 } as Order;
    waiters.onCommitted([closed]);
    expect(await wait).toBe(closed);
  }
});
