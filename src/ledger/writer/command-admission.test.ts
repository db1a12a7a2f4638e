import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { IdSource, type Uuid } from "../../std/id.ts";
import { reject } from "../../std/result.ts";
import type { Command } from "../decision.ts";
import { AdmissionControl } from "./command-admission.ts";
import { BOUNDS } from "./lane-options.ts";

const ids = new IdSource();
const LATER = 1_000 as Instant;

const command = (queueKey: Command<never, { code: "no" }>["queueKey"]): Command<never, { code: "no" }> => ({
  queueKey,
  caller: { house: "engine" },
  dependsOn: [],
  decide: () => reject({ code: "no" }),
});

test("a command beyond either bound fails at once and does not count as pending", async () => {
  const admission = new AdmissionControl(3, 2);
  const [a, b] = [ids.next(), ids.next()];
  const first = admission.admit(command(a), LATER);
  admission.admit(command(a), LATER);
  await expect(admission.admit(command(a), LATER).outcome).rejects.toThrow("too much is waiting");
  expect(admission.size).toBe(2);
  expect(admission.isFull).toBe(false);
  admission.admit(command(b), LATER);
  expect(admission.isFull).toBe(true);
  await expect(admission.admit(command(b), LATER).outcome).rejects.toThrow("too much is waiting");
  first.pending.complete({ kind: "done", value: undefined });
  expect(await first.outcome).toEqual({ kind: "done", value: undefined });
  expect(admission.admit(command(a), LATER).pending.isComplete).toBe(false);
});

/** As the metric of pending commands says, for the operator who has to judge it. */
test("of one customer 2,000 commands may be pending, and 10,000 in all", async () => {
  const admission = new AdmissionControl(BOUNDS.pending, BOUNDS.pendingPerCustomer);
  const admitted = (queueKey: Uuid): boolean => !admission.admit(command(queueKey), LATER).pending.isComplete;
  const customers = Array.from({ length: 5 }, () => ids.next());
  const first = customers.flatMap((customer) => Array.from({ length: 2_000 }, () => admitted(customer)));
  expect(first.every(Boolean)).toBe(true);
  const rejected = [customers[0] as Uuid, ids.next()].map((one) => admission.admit(command(one), LATER));
  for (const { outcome } of rejected) await expect(outcome).rejects.toThrow("too much is waiting");
  expect(admission.size).toBe(10_000);
});

test.each(["house", "settlements of acme"] as const)("commands of the queue %s are always admitted", (queueKey) => {
  const admission = new AdmissionControl(1, 1);
  admission.admit(command(queueKey), LATER);
  expect(admission.admit(command(queueKey), LATER).pending.isComplete).toBe(false);
});

test("a command fails at its deadline, and a later outcome is ignored", async () => {
  const admission = new AdmissionControl(3, 3);
  const { pending, outcome } = admission.admit(command(ids.next()), 100 as Instant);
  admission.expire(99 as Instant);
  expect(pending.isComplete).toBe(false);
  admission.expire(100 as Instant);
  pending.complete({ kind: "done", value: undefined });
  await expect(outcome).rejects.toMatchObject({ name: "Unavailable", message: "not in time" });
  expect(admission.size).toBe(0);
});

test("drained resolves when the last pending command completes", async () => {
  const admission = new AdmissionControl(3, 3);
  await admission.drained();
  const entered = [admission.admit(command(ids.next()), LATER), admission.admit(command(ids.next()), LATER)];
  let empty = false;
  const drained = admission.drained().then(() => {
    empty = true;
  });
  entered[0]?.pending.complete({ kind: "done", value: undefined });
  await Promise.resolve();
  expect(empty).toBe(false);
  entered[1]?.pending.complete({ kind: "done", value: undefined });
  await drained;
  expect(admission.size).toBe(0);
});
