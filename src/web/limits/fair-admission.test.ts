import { expect, onTestFinished, test, vi } from "vitest";
import { FairAdmission, type FairAdmissionBounds, PATIENT } from "./fair-admission.ts";

const BOUNDS: FairAdmissionBounds = {
  most: 100,
  atOnce: 100,
  alone: 100,
  share: 2,
  shortQueue: 0,
  expectedMs: 250,
  maxWaitMs: 2_000,
};

/** A turnstile looks ten times a second. A busy machine takes its time for that. */
const SOON = { timeout: 10_000 };

/** A turnstile with a clock of its own, and a list of who came in or was sent away, in that order. */
function start(bounds: Partial<FairAdmissionBounds> = {}) {
  const clock = { now: 1_000_000 };
  const turnstile = new FairAdmission({ ...BOUNDS, ...bounds }, () => clock.now);
  const received: string[] = [];
  /** One letter for each request: the caller. */
  const come = async (callers: string): Promise<void> => {
    for (const caller of callers) {
      void turnstile.enter(caller).then((isIn) => received.push(isIn ? caller : `no ${caller}`));
    }
    await settled();
  };
  const leave = async (callers: string): Promise<void> => {
    for (const caller of callers) turnstile.leave(caller);
    await settled();
  };
  /** What was received since the last call. */
  const news = (): string => received.splice(0).join(" ");
  return { turnstile, clock, come, leave, news };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a caller that is alone may use the whole capacity", async () => {
  const { come, news } = start({ alone: 5 });
  await come("aaaaaaa");
  expect(news()).toBe("a a a a a");
});

test("beside others a caller has its share, and its further requests wait behind one another", async () => {
  const { come, leave, news } = start();
  await come("b");
  await come("aaaaa");
  expect(news()).toBe("b a a");
  await come("b");
  expect(news()).toBe("b");
  await leave("a");
  expect(news()).toBe("a");
});

test("when another caller arrives, one that used everything falls back to its share as its requests end", async () => {
  const { come, leave, news } = start();
  await come("aaaab");
  await come("aaa");
  expect(news()).toBe("a a a a b");
  await leave("aa");
  expect(news()).toBe("");
  await leave("a");
  expect(news()).toBe("a");
});

test("a request would be admitted at once while its caller has places left and nothing of it waits", async () => {
  const { turnstile, come, leave } = start({ alone: 3 });
  const admits = () => [turnstile.admitsAtOnce("a"), turnstile.admitsAtOnce("b")];
  await come("aa");
  expect(admits()).toEqual([true, true]);
  await come("aa");
  expect(admits()).toEqual([false, true]);
  await come("b");
  await leave("aa");
  expect(admits()).toEqual([false, true]);
  await leave("a");
  expect(admits()).toEqual([true, true]);
});

test("no request would be admitted at once for which there is no room", async () => {
  const { turnstile, come, news } = start({ most: 4 });
  await come("aa");
  expect([turnstile.admitsAtOnce("a"), turnstile.admitsAtOnce("b")]).toEqual([false, true]);
  await come("a");
  expect(news()).toBe("a a no a");
});

test("a caller counts as present between its requests, and for a second after the last", async () => {
  const { clock, come, leave, news } = start({ maxWaitMs: 10_000 });
  await come("b");
  await come("aaaaa");
  // Since the end of the last one, however long that took.
  clock.now += 5_000;
  await leave("b");
  clock.now += 999;
  await leave("a");
  expect(news()).toBe("b a a a");
  clock.now += 101;
  await leave("a");
  expect(news()).toBe("a a");
});

test("what is bounded in all is given out in turns", async () => {
  const { come, leave, news } = start({ atOnce: 2, share: 2, alone: 2 });
  await come("aaaaabbbc");
  expect(news()).toBe("a a");
  await leave("a");
  await leave("a");
  await leave("b");
  await leave("c");
  expect(news()).toBe("a b c a");
});

test("a queue is as long as the room that is left, so the next caller finds some", async () => {
  const { turnstile, come, news } = start({ most: 12, alone: 2 });
  await come("aaaaaaaaaaaa");
  expect(news()).toBe("a a no a no a no a no a no a no a");
  await come("bbbbbb");
  expect(news()).toBe("b b no b no b no b");
  expect([turnstile.size, turnstile.isFull, turnstile.hasRoomFor("a"), turnstile.hasRoomFor("c")]).toEqual([
    9,
    false,
    false,
    true,
  ]);
});

