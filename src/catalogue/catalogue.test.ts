import { afterEach, expect, test, vi } from "vitest";
import { BTCUSD_ROW } from "../../test/support/exchange/btcusd.ts";
import type { Queryable } from "../postgres/database.ts";
import { loadCatalogue } from "./catalogue.ts";

afterEach(() => void vi.useRealTimers());

const asset = (code: string) => ({ code, kind: "crypto", precision: 8 });
const NEWUSD = { ...BTCUSD_ROW, code: "NEWUSD", base: "NEW", fee_tiers: [] };

test("changes are seen within five seconds, a failed look keeps what was there, and a closed catalogue looks no more", async () => {
  vi.useFakeTimers();
  let codes: string[] | undefined = ["BTC"];
  let looks = 0;
  const rows = async (text: string): Promise<unknown[]> => {
    if (!text.includes("from asset")) return [];
    looks += 1;
    if (codes === undefined) throw new Error("the database is away");
    return codes.map(asset);
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

test("a market is not listed before its assets, which are added first", async () => {
  let added = false;
  const rows = async (text: string): Promise<unknown[]> => {
    if (text.includes("from asset")) {
      const found = [asset("USD"), ...(added ? [asset("NEW")] : [])];
      // By another node, right behind this statement.
      added = true;
      return found;
    }
    await undefined;
    return added ? [NEWUSD] : [];
  };
  const catalogue = await loadCatalogue({ rows } as Queryable);
  const missing = catalogue
    .listMarkets()
    .filter(({ base, quote }) => [base, quote].some((code) => catalogue.findAsset(code) === undefined));
  expect(missing).toEqual([]);
  catalogue.close();
});

test("the catalogue is not read again before a slow read has ended", async () => {
  vi.useFakeTimers();
  let looking = 0;
  let most = 0;
  const rows = async (text: string): Promise<unknown[]> => {
    if (!text.includes("from asset")) return [];
    looking += 1;
    most = Math.max(most, looking);
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    looking -= 1;
    return [];
  };
  const loading = loadCatalogue({ rows } as Queryable);
  await vi.advanceTimersByTimeAsync(60_000);
  (await loading).close();
  expect(most).toBe(1);
});

test("markets that a record names are read at once, and by those who ask meanwhile together", async () => {
  let [added, looks] = [false, 0];
  const rows = async (text: string): Promise<unknown[]> => {
    if (text.includes("from asset")) return added ? [asset("USD"), asset("NEW")] : [];
    looks += 1;
    return added ? [NEWUSD] : [];
  };
  const catalogue = await loadCatalogue({ rows } as Queryable);
  await catalogue.learnMarkets([]);
  added = true;
  await Promise.all(Array.from({ length: 10 }, () => catalogue.learnMarkets(["NEWUSD"])));
  expect([catalogue.findMarket("NEWUSD")?.quote, catalogue.findAsset("NEW")?.code, looks]).toEqual(["USD", "NEW", 3]);
  await catalogue.learnMarkets(["NEWUSD", "NEWUSD"]);
  expect(looks).toBe(3);
  catalogue.close();
});
