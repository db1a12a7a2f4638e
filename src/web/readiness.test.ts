import { expect, onTestFinished, test, vi } from "vitest";
import { watchReadiness } from "./readiness.ts";

test("what does not answer in time counts as missing, is not asked a second time meanwhile, and may come back", async () => {
  const asked: ((holds: boolean) => void)[] = [];
  const database = () => new Promise<boolean>((resolve) => asked.push(resolve));
  const missing = watchReadiness({ database, lane: async () => true }, 20);
  expect(await missing()).toEqual(["database"]);
  expect(await missing()).toEqual(["database"]);
  expect(asked).toHaveLength(1);
  asked[0]?.(true);
  const next = missing();
  expect(asked).toHaveLength(1);
  expect(await next).toEqual([]);
});

test("a check has two seconds", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const missing = watchReadiness({ database: () => new Promise(() => undefined) });
  const answers: unknown[] = [];
  void missing().then((names) => answers.push(names));
  await vi.advanceTimersByTimeAsync(1_999);
  expect(answers).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(answers).toEqual([["database"]]);
});
