import { expect, test } from "vitest";
import type { Database } from "../postgres/database.ts";
import { ConfirmedCuts } from "./confirmed-cuts.ts";

test("what is read while a commit is under way is confirmed by the next one", async () => {
  const commits: (() => void)[] = [];
  const rows = () => new Promise((resolve) => commits.push(() => resolve([{}])));
  const confirmed = new ConfirmedCuts({ rows, history: "first" } as unknown as Database);
  const told: bigint[] = [];
  const first = confirmed.confirm(1n, "first").then(() => told.push(1n));
  const second = confirmed.confirm(2n, "first").then(() => told.push(2n));
  commits[0]?.();
  await first;
  expect([told, commits.length]).toEqual([[1n], 2]);
  commits[1]?.();
  await second;
  await confirmed.confirm(2n, "first");
  expect([told, commits.length]).toEqual([[1n, 2n], 2]);
});

test("what this process has published is confirmed, and stays so when an earlier cut is", async () => {
  const confirmed = new ConfirmedCuts({
    rows: () => expect.fail("nothing has to be committed"),
    history: "first",
  } as unknown as Database);
  for (const cut of [5n, 3n]) confirmed.published(cut);
  await confirmed.confirm(5n, "first");
});

/** Sessions on a primary and on a former one that is a standby: which server the next one is on is not ours to choose. */
test("what was read on a former primary is not confirmed by a later commit on the primary", async () => {
  const servers = ["standby", "primary", "primary"];
  const rows = async (): Promise<unknown[]> => (servers.shift() === "primary" ? [{}] : []);
  const confirmed = new ConfirmedCuts({ rows, history: "first" } as unknown as Database);
  await expect(confirmed.confirm(101n, "first")).rejects.toThrow("the database is read-only");
  await confirmed.confirm(100n, "first");
  expect(servers).toEqual(["primary"]);
  await confirmed.confirm(101n, "first");
  expect(servers).toEqual([]);
});

test("what was confirmed in another history of the database is not confirmed in this one, in which it is another cut", async () => {
  let commits = 0;
  const rows = async (): Promise<unknown[]> => {
    commits += 1;
    return [{}];
  };
  const database = { history: "first", rows };
  const confirmed = new ConfirmedCuts(database as unknown as Database);
  confirmed.published(7n);
  await confirmed.confirm(7n, "first");
  expect(commits).toBe(0);
  database.history = "second";
  await expect(confirmed.confirm(7n, "first")).rejects.toThrow("another server has taken over, or was restarted");
  await confirmed.confirm(7n, "second");
  expect(commits).toBe(1);
});

test("a commit in another history confirms nothing that was read before", async () => {
  const commits: (() => void)[] = [];
  const database = { history: "first", rows: () => new Promise((resolve) => commits.push(() => resolve([{}]))) };
  const confirmed = new ConfirmedCuts(database as unknown as Database);
  const told = confirmed.confirm(7n, "first");
  database.history = "second";
  commits[0]?.();
  await expect(told).rejects.toThrow("another server has taken over");
  void confirmed.confirm(1n, "second");
  expect(commits).toHaveLength(2);
});
