/**
 * All that the service has said about the orders of one customer, and what is still owed an answer; and the laws that
 * hold between two answers about one order, whatever happened in between.
 */
import { deepStrictEqual } from "node:assert/strict";
import { type Amount, amountOf } from "../../src/money/amount.ts";
import { assert, must } from "../../src/std/assert.ts";
import type { OrderRequest } from "./orders-at-random.ts";

/** An order as the API shows it. */
export interface ShownOrder extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly ref_id: string;
  readonly status: string;
  readonly amount_filled: string;
  readonly modified_at: string;
  readonly is_triggered: boolean;
}

const CLOSED = new Set(["FILLED", "CANCELLED", "REJECTED"]);
export const isClosed = ({ status }: ShownOrder): boolean => CLOSED.has(status);

/** What an order can become (behaviour.md, section 8, States). What is closed stays as it is. */
const FOLLOWS: Readonly<Record<string, readonly string[]>> = {
  PENDING_SUBMISSION: ["PENDING_SUBMISSION", "SUBMITTED", "OPEN", "FILLED", "CANCELLED", "REJECTED"],
  SUBMITTED: ["SUBMITTED", "OPEN", "FILLED", "CANCELLED", "REJECTED"],
  OPEN: ["OPEN", "FILLED", "CANCELLED"],
};

const CHANGING = new Set([
  "status",
  "amount_filled",
  "volume_weighted_average_price",
  "modified_at",
  "is_triggered",
  "reject_reason",
]);

export class Answers {
  /** As they were shown last. */
  readonly orders = new Map<string, ShownOrder>();
  /** By ref_id: sent, and nothing heard, or nothing that says what became of it. */
  readonly unanswered = new Map<string, OrderRequest>();
  /** The ref_ids of orders that were refused, which leaves no record. */
  readonly refused = new Set<string>();
  /** Orders whose cancel was answered. */
  readonly cancelled = new Set<string>();

  sends(request: OrderRequest): void {
    this.unanswered.set(String(request.ref_id), request);
  }

  isRefused(refId: string): void {
    this.refused.add(refId);
    this.unanswered.delete(refId);
  }

  /** Answers to requests that were under way together come in any order: what is closed stays known as closed. */
  isShown(order: ShownOrder): void {
    const before = this.orders.get(order.id);
    if (before === undefined || !isClosed(before)) this.orders.set(order.id, order);
    this.unanswered.delete(order.ref_id);
  }

  /** Holds all orders that the service lists against all that it has said before. */
  expectKept(listed: readonly ShownOrder[]): void {
    const byId = new Map(listed.map((order) => [order.id, order]));
    const refIds = new Set(listed.map((order) => order.ref_id));
    assert(byId.size === listed.length, "an order is listed once");
    assert(refIds.size === listed.length, "a ref_id has one order");
    for (const refId of this.refused) assert(!refIds.has(refId), `an order that was refused is not there: ${refId}`);
    for (const before of this.orders.values()) {
      const now = must(byId.get(before.id), `order ${before.id}, which was answered, is there`);
      expectFollows(before, now);
      this.orders.set(now.id, now);
    }
  }

  /** Whether nothing is under way: every order is taken, and every cancel that was answered has ended its order. */
  isSettled(listed: readonly ShownOrder[]): boolean {
    return listed.every((order) =>
      this.cancelled.has(order.id) ? isClosed(order) : order.status !== "PENDING_SUBMISSION",
    );
  }
}

function expectFollows(before: ShownOrder, now: ShownOrder): void {
  if (isClosed(before)) {
    deepStrictEqual(now, before, "a closed order never changes again");
    return;
  }
  const what = `${JSON.stringify(before)} became ${JSON.stringify(now)}`;
  for (const field of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (!CHANGING.has(field)) deepStrictEqual(now[field], before[field], `${field}: ${what}`);
  }
  const [was, is]: [Amount, Amount] = [amountOf(before.amount_filled), amountOf(now.amount_filled)];
  assert(FOLLOWS[before.status]?.includes(now.status) ?? false, `a status follows: ${what}`);
  assert(is >= was, `what was filled stays filled: ${what}`);
  assert(now.is_triggered || !before.is_triggered, `a stop stays triggered: ${what}`);
  assert(now.modified_at >= before.modified_at, `time does not step back: ${what}`);
  assert(now.status !== "REJECTED" || is === 0n, `what is rejected has filled nothing: ${what}`);
  assert(now.status !== "FILLED" || is > 0n, `what is filled has traded: ${what}`);
}

/** The executions of each order add up to what it has filled. */
export function expectExecuted(
  orders: readonly ShownOrder[],
  executions: readonly { readonly order_id: string; readonly amount: string }[],
): void {
  const executed = new Map<string, bigint>();
  for (const { order_id: id, amount } of executions) executed.set(id, (executed.get(id) ?? 0n) + amountOf(amount));
  for (const { id, amount_filled: filled } of orders) {
    assert((executed.get(id) ?? 0n) === amountOf(filled), `the executions of order ${id} add up to ${filled}`);
    executed.delete(id);
  }
  assert(executed.size === 0, "every execution is of an order that is listed");
}