test("however many come, there are never more than the bound", async () => {
  const { turnstile, come } = start({ most: 10 });
  for (const caller of "abcdefghijklmnop") await come(caller.repeat(10));
  expect([turnstile.size, turnstile.isFull]).toEqual([10, true]);
});

test("no request is queued whose expected wait is too long", async () => {
  const { clock, turnstile, come, leave, news } = start({ alone: 1, share: 1 });
  await come("a".repeat(30));
  expect(turnstile.size).toBe(30);
  for (let turn = 0; turn < 12; turn += 1) {
    clock.now += 50;
    await leave("a");
  }
  news();
  expect([turnstile.hasRoomFor("a"), turnstile.hasRoomFor("b")]).toEqual([false, true]);
  const sizes: number[] = [];
  while (!turnstile.hasRoomFor("a")) {
    clock.now += 50;
    await leave("a");
    sizes.push(turnstile.size);
  }
  // A turn takes 50 ms, and the pace goes from 1 ms towards that by one part in 32 at each turn.
  const pace = (turns: number): number => 50 - 49 * (31 / 32) ** turns;
  const expected: number[] = [];
  for (let turns = 13, size = 17; ; turns += 1, size -= 1) {
    expected.push(size);
    if ((size - 1) * pace(turns) <= 250) break;
  }
  expect(sizes).toEqual(expected);
});

test("a short line is open, however slowly it moves", async () => {
  const { clock, turnstile, come, leave } = start({ alone: 1, share: 1, shortQueue: 20 });
  await come("a".repeat(30));
  const pass = async (turns: number): Promise<void> => {
    for (let turn = 0; turn < turns; turn += 1) {
      clock.now += 150;
      await leave("a");
    }
  };
  await pass(8);
  expect([turnstile.size, turnstile.hasRoomFor("a")]).toEqual([22, false]);
  await pass(2);
  expect([turnstile.size, turnstile.hasRoomFor("a")]).toEqual([20, true]);
});

test("every wait has a maximum, also when no request ends", async () => {
  const { clock, come, news } = start({ alone: 1 });
  await come("aa");
  clock.now += 1_999;
  await come("a");
  expect(news()).toBe("a");
  clock.now += 101;
  await expect.poll(news, SOON).toBe("no a");
  clock.now += 1_900;
  await expect.poll(news, SOON).toBe("no a");
  // The line was empty, and somebody waits again.
  await come("a");
  clock.now += 2_000;
  await expect.poll(news, SOON).toBe("no a");
});

test("a pause before anybody waits does not slow the pace of the line", async () => {
  const { clock, turnstile, come, leave } = start({ alone: 1, share: 1 });
  await come("a");
  clock.now += 60_000;
  await come("a".repeat(20));
  clock.now += 1;
  await leave("a");
  expect(turnstile.hasRoomFor("a")).toBe(true);
});

test("requests that waited too long free their room", async () => {
  const { clock, turnstile, come, leave, news } = start({ alone: 1, most: 7 });
  await come("aaa");
  expect([turnstile.size, turnstile.hasRoomFor("b")]).toEqual([3, true]);
  clock.now += 2_000;
  await leave("a");
  expect([news(), turnstile.size]).toEqual(["a no a no a", 0]);
});

/** A caller with eight requests, of which two have begun beside another caller that left a second ago. */
async function leftByOthers() {
  const started = start({ alone: 6 });
  await started.come("b");
  await started.come("aaaaaaaa");
  await started.leave("b");
  expect(started.news()).toBe("b a a");
  started.clock.now += 1_000;
  return started;
}

test("when the others have left, a waiting caller gets the whole capacity at once", async () => {
  const { leave, news } = await leftByOthers();
  await leave("a");
  expect(news()).toBe("a a a a a");
});

test("so it does when no request of it ends", async () => {
  const { news } = await leftByOthers();
  await expect.poll(news, SOON).toBe("a a a a");
});

test("to leave without having come in is a bug", async () => {
  const { turnstile, come, leave } = start();
  const leaving = "a request that ends was admitted";
  expect(() => turnstile.leave("a")).toThrow(leaving);
  await come("a");
  await leave("a");
  expect(() => turnstile.leave("a")).toThrow(leaving);
});

