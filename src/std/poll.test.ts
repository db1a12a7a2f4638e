import { expect, test } from "vitest";
import { startPoll } from "./poll.ts";

test("work is repeated, also after a failure, which is reported", async () => {
  const failures: unknown[] = [];
  let done = 0;
  await new Promise<void>((resolve) => {
    const poll = startPoll(
      1,
      async () => {
        done += 1;
        if (done === 2) throw new Error("the second time fails");
        if (done === 4) void poll.stop().then(resolve);
      },
      (error) => failures.push(error),
    );
  });
  expect(done).toBe(4);
  expect(failures).toEqual([new Error("the second time fails")]);
});

test("stopping waits for the work under way and begins none", async () => {
  let begun = 0;
  let finish: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const beginning = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const work = (): Promise<void> => {
    begun += 1;
    begin();
    return new Promise((resolve) => {
      finish = resolve;
    });
  };
  const poll = startPoll(1, work, () => undefined);
  await beginning;
  let stopped = false;
  const stopping = poll.stop().then(() => {
    stopped = true;
  });
  await Promise.resolve();
  expect(stopped).toBe(false);
  finish();
  await stopping;
  expect(begun).toBe(1);
});

test("stopping does not wait for the end of a pause", async () => {
  const poll = startPoll(
    3_600_000,
    () => Promise.reject(new Error("it is not time yet")),
    () => undefined,
  );
  await poll.stop();
});
