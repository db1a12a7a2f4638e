import { expect, test, vi } from "vitest";
import type { CustomerId } from "../customers/customer-id.ts";
import type { Database } from "../postgres/database.ts";
import { pause } from "../std/pause.ts";
import { News } from "./news.ts";

const [acme, shop] = ["acme", "shop"] as [CustomerId, CustomerId];

/** A node that publishes, with a reader of each customer; of each cut the customers who have events in it. */
function nodeWith(cuts: CustomerId[][]) {
  let fails = false;
  const rows = async (text: string, [from, until, customers]: readonly unknown[] = []): Promise<unknown[]> => {
    if (fails) {
      fails = false;
      throw new Error("the database is away");
    }
    if (!text.includes("distinct customer_id")) return [{ cut: String(cuts.length), slots: [], heads: [] }];
    const found = new Set(cuts.slice(Number(from) - 1, Number(until)).flat());
    return (customers as CustomerId[]).filter((id) => found.has(id)).map((customer_id) => ({ customer_id }));
  };
  const database = { rows, history: "first" };
  const news = new News(database as Database);
  news.isPublishing = true;
  const notified: CustomerId[] = [];
  const ends = [acme, shop].map((id) => news.listen(id, () => void notified.push(id)));
  return {
    news,
    notified,
    database,
    /** The next time that it is looked. */
    fail: () => {
      fails = true;
    },
    end: () => {
      for (const end of ends) end();
    },
  };
}

test("a reader that comes while the last cut is looked up is notified of it", async () => {
  const { notified, end } = nodeWith([[shop]]);
  await vi.waitFor(() => expect(notified).toEqual([acme, shop]));
  end();
});

test("a cut of this process reaches its readers at once, and with it what another process has published before", async () => {
  const cuts = [[acme], [shop]];
  const { news, notified, end } = nodeWith(cuts);
  await vi.waitFor(() => expect(notified).toHaveLength(2));
  cuts.push([acme]);
  news.published(3n, [acme]);
  expect(notified.slice(2)).toEqual([acme]);
  cuts.push([shop], [acme]);
  news.published(5n, [acme]);
  await vi.waitFor(() => expect(notified.slice(3)).toEqual([acme, shop]));
  end();
});

test("a reader that ends twice does not end another, which came in between", async () => {
  const { news, notified, end } = nodeWith([[acme]]);
  await vi.waitFor(() => expect(notified).toEqual([acme, shop]));
  end();
  const endOther = news.listen(acme, () => void notified.push(acme));
  end();
  news.published(2n, [acme]);
  expect(notified).toEqual([acme, shop, acme]);
  endOther();
});

test("readers that come after the last has gone are notified, also of what others publish, and after a failure", async () => {
  const cuts = [[acme]];
  const { news, notified, end, fail } = nodeWith(cuts);
  news.isPublishing = false;
  await vi.waitFor(() => expect(notified).toEqual([acme, shop]));
  end();
  // Until nobody looks any more.
  await pause(100);
  const endOther = news.listen(acme, () => void notified.push(acme));
  await vi.waitFor(() => expect(notified).toHaveLength(3));
  fail();
  cuts.push([acme]);
  await vi.waitFor(() => expect(notified).toHaveLength(4), { timeout: 5_000 });
  endOther();
});

test("a cut that a failover has lost is not taken for the one that is given its number", async () => {
  const cuts = [[acme], [acme]];
  const { news, notified, database, end } = nodeWith(cuts);
  news.isPublishing = false;
  await vi.waitFor(() => expect(notified).toEqual([acme, shop]));
  cuts.splice(1, 1, [shop]);
  database.history = "second";
  await vi.waitFor(() => expect(notified.slice(2)).toEqual([acme, shop]));
  cuts.push([acme]);
  await vi.waitFor(() => expect(notified.slice(4)).toEqual([acme]));
  end();
});