test("a caller is not forgotten while a request of it runs or waits, however long", async () => {
  const { clock, come, leave, news } = start({ atOnce: 1 });
  await come("ab");
  clock.now += 1_500;
  await come("c");
  expect(news()).toBe("a");
  await leave("a");
  await leave("b");
  await leave("c");
  expect(news()).toBe("b c");
});

test("callers that are no longer present are forgotten", async () => {
  const { clock, come, leave, news } = start();
  for (const caller of "bcdefgh") {
    await come(caller);
    await leave(caller);
  }
  news();
  clock.now += 1_000;
  await come("aaa");
  expect(news()).toBe("a a a");
});

const patient = (atOnce: number, share: number): FairAdmission =>
  new FairAdmission({ ...PATIENT, atOnce, alone: share, share });

/** Begins work of these customers, each of which ends when it is told to. */
function begin(turns: FairAdmission, customers: readonly string[]) {
  const begun: string[] = [];
  const ends: ((fails: boolean) => void)[] = [];
  const runs = customers.map((customer, i) =>
    turns.run(customer, () => {
      begun.push(`${customer} ${i}`);
      return new Promise<number>((resolve, reject) =>
        ends.push((fails) => (fails ? reject(new Error(`${i}`)) : resolve(i))),
      );
    }),
  );
  return { begun, ends, ended: Promise.allSettled(runs) };
}

test.each([1, 3])("%d at once are begun, the others in their order, also behind one that failed", async (atOnce) => {
  const turns = patient(atOnce, atOnce);
  const { begun, ends, ended } = begin(turns, Array(8).fill("ann"));
  for (let done = 0; done < 8; done += 1) {
    await settled();
    expect(begun).toEqual(Array.from({ length: Math.min(done + atOnce, 8) }, (_, i) => `ann ${i}`));
    ends[done]?.(done % 2 === 1);
  }
  expect((await ended).map(({ status }) => status)).toEqual(Array(4).fill(["fulfilled", "rejected"]).flat());
  // All places are free again.
  const again = begin(turns, Array(atOnce + 1).fill("ann"));
  await settled();
  expect(again.begun).toHaveLength(atOnce);
});

test("of one customer fewer are begun, and the others take turns with its rest", async () => {
  const { begun, ends } = begin(patient(3, 2), ["ann", "ann", "ann", "ann", "bob", "bob", "bob", "eve"]);
  await settled();
  expect(begun).toEqual(["ann 0", "ann 1", "bob 4"]);
  for (let done = 0; done < 5; done += 1) {
    ends[done]?.(false);
    await settled();
  }
  // Each that ends makes room for the customer whose turn is next and that has fewer than two.
  expect(begun.slice(3)).toEqual(["ann 2", "bob 5", "eve 7", "ann 3", "bob 6"]);
});

test("a request keeps its caller's place while that rests, and leaves room for other callers at once", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: [string, number][] = [];
  const restMs = (caller: string, tookMs: number): number => {
    asked.push([caller, tookMs]);
    return caller === "a" ? 500 : 0;
  };
  const { turnstile, come, news } = start({ atOnce: 1, alone: 1, share: 1, rests: { restMs } });
  await come("aba");
  expect([turnstile.size, news()]).toEqual([3, "a"]);
  turnstile.leave("a", 70);
  await settled();
  expect([turnstile.size, news()]).toEqual([3, "b"]);
  turnstile.leave("b", 80);
  vi.advanceTimersByTime(499);
  await settled();
  expect([turnstile.size, news()]).toEqual([2, ""]);
  vi.advanceTimersByTime(1);
  await settled();
  expect([turnstile.size, news()]).toEqual([1, "a"]);
  expect(asked).toEqual([
    ["a", 70],
    ["b", 80],
  ]);
});

test("who rests is told how long the work took, also if it failed", async () => {
  const asked: [string, number][] = [];
  const { turnstile, clock } = start({ rests: { restMs: (...took) => asked.push(took) * 0 } });
  const work = (tookMs: number) => async (): Promise<string> => {
    clock.now += tookMs;
    if (tookMs > 100) throw new Error("too long");
    return "done";
  };
  expect(await turnstile.run("a", work(70))).toBe("done");
  await expect(turnstile.run("b", work(250))).rejects.toThrow("too long");
  expect([turnstile.size, asked]).toEqual([
    0,
    [
      ["a", 70],
      ["b", 250],
    ],
  ]);
});
