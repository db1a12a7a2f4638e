import { expect, test } from "vitest";
import { USD } from "../../../money/asset.ts";
import type { Queryable } from "../../../postgres/database.ts";
import type { Instant } from "../../../std/clock.ts";
import { accountKey, type ProfileId } from "../../accounts.ts";
import { Decider } from "../decider.ts";
import { BOUNDS } from "../lane-options.ts";
import { PendingCommand } from "../pending-command.ts";
import type { Slot } from "../slot-chain.ts";
import { readRows } from "./read-rows.ts";

const key = accountKey("0190d5a4-1111-7000-8000-000000000004" as ProfileId, USD);
const slot = { number: 1 } as Slot;

function commandOn(): PendingCommand {
  const command = { queueKey: "acme", caller: { house: "engine" }, dependsOn: [key], decide: () => expect.fail() };
  const callbacks = { resolve: () => undefined, reject: () => undefined, onComplete: () => undefined };
  return new PendingCommand(command as never, 0 as Instant, callbacks);
}

test.each([
  [false, true],
  [true, false],
])("what was read is known, unless the row cache was reset meanwhile (%s)", async (isReset, isKnown) => {
  const decider = new Decider(BOUNDS);
  const database: Pick<Queryable, "rows"> = {
    rows: async () => {
      if (isReset) decider.reset();
      return [];
    },
  };
  const pending = commandOn();
  expect(await readRows(database as Queryable, decider, slot, [pending])).toEqual([pending]);
  expect(decider.isKnown(pending)).toBe(isKnown);
});
