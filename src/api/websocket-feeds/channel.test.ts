import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Channel } from "./channel.ts";
import type { Packet } from "./packet.ts";
import type { Reader } from "./reader.ts";
import { SendingTurns } from "./sending-turns.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => void vi.useRealTimers());
const nextTurn = () => vi.advanceTimersByTime(5);

/** The texts of up to 125 bytes, or more than 64 KiB, in frames of a server (RFC 6455, section 5.2). */
function textsIn(frames: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 0; at < frames.length; ) {
    const short = frames.readUInt8(at + 1);
    const [head, length] = short < 126 ? [2, short] : [10, Number(frames.readBigUInt64BE(at + 2))];
    expect([frames.readUInt8(at), short === 126]).toEqual([0x81, false]);
    texts.push(frames.toString("utf8", at + head, at + head + length).trimEnd());
    at += head + length;
  }
  return texts;
}

class FakeReader {
  readonly writes: string[] = [];

  send({ frames, messages }: Packet): void {
    const texts = textsIn(frames);
    expect(messages).toBe(texts.length);
    this.writes.push(texts.join(" "));
  }
}

/** A channel whose state is the number of its last update, with messages and snapshots of so many bytes at least. */
function start(length = 0, turns = new SendingTurns(), snapshotLength = 0) {
  let state = 1;
  let tell: (update: number | undefined) => void = () => undefined;
  const source = {
    subscribe: (listener: (update: number | undefined) => void) => {
      tell = listener;
      return {
        get state() {
          return state;
        },
        stop: () => undefined,
      };
    },
    snapshot: (at: number) => [Buffer.from(`snapshot:${at}`.padEnd(snapshotLength))],
    updates: (update: number) => [Buffer.from(String(update).padEnd(length))],
  };
  const channel = new Channel<number, number>(source, turns);
  const publish = (): void => {
    state += 1;
    tell(state);
  };
  /** Updates were missed: readers need a new snapshot. */
  const restart = (): void => {
    state += 5;
    tell(undefined);
  };
  const join = (): FakeReader => {
    const reader = new FakeReader();
    void channel.join(reader as never as Reader);
    return reader;
  };
  const leave = (reader: FakeReader): void => channel.leave(reader as never as Reader);
  return { publish, restart, join, leave, state: () => state };
}

test("25 readers are sent to in each turn of five milliseconds, and what is published meanwhile goes in one write", () => {
  const { publish, join } = start();
  const readers = Array.from({ length: 60 }, join);
  const [early, late] = [readers[0], readers[59]] as [FakeReader, FakeReader];
  const served = () => readers.filter(({ writes }) => writes.length > 1).length;
  publish();
  expect(served()).toBe(25);
  publish();
  publish();
  nextTurn();
  expect(served()).toBe(50);
  nextTurn();
  expect(served()).toBe(60);
  expect([early.writes, late.writes]).toEqual([
    ["snapshot:1", "2"],
    ["snapshot:1", "2 3 4"],
  ]);
  nextTurn();
  expect(early.writes).toEqual(["snapshot:1", "2", "3 4"]);
});

test("less than 25 readers are sent to in a turn if that is a quarter of a mebibyte", () => {
  const { publish, join } = start(75_000);
  const readers = Array.from({ length: 6 }, join);
  const served = () => readers.filter(({ writes }) => writes.length > 1).length;
  publish();
  expect(served()).toBe(4);
  nextTurn();
  expect(served()).toBe(6);
  expect(readers.map(({ writes }) => writes)).toEqual(new Array(6).fill(["snapshot:1", "2"]));
});

test("a turn is bounded for the readers of all channels together, which go on one reader at a time", () => {
  const turns = new SendingTurns();
  const channels = Array.from({ length: 3 }, () => {
    const { publish, join } = start(0, turns);
    return { publish, readers: Array.from({ length: 20 }, join) };
  });
  const served = () => channels.map(({ readers }) => readers.filter(({ writes }) => writes.length > 1).length);
  for (const { publish } of channels) publish();
  expect(served()).toEqual([20, 5, 0]);
  nextTurn();
  expect(served()).toEqual([20, 18, 12]);
  nextTurn();
  expect(served()).toEqual([20, 20, 20]);
});

test.each([
  ["five hundred messages", 0, 100_000, 500],
  ["messages half as long as it", 70_000, 300_000, 2],
])("a snapshot is kept for who joins later until %s have followed it", (_, length, snapshotLength, most) => {
  const { publish, join } = start(length, undefined, snapshotLength);
  join();
  for (let i = 0; i < most; i += 1) publish();
  const updates = Array.from({ length: most }, (_, i) => `${i + 2}`);
  expect(join().writes).toEqual(["snapshot:1", ...updates]);
  publish();
  expect(join().writes).toEqual([`snapshot:${most + 2}`]);
});

test("every reader gets every update once and in order, whenever it joins and whatever is missed", () => {
  const step = fc.constantFrom("publish", "restart", "join", "leave", "turn");
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 230 }), (steps, many) => {
      const { publish, restart, join, leave, state } = start();
      const readers = Array.from({ length: many }, join);
      for (const what of steps) {
        if (what === "publish") publish();
        else if (what === "restart") restart();
        else if (what === "join") readers.push(join());
        else if (what === "leave" && readers.length > 1) leave(readers.shift() as FakeReader);
        else nextTurn();
      }
      for (let turn = 0; turn < 10; turn += 1) nextTurn();
      for (const { writes } of readers) {
        let at: number | undefined;
        for (const message of writes.join(" ").split(" ")) {
          const [, snapshot] = message.split("snapshot:");
          if (snapshot === undefined) expect(Number(message)).toBe((at ?? Number.NaN) + 1);
          at = Number(snapshot ?? message);
        }
        expect(at).toBe(state());
      }
    }),
    { numRuns: 100 },
  );
});
