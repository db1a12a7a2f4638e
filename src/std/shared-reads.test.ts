import { expect, test } from "vitest";
import { SharedReads } from "./shared-reads.ts";

interface Read {
  readonly key: string;
  readonly answer: (value: string) => void;
  readonly fail: (error: Error) => void;
}

/** Shared reads whose completion a test controls, in start order. */
function held(): { reads: SharedReads<string, string>; started: Read[] } {
  const started: Read[] = [];
  const reads = new SharedReads<string, string>(
    (key) => new Promise((answer, fail) => started.push({ key, answer, fail })),
  );
  return { reads, started };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("calls during a read share the next one, which begins after them", async () => {
  const { reads, started } = held();
  const first = reads.get("BTCUSD");
  const others = [reads.get("BTCUSD"), reads.get("BTCUSD"), reads.get("BTCUSD")];
  expect(started).toHaveLength(1);
  started[0]?.answer("old");
  expect(await first).toBe("old");
  await settled();
  expect(started).toHaveLength(2);
  started[1]?.answer("new");
  expect(await Promise.all(others)).toEqual(["new", "new", "new"]);
});

test("at most one read per key is in flight", async () => {
  let running = 0;
  let most = 0;
  const reads = new SharedReads<string, number>(async () => {
    running += 1;
    most = Math.max(most, running);
    await settled();
    running -= 1;
    return running;
  });
  const asked: Promise<number>[] = [];
  for (let round = 0; round < 20; round += 1) {
    asked.push(reads.get("BTCUSD"), reads.get("BTCUSD"));
    await Promise.resolve();
    if (round % 3 === 0) await settled();
  }
  await Promise.all(asked);
  expect(most).toBe(1);
});

test("keys do not wait for each other", async () => {
  const { reads, started } = held();
  void reads.get("BTCUSD");
  const other = reads.get("ETHUSD");
  expect(started.map(({ key }) => key)).toEqual(["BTCUSD", "ETHUSD"]);
  started[1]?.answer("here");
  expect(await other).toBe("here");
});

test("what has the same key is shared, and read as the first one asked for it", async () => {
  const started: string[] = [];
  const reads = new SharedReads<string, string>(
    async (asked) => {
      started.push(asked);
      await settled();
      return asked;
    },
    (asked) => asked.toUpperCase(),
  );
  const asked = ["BTCUSD", "btcusd", "BtcUsd", "ethusd"].map((market) => reads.get(market));
  expect(await Promise.all(asked)).toEqual(["BTCUSD", "btcusd", "btcusd", "ethusd"]);
  expect(started).toEqual(["BTCUSD", "ethusd", "btcusd"]);
});

test("a failed read fails only for the calls that shared it", async () => {
  const { reads, started } = held();
  const first = reads.get("BTCUSD");
  const second = reads.get("BTCUSD");
  started[0]?.fail(new Error("away"));
  await expect(first).rejects.toThrow("away");
  await settled();
  started[1]?.answer("back");
  expect(await second).toBe("back");
  const third = reads.get("BTCUSD");
  started[2]?.answer("again");
  expect(await third).toBe("again");
});
