import { afterEach, expect, test, vi } from "vitest";
import type { Queryable } from "../postgres/database.ts";
import { loadCatalogue } from "./catalogue.ts";

afterEach(() => void vi.useRealTimers());

test("changes are seen within five seconds, a failed look keeps what was there, and a closed catalogue looks no more", async () => {
  vi.useFakeTimers();
  let codes: string[] | undefined = ["BTC"];
  let looks = 0;
  const rows = async (text: string): Promise<unknown[]> => {
    if (!text.includes("from asset")) return [];
    looks += 1;
    if (codes === undefined) throw new Error("the database is away");
    return codes.map((code) => ({ code, kind: "crypto", precision: 8 }));
  };
  const catalogue = await loadCatalogue({ rows } as Queryable);
  const listed = () => catalogue.listAssets().map(({ code }) => code);
  codes = ["BTC", "ETH"];
  expect(listed()).toEqual(["BTC"]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([listed(), catalogue.findAsset("ETH")?.precision]).toEqual([["BTC", "ETH"], 8]);
  codes = undefined;
  await vi.advanceTimersByTimeAsync(5_000);
  expect([listed(), looks]).toEqual([["BTC", "ETH"], 3]);
  codes = [];
  await vi.advanceTimersByTimeAsync(5_000);
  expect(listed()).toEqual([]);
  catalogue.close();
  expect(vi.getTimerCount()).toBe(0);
});
