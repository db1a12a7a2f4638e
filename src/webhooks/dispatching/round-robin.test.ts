import { expect, test } from "vitest";
import type { CustomerId } from "../../customers/customer-id.ts";
import { RoundRobin } from "./round-robin.ts";

const of = (customer: string, name: string) => ({ name, webhook: { customerId: customer as CustomerId } });

test("one customer after another, however many webhooks it has, and of each one webhook after another", () => {
  const ready = new RoundRobin<ReturnType<typeof of>>();
  for (const one of [of("ann", "a1"), of("ann", "a2"), of("ann", "a3"), of("bob", "b1")]) ready.add(one);
  const turns: string[] = [];
  for (let turn = 0; turn < 8; turn += 1) {
    const one = ready.next();
    if (one === undefined) break;
    turns.push(one.name);
    ready.add(one);
  }
  expect(turns.join(" ")).toBe("a1 b1 a2 b1 a3 b1 a1 b1");
});

test("one that waits already has one turn, and one that is deleted none", () => {
  const ready = new RoundRobin<ReturnType<typeof of>>();
  const [a, b] = [of("ann", "a"), of("bob", "b")];
  for (const one of [a, b, a]) ready.add(one);
  ready.delete(b);
  expect([ready.next(), ready.next(), ready.isEmpty]).toEqual([a, undefined, true]);
});
