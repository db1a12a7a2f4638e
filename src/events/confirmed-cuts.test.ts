import { expect, test } from "vitest";
import type { Queryable } from "../postgres/database.ts";
import { ConfirmedCuts } from "./confirmed-cuts.ts";

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
