import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import type { BookOrderId } from "../book/order.ts";
import { Expiries } from "./expiries.ts";

const at = (ms: number): Instant => ms as Instant;
const order = (name: string | number): BookOrderId => String(name) as BookOrderId;

function expiring(times: Readonly<Record<string, number>>): Expiries {
  const expiries = new Expiries();
  for (const [name, ms] of Object.entries(times)) expiries.add(order(name), "ann", at(ms));
  return expiries;
}

test("orders are due at their time, earliest first, and once", () => {
  const expiries = expiring({ c: 30, a: 10, d: 40, b: 20 });
  expect(expiries.isDue(at(9))).toBe(false);
  expect(expiries.isDue(at(10))).toBe(true);
  expect(expiries.takeDue(at(30), 10)).toEqual(["a", "b", "c"]);
  expect(expiries.takeDue(at(30), 10)).toEqual([]);
  expect(expiries.takeDue(at(40), 10)).toEqual(["d"]);
});

test("the number of due orders is limited", () => {
  const expiries = expiring({ a: 1, b: 2, c: 3 });
  expect(expiries.takeDue(at(5), 2)).toEqual(["a", "b"]);
  expect(expiries.takeDue(at(5), 2)).toEqual(["c"]);
});

test("an order that has closed does not expire", () => {
  const expiries = expiring({ a: 1, b: 2 });
  expiries.remove(order("a"));
  expect(expiries.takeDue(at(5), 10)).toEqual(["b"]);
  expect(expiries.isDue(at(5))).toBe(false);
});

test("many removed orders do not affect the order of the rest", () => {
  const expiries = new Expiries();
  const times = Array.from({ length: 1_000 }, (_, i) => (i * 617) % 1_000);
  for (const ms of times) expiries.add(order(ms), "ann", at(ms));
  for (const ms of times) if (ms % 10 !== 0) expiries.remove(order(ms));
  const due: BookOrderId[] = [];
  for (let now = 0; now <= 1_000; now += 100) due.push(...expiries.takeDue(at(now), 1_000));
  expect(due).toEqual(Array.from({ length: 100 }, (_, i) => String(i * 10)));
});

test("orders that are to expire are counted by customer until they are removed, also when they are due", () => {
  const expiries = expiring({ a: 1, b: 2, c: 3 });
  expiries.add(order("d"), "bob", at(4));
  expect([expiries.countOf("ann"), expiries.countOf("bob"), expiries.countOf("eve")]).toEqual([3, 1, 0]);
  expiries.remove(order("b"));
  expiries.remove(order("b"));
  expect(expiries.countOf("ann")).toBe(2);
  expect(expiries.takeDue(at(1), 10)).toEqual(["a"]);
  expect([expiries.countOf("ann"), expiries.countOf("bob")]).toEqual([2, 1]);
  expiries.remove(order("a"));
  expect([expiries.countOf("ann"), expiries.countOf("bob")]).toEqual([1, 1]);
  expect(expiries.takeDue(at(9), 10)).toEqual(["c", "d"]);
});
