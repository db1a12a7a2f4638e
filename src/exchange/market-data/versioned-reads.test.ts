import { beforeEach, expect, test } from "vitest";
import { VersionedReads } from "./versioned-reads.ts";

/** A source with a version, in a history, that a test sets. */
let version: bigint;
let content: string;
let history: string;
let fails: boolean;
let looks: number;
let read: number;
/** Called while a value is read. */
let onRead: () => void;
let reads: VersionedReads<string, { version: bigint; content: string }>;

beforeEach(() => {
  [version, content, history, fails, looks, read] = [7n, "seven", "first", false, 0, 0];
  onRead = () => undefined;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  reads = new VersionedReads({
    newest: async () => {
      looks += 1;
      await turn();
      if (fails) throw new Error("the database is away");
      return version;
    },
    read: async () => {
      read += 1;
      await turn();
      const value = { version, content };
      onRead();
      return value;
    },
    versionOf: (value) => value.version,
    history: () => history,
  });
});

function commit(next: bigint, text: string): void {
  [version, content] = [next, text];
}

test("an unchanged value is read once, for any number of calls, and is the same object", async () => {
  const first = await reads.get("BTCUSD");
  for (let round = 0; round < 10; round += 1) {
    const all = await Promise.all(Array.from({ length: 100 }, () => reads.get("BTCUSD")));
    expect(all.every((value) => value === first)).toBe(true);
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

test("in another history the value is read again, even if its version is the same", async () => {
  await reads.get("BTCUSD");
  fails = true;
  await expect(reads.get("BTCUSD")).rejects.toThrow("the database is away");
  fails = false;
  history = "second";
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
  expect(read).toBe(2);
});

test("a value during whose reading another history began is not kept", async () => {
  onRead = () => {
    history = "second";
  };
  expect((await reads.get("BTCUSD")).content).toBe("seven");
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
});
