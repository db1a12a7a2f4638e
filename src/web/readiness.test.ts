import { expect, test } from "vitest";
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
