import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { IdSource } from "../../std/id.ts";
import { type Command, reject } from "../decision.ts";
import { AdmissionControl } from "./admission.ts";

const ids = new IdSource();
const LATER = 1_000 as Instant;

const command = (turn: Command<never, { code: "no" }>["queueKey"]): Command<never, { code: "no" }> => ({
  queueKey: turn,
  caller: { house: "engine" },
  dependsOn: [],
  decide: () => reject({ code: "no" }),
});

test("one too many in all, or of one customer, is unavailable at once and takes no place", async () => {
  const inside = new AdmissionControl(3, 2);
  const [a, b] = [ids.next(), ids.next()];
  const first = inside.enter(command(a), LATER);
  inside.enter(command(a), LATER);
  await expect(inside.enter(command(a), LATER).outcome).rejects.toThrow("too much is waiting");
  expect(inside.size).toBe(2);
  expect(inside.full).toBe(false);
  inside.enter(command(b), LATER);
  expect(inside.full).toBe(true);
  await expect(inside.enter(command(b), LATER).outcome).rejects.toThrow("too much is waiting");
  first.waiting.answer({ kind: "done", value: undefined });
  expect(await first.outcome).toEqual({ kind: "done", value: undefined });
  expect(inside.enter(command(a), LATER).waiting.answered).toBe(false);
});

test("the house is let in always", () => {
  const inside = new AdmissionControl(1, 1);
  inside.enter(command("house"), LATER);
  expect(inside.enter(command("house"), LATER).waiting.answered).toBe(false);
});

test("whose time is over is told so, and is not told anything else later", async () => {
  const inside = new AdmissionControl(3, 3);
  const { waiting, outcome } = inside.enter(command(ids.next()), 100 as Instant);
  inside.expire(99 as Instant);
  expect(waiting.answered).toBe(false);
  inside.expire(100 as Instant);
  waiting.answer({ kind: "done", value: undefined });
  await expect(outcome).rejects.toMatchObject({ name: "Unavailable", message: "not in time" });
  expect(inside.size).toBe(0);
});

test("whoever waits for it to be empty hears when the last one was answered", async () => {
  const inside = new AdmissionControl(3, 3);
  await inside.empty();
  const entered = [inside.enter(command(ids.next()), LATER), inside.enter(command(ids.next()), LATER)];
  let empty = false;
  const told = inside.empty().then(() => {
    empty = true;
  });
  entered[0]?.waiting.answer({ kind: "done", value: undefined });
  await Promise.resolve();
  expect(empty).toBe(false);
  entered[1]?.waiting.answer({ kind: "done", value: undefined });
  await told;
  expect(inside.size).toBe(0);
});
