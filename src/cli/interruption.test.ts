import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Database } from "../postgres/database.ts";
import {
  DUPLICATE_SIGNAL_MS,
  endStatements,
  finished,
  Interrupted,
  interruptible,
  untilStopped,
} from "./interruption.ts";

/** The exit codes with which the process would have ended. */
let ended: unknown[];
beforeEach(() => {
  ended = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "performance"] });
  vi.spyOn(process, "exit").mockImplementation((code) => void ended.push(code) as never);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** As from a terminal. What others have to do with signals is left out. */
function send(signal: NodeJS.Signals): void {
  for (const listener of process.listeners(signal).slice(-1)) listener(signal);
}

/** Work that is under way, and goes on until it is told to end. */
function working() {
  let end = (_error?: Error): void => undefined;
  let isStopping = (): boolean => false;
  const done = interruptible("nothing was written", (stopping) => {
    isStopping = () => stopping.aborted;
    return new Promise<string>((resolve, reject) => {
      end = (error) => (error === undefined ? resolve("done") : reject(error));
    });
  });
  return { done, isStopping: () => isStopping(), end: (error?: Error) => end(error) };
}

test.each([
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s tells the work to end, which is then interrupted with the exit code %d", async (signal, exitCode) => {
  const { done, isStopping, end } = working();
  expect(isStopping()).toBe(false);
  send(signal);
  expect(isStopping()).toBe(true);
  end(new Error("cut off"));
  await expect(done).rejects.toEqual(new Interrupted("nothing was written", exitCode));
  await expect(done).rejects.toMatchObject({ message: "interrupted: nothing was written", exitCode });
  expect(ended).toEqual([]);
});

test("work that ends all the same has its result, and a failure of its own stays one", async () => {
  const first = working();
  send("SIGINT");
  first.end();
  expect(await first.done).toBe("done");
  const second = working();
  second.end(new Error("the disk is full"));
  await expect(second.done).rejects.toThrow("the disk is full");
});

test("the same Ctrl-C that arrives twice is one, a second one ends the process, and a closing terminal is one", async () => {
  const { done, end } = working();
  send("SIGINT");
  vi.advanceTimersByTime(DUPLICATE_SIGNAL_MS - 1);
  send("SIGINT");
  vi.advanceTimersByTime(1_000);
  send("SIGHUP");
  expect(ended).toEqual([]);
  send("SIGTERM");
  expect(ended).toEqual([143]);
  end();
  await done;
});

test("work that does not end is not waited for longer than 20 seconds", async () => {
  const { done, end } = working();
  send("SIGTERM");
  vi.advanceTimersByTime(19_999);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ended).toEqual([143]);
  end();
  await done;
});

test("signals are the program's own again when the work has ended, however it has", async () => {
  const listeners = () => ["SIGHUP", "SIGINT", "SIGTERM"].map((signal) => process.listenerCount(signal));
  const before = listeners();
  const seen: number[][] = [];
  await untilStopped(async () => void seen.push(listeners()));
  await untilStopped(async () => Promise.reject(new Error("it failed"))).catch(() => undefined);
  expect(seen).toEqual([before.map((count) => count + 1)]);
  expect(listeners()).toEqual(before);
});

test("statements are cut off once the command is stopped, or was", () => {
  const cutOff = vi.fn();
  const database = { cutOff } as unknown as Database;
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  endStatements(database, undefined);
  endStatements(database, stopping.signal);
  expect(cutOff).toHaveBeenCalledTimes(0);
  stopping.abort();
  expect(cutOff).toHaveBeenCalledTimes(1);
  endStatements(database, stopping.signal);
  expect(cutOff).toHaveBeenCalledTimes(2);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)(
  "a write has its result in spite of %s, and a second one says that nothing is known",
  async (signal, exitCode) => {
    const said: unknown[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation(((text: string, then?: () => void) => {
      said.push(text);
      then?.();
      return true;
    }) as never);
    let end = (_result: string): void => undefined;
    const done = finished(() => new Promise<string>((resolve) => (end = resolve)));
    send(signal);
    vi.advanceTimersByTime(DUPLICATE_SIGNAL_MS - 1);
    send(signal);
    vi.advanceTimersByTime(1);
    send("SIGHUP");
    const waiting = "Waiting until it is known whether the command took effect; a second Ctrl-C does not wait.\n";
    expect([ended, said]).toEqual([[], [waiting]]);
    send(signal);
    const unknown =
      "It is not known whether the command took effect: look for it with parbook audit writes before you run it again.\n";
    expect([ended, said]).toEqual([[exitCode], [waiting, unknown]]);
    const listeners = process.listeners(signal);
    end("deposited");
    expect(await done).toBe("deposited");
    expect(process.listeners(signal)).toHaveLength(listeners.length - 1);
  },
);

test("a write whose terminal goes away has its result, and says nothing to it", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  let end = (_result: string): void => undefined;
  const done = finished(() => new Promise<string>((resolve) => (end = resolve)));
  send("SIGHUP");
  vi.advanceTimersByTime(DUPLICATE_SIGNAL_MS);
  send("SIGHUP");
  expect([ended, write.mock.calls]).toEqual([[], []]);
  end("deposited");
  expect(await done).toBe("deposited");
});
