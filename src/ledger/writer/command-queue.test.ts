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

test("heavy ones come in the order of their arrival, few together, and light ones between them", () => {
  const heavy = [commandOf("h1", 900), commandOf("h2", 200), commandOf("h3", 300), commandOf("h4", 200)];
  const queue = queueOf(...heavy, commandOf("a1", 10), commandOf("b1", 10), commandOf("a2", 10));
  const batches = Array.from({ length: 6 }, () => names(queue.take(2, 2_000, [])));
  expect(batches).toEqual([["h1"], ["a1", "b1"], ["h2", "h3"], ["a2"], ["h4"], []]);
});

test("while a batch of heavy ones is being committed, only light ones are taken", () => {
  const queue = queueOf(commandOf("h1", 200), commandOf("a1", 199));
  expect(names(queue.take(500, 2_000, [HEAVY]))).toEqual(["a1"]);
  expect(queue.take(500, 2_000, [HEAVY])).toEqual([]);
  expect(names(queue.take(500, 2_000, []))).toEqual(["h1"]);
});

test("what came while a heavy one was being committed goes before the next heavy one", () => {
  const queue = queueOf(commandOf("h1", 200), commandOf("h2", 500), commandOf("a1", 5));
  expect(names(queue.take(500, 2_000, []))).toEqual(["h1"]);
  expect(names(queue.take(500, 2_000, [HEAVY]))).toEqual(["a1"]);
  queue.push(commandOf("a2", 5));
  expect(names(queue.take(500, 2_000, []))).toEqual(["a2"]);
  queue.push(commandOf("a3", 5));
  expect(names(queue.take(500, 2_000, []))).toEqual(["h2"]);
});

test("a bulk is not heavy: it is as long as its customer makes it, and waits in its queue", () => {
  const queue = queueOf(commandOf("h1", 900), commandOf("a1", 1_500, { saysSo: false }));
  expect(names(queue.take(500, 2_000, []))).toEqual(["h1"]);
  expect(names(queue.take(500, 2_000, [HEAVY]))).toEqual(["a1"]);
});

test("all are taken when there is nothing to wait for", () => {
  const queue = queueOf(commandOf("h1", 900), commandOf("h2", 900), commandOf("a1", 5));
  expect(names(queue.takeAll())).toEqual(["h1", "h2", "a1"]);
  expect(queue.takeAll()).toEqual([]);
});
