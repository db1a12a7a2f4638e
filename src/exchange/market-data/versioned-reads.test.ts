import { beforeEach, expect, test } from "vitest";
import { VersionedReads } from "./versioned-reads.ts";

/** A source with a version that a test sets. */
let version: bigint;
let content: string;
let fails: boolean;
let now: number;
let looks: number;
let read: number;
/** How long it takes to read the value. */
let readMs: number;
let reads: VersionedReads<string, { version: bigint; content: string }>;

beforeEach(() => {
  [version, content, fails, now, looks, read, readMs] = [7n, "seven", false, 0, 0, 0, 0];
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  reads = new VersionedReads(
    {
      newest: async () => {
        looks += 1;
        await turn();
        if (fails) throw new Error("the database is away");
        return version;
      },
      read: async () => {
        read += 1;
        await turn();
        now += readMs;
        return { version, content };
      },
      versionOf: (value) => value.version,
    },
    () => now,
  );
});

function commit(next: bigint, text: string): void {
  [version, content] = [next, text];
}

test("an unchanged value is read once, for any number of calls, and is the same object", async () => {
  const first = await reads.get("BTCUSD");
  for (let round = 0; round < 10; round += 1) {
    const all = await Promise.all(Array.from({ length: 100 }, () => reads.get("BTCUSD")));
    expect(all.every((value) => value === first)).toBe(true);
    now += 900;
  }
  // The first of a hundred reads the version, and all others share the next read.
  expect({ read, looks }).toEqual({ read: 1, looks: 20 });
});

test("no call returns a value that was outdated when it began", async () => {
  await reads.get("BTCUSD");
  const under = reads.get("BTCUSD");
  commit(8n, "eight");
  const behind = reads.get("BTCUSD");
  expect((await Promise.all([under, behind])).map((value) => value.content)).toEqual(["eight", "eight"]);
  commit(9n, "nine");
  expect((await reads.get("BTCUSD")).content).toBe("nine");
  expect(read).toBe(3);
});

test("after a failure the value is read again, even if its version is the same", async () => {
  await reads.get("BTCUSD");
  fails = true;
  await expect(reads.get("BTCUSD")).rejects.toThrow("the database is away");
  fails = false;
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
});

test("a value that was not confirmed for a second is read again", async () => {
  await reads.get("BTCUSD");
  now += 1_000;
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
});

test("the second is counted from before a value was read, however long that took", async () => {
  readMs = 999;
  await reads.get("BTCUSD");
  now += 1;
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
});
