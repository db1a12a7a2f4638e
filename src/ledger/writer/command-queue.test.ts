import { expect, test } from "vitest";
import type { Instant } from "../../std/clock.ts";
import { CommandQueue } from "./command-queue.ts";
import { type AnyCommand, PendingCommand } from "./pending-command.ts";

const CALLBACKS = { resolve: () => undefined, reject: () => undefined, onComplete: () => undefined };

/** @param rows in all; the name begins with its queue's key */
function commandOf(name: string, rows: number, { saysSo = true } = {}): PendingCommand {
  const dependsOn = saysSo ? [] : new Array(rows).fill({});
  const command = { queueKey: name.slice(0, 1), name, dependsOn, ...(saysSo && { weight: rows }) };
  return new PendingCommand(command as unknown as AnyCommand, 0 as Instant, CALLBACKS);
}

function queueOf(...commands: readonly PendingCommand[]): CommandQueue {
  const queue = new CommandQueue();
  for (const one of commands) queue.push(one);
  return queue;
}

const HEAVY = {
  decided: [commandOf("a", 5), commandOf("h", 900)].map((pending) => ({
    pending,
    decision: { kind: "taken" } as const,
  })),
};

const names = (some: readonly PendingCommand[]): string[] =>
  some.map(({ command }) => (command as unknown as { name: string }).name);

test("heavy ones come in the order of their arrival, few together, and light ones with them", () => {
  const heavy = [commandOf("h1", 900), commandOf("h2", 300), commandOf("h3", 700), commandOf("h4", 200)];
  const queue = queueOf(...heavy, commandOf("a1", 10), commandOf("b1", 10), commandOf("a2", 10));
  expect(names(queue.take(3, 2_000, []))).toEqual(["h1", "a1", "b1"]);
  expect(names(queue.take(3, 2_000, []))).toEqual(["h2", "h3", "a2"]);
  expect(names(queue.take(3, 2_000, []))).toEqual(["h4"]);
  expect(queue.take(3, 2_000, [])).toEqual([]);
});

test("while a batch with a heavy one is being committed, only light ones are taken", () => {
  const queue = queueOf(commandOf("h1", 200), commandOf("a1", 199));
  expect(names(queue.take(500, 2_000, [HEAVY]))).toEqual(["a1"]);
  expect(queue.take(500, 2_000, [HEAVY])).toEqual([]);
  expect(names(queue.take(500, 2_000, []))).toEqual(["h1"]);
});

test("a bulk is not heavy, and waits for the next batch if it is too much beside a heavy one", () => {
  const queue = queueOf(commandOf("h1", 900), commandOf("a1", 1_500, { saysSo: false }), commandOf("b1", 5));
  expect(names(queue.take(500, 2_000, []))).toEqual(["h1", "b1"]);
  expect(names(queue.take(500, 2_000, [HEAVY]))).toEqual(["a1"]);
});

test("all are taken when there is nothing to wait for", () => {
  const queue = queueOf(commandOf("h1", 900), commandOf("h2", 900), commandOf("a1", 5));
  expect(names(queue.takeAll())).toEqual(["h1", "h2", "a1"]);
  expect(queue.takeAll()).toEqual([]);
});
