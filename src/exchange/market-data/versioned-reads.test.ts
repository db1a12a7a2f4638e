import { beforeEach, expect, test } from "vitest";
import { VersionedReads } from "./versioned-reads.ts";

/** What there is, as the database would have it. */
let version: bigint;
let content: string;
let fails: boolean;
let now: number;
let looks: number;
let read: number;
let reads: VersionedReads<string, { version: bigint; content: string }>;

beforeEach(() => {
  [version, content, fails, now, looks, read] = [7n, "seven", false, 0, 0, 0];
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

test("what has not changed is read once, however many ask and however often, and is the same object", async () => {
  const first = await reads.get("BTCUSD");
  for (let round = 0; round < 10; round += 1) {
    const all = await Promise.all(Array.from({ length: 100 }, () => reads.get("BTCUSD")));
    expect(all.every((value) => value === first)).toBe(true);
    now += 900;
  }
  // Of a hundred the first looks, and all others share the look that begins behind it.
  expect({ read, looks }).toEqual({ read: 1, looks: 20 });
});

test("nobody is answered what was committed before they asked, and not any more", async () => {
  await reads.get("BTCUSD");
  const under = reads.get("BTCUSD");
  commit(8n, "eight");
  const behind = reads.get("BTCUSD");
  expect((await Promise.all([under, behind])).map((value) => value.content)).toEqual(["eight", "eight"]);
  commit(9n, "nine");
  expect((await reads.get("BTCUSD")).content).toBe("nine");
  expect(read).toBe(3);
});

test("after a fault what was kept is read again, though its version is the same", async () => {
  await reads.get("BTCUSD");
  fails = true;
  await expect(reads.get("BTCUSD")).rejects.toThrow("the database is away");
  fails = false;
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
});

test("what nobody has confirmed for a second is read again", async () => {
  await reads.get("BTCUSD");
  now += 1_000;
  commit(7n, "another seven");
  expect((await reads.get("BTCUSD")).content).toBe("another seven");
});
