/**
 * A few faults each time; more by hand: `npm run storm -- --webhooks --rounds 100 --seed 7` for a hundred, ten of them between
 * two checks.
 */
import { expect, test } from "vitest";
import { verifyAll } from "../../../src/verify/verify.ts";
import { expectBooksBalance } from "../../support/books.ts";
import { testDatabase } from "../../support/database.ts";
import { isAskedToEnd } from "../../support/long-run.ts";
import { WebhookStorm } from "./storm.ts";

const { STORM_ROUNDS, STORM_SEED = "1" } = process.env;
const FAULTS = Number(STORM_ROUNDS ?? 2);
const MOST_PER_ROUND = 10;

test(
  "two nodes deliver each event to each webhook, in order, whichever is killed or paused, and whatever receivers do",
  async () => {
    const db = await testDatabase();
    const storm = await WebhookStorm.open(db, Number(STORM_SEED));
    try {
      for (let left = FAULTS; left > 0 && !isAskedToEnd(); left -= MOST_PER_ROUND) {
        await storm.round(Math.min(left, MOST_PER_ROUND));
        process.stdout.write(`${JSON.stringify(storm.report())}\n`);
      }
      await storm.expectGone();
      const { checks } = await verifyAll(db.owner);
      expect(checks.flatMap(({ first }) => first ?? [])).toEqual([]);
      await expectBooksBalance(db.owner);
    } catch (error) {
      process.stdout.write(storm.output());
      throw error;
    } finally {
      await storm.close();
      await db.close();
    }
  },
  180_000 + FAULTS * 30_000,
);
