import { expect, test } from "vitest";
import type { Queryable } from "../postgres/database.ts";
import { ConfirmedCuts } from "./confirmed-cuts.ts";

test("what is read while a commit is under way is confirmed by the next one", async () => {
  const commits: (() => void)[] = [];
  const rows = () => new Promise((resolve) => commits.push(() => resolve([{}])));
  const confirmed = new ConfirmedCuts({ rows } as Queryable);
  const told: bigint[] = [];
  const first = confirmed.confirm(1n).then(() => told.push(1n));
  const second = confirmed.confirm(2n).then(() => told.push(2n));
  commits[0]?.();
  await first;
  expect([told, commits.length]).toEqual([[1n], 2]);
  commits[1]?.();
  await second;
  await confirmed.confirm(2n);
  expect([told, commits.length]).toEqual([[1n, 2n], 2]);
});

test("what this process has published is confirmed, and stays so when an earlier cut is", async () => {
  const confirmed = new ConfirmedCuts({
    rows: () => expect.fail("nothing has to be committed"),
  } as unknown as Queryable);
  for (const cut of [5n, 3n]) confirmed.published(cut);
  await confirmed.confirm(5n);
});

/** Sessions on a primary and on a former one that is a standby: which server the next one is on is not ours to choose. */
test("what was read on a former primary is not confirmed by a later commit on the primary", async () => {
  const servers = ["standby", "primary", "primary"];
  const rows = async (): Promise<unknown[]> => (servers.shift() === "primary" ? [{}] : []);
  const confirmed = new ConfirmedCuts({ rows } as Queryable);
  await expect(confirmed.confirm(101n)).rejects.toThrow("the database is read-only");
  await confirmed.confirm(100n);
  expect(servers).toEqual(["primary"]);
  await confirmed.confirm(101n);
  expect(servers).toEqual([]);
});
