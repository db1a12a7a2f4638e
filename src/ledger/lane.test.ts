import { afterAll, beforeAll, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../../test/support/database.ts";
import { amountOf, negative } from "../money/amount.ts";
import type { AssetCode } from "../money/asset.ts";
import { systemClock } from "../std/clock.ts";
import { IdSource, type Uuid } from "../std/id.ts";
import { accountKey, accountTable, entry, journal, type ProfileId } from "./accounts.ts";
import { accept, type Command, refuse } from "./decision.ts";
import { Lane } from "./lane.ts";

let db: TestDatabase;
let lane: Lane;
const ids = new IdSource();
const USD = "USD" as AssetCode;
beforeAll(async () => {
  db = await testDatabase();
  lane = new Lane({ database: db.database, clock: systemClock, holder: "test", log: (e) => console.log(e) });
  await lane.start();
});
afterAll(async () => {
  await lane.stop();
  await db.close();
});

function move(from: ProfileId | "world", to: ProfileId | "world", amount: string): Command<string, { code: "poor" }> {
  const a = amountOf(amount);
  const keys = [accountKey(from, USD), accountKey(to, USD)];
  return {
    turn: ids.next(),
    rests: keys,
    decide: (state) => {
      const account = state.get(accountTable, keys[0]!.key);
      if (from !== "world" && (account?.available ?? 0n) < a) return refuse({ code: "poor" });
      return accept("ok", {
        journals: [journal(ids.next(), "transfer", [entry(from, USD, negative(a)), entry(to, USD, a)])],
      });
    },
  };
}

test("smoke", async () => {
  const [a, b] = [ids.next() as Uuid as ProfileId, ids.next() as Uuid as ProfileId];
  expect(await lane.execute(move("world", a, "1000"))).toEqual({ kind: "done", value: "ok" });
  const start = Date.now();
  const all = await Promise.all(
    Array.from({ length: 2000 }, (_, i) => lane.execute(move(i % 2 ? a : b, i % 2 ? b : a, "1"))),
  );
  console.log(Date.now() - start, "ms", all.filter((o) => o.kind === "done").length);
  console.log(await db.database.rows("select * from account"));
  console.log(await db.database.rows("select slot,n,void,at,states from batch"));
});
