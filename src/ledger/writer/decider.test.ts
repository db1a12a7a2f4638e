import { expect, test } from "vitest";
import { commandOn } from "../../../test/support/batches.ts";
import type { AssetCode } from "../../money/asset.ts";
import type { Instant } from "../../std/clock.ts";
import type { Uuid } from "../../std/id.ts";
import { accountKey, accountTable, emptyAccount, type ProfileId } from "../accounts.ts";
import { accept, claimKey, type State } from "../decision.ts";
import { Decider, type Decisions } from "./decider.ts";
import { BOUNDS } from "./lane-options.ts";
import type { PendingCommand } from "./pending-command.ts";

const NOW = 1_000 as Instant;

test("batches do not go back in time with the clock, until a recovery forgets a clock that was wrong", () => {
  const decider = new Decider(BOUNDS);
  const timeAt = (now: number) => decider.decide([commandOn()], 1, now as Instant).batch?.content.at;
  expect([timeAt(2_000), timeAt(1_000), timeAt(3_000)]).toEqual([2_000, 2_000, 3_000]);
  decider.reset();
  expect(timeAt(1_000)).toBe(1_000);
});

test("a batch may be stored until the earliest deadline of its commands", () => {
  const group = [3_000, 2_000, 4_000].map((deadline) => commandOn([], deadline));
  expect(new Decider(BOUNDS).decide(group, 1, NOW).batch?.deadline).toBe(2_000);
});

const [FIRST, SECOND, THIRD] = ["1", "2", "3"].map((last) => `0190d5a4-0000-7000-8000-00000000000${last}` as Uuid) as [
  Uuid,
  Uuid,
  Uuid,
];
const REF_ID = { customerId: FIRST, kind: "order", refId: "once" } as const;

/** A command that claims the ref_id for a record, after a look-up that found this holder. */
function claiming(id: Uuid, holder?: { readonly id: Uuid; readonly released: boolean }): PendingCommand {
  const pending = commandOn([{ ...REF_ID, id }]);
  pending.holders = holder && new Map([[claimKey(REF_ID), holder]]);
  return pending;
}

function outcomesOf({ batch }: Decisions) {
  const claims = batch?.content.claims.map(({ id, replaces }) => ({ id, replaces }));
  return { kinds: batch?.decided.map(({ decision }) => decision.kind), claims };
}

test.each([
  ["that is free is claimed", claiming(SECOND), "done", [{ id: SECOND, replaces: undefined }]],
  ["that is the command's own is kept", claiming(FIRST, { id: FIRST, released: false }), "done", []],
  ["of another record is taken", claiming(SECOND, { id: FIRST, released: false }), "taken", []],
  [
    "that its record has released is claimed in its place",
    claiming(SECOND, { id: FIRST, released: true }),
    "done",
    [{ id: SECOND, replaces: FIRST }],
  ],
])("a ref_id %s", (_name, pending, kind, claims) => {
  expect(outcomesOf(new Decider(BOUNDS).decide([pending], 1, NOW))).toEqual({ kinds: [kind], claims });
});

test("a released ref_id goes to one of the commands that found it released, in one batch or in two", () => {
  const released = { id: FIRST, released: true };
  const won = { id: SECOND, replaces: FIRST };
  const together = [claiming(SECOND, released), claiming(THIRD, released)];
  expect(outcomesOf(new Decider(BOUNDS).decide(together, 1, NOW))).toEqual({ kinds: ["done", "taken"], claims: [won] });
  const decider = new Decider(BOUNDS);
  expect(outcomesOf(decider.decide([claiming(SECOND, released)], 1, NOW))).toEqual({ kinds: ["done"], claims: [won] });
  expect(outcomesOf(decider.decide([claiming(THIRD, released)], 1, NOW))).toEqual({ kinds: ["taken"], claims: [] });
});

test("a row that was read late does not replace the newer one in memory, unless that was forgotten", () => {
  const account = emptyAccount(FIRST as ProfileId, "USD" as AssetCode, 1);
  const key = accountKey(FIRST as ProfileId, account.asset);
  const decider = new Decider(BOUNDS);
  const remember = (version: bigint) => decider.remember([key], [{ ...key, row: { ...account, version } }], []);
  const decidedOn = (): bigint | undefined => {
    let version: bigint | undefined;
    const decide = (state: State) => {
      version = state.get(accountTable, key.key)?.version;
      return accept("done", {});
    };
    decider.decide([commandOn([], 0, { dependsOn: [key], decide })], 1, NOW);
    return version;
  };
  remember(2n);
  remember(1n);
  expect(decidedOn()).toBe(2n);
  decider.forget([key]);
  expect(decidedOn()).toBe(undefined);
  remember(3n);
  expect(decidedOn()).toBe(3n);
});
