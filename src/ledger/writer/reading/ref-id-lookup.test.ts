import { expect, test } from "vitest";
import { type Clock, type Instant, systemClock } from "../../../std/clock.ts";
import type { Uuid } from "../../../std/id.ts";
import { accept, type Claim } from "../../decision.ts";
import { Decider } from "../decider.ts";
import { BOUNDS } from "../lane-options.ts";
import { type AnyOutcome, PendingCommand } from "../pending-command.ts";
import { RefIdLookup } from "./ref-id-lookup.ts";

const [ACME, OWN, OTHER] = ["1", "2", "3"].map((last) => `0190d5a4-0000-7000-8000-00000000000${last}`) as [
  Uuid,
  Uuid,
  Uuid,
];
/** Orders closed before this time have released their ref_id: see docs/contract/requests.md#replay-protection, rule 3. */
const CLOSED_BEFORE = 1_000_000 as Instant;
const CLAIM: Claim = {
  ...{ customerId: ACME, kind: "order", refId: "once", id: OWN },
  released: { table: "orders", closedBefore: CLOSED_BEFORE },
};

/** Looks up the claim of a command while this record holds the ref_id. */
async function lookedUp(claim: Claim, holder?: Holder) {
  const { lookup, mayClaim, outcomes } = await lookUp(claim, holder);
  return { mayClaim, outcomes, likely: lookup.isLikelyTaken([{ ...CLAIM, refId: "another" }]) };
}

interface Holder {
  readonly id: Uuid;
  readonly closed_at: number | null;
}

async function lookUp(claim: Claim, holder?: Holder, clock: Clock = systemClock) {
  const rows = holder === undefined ? [] : [{ customer_id: ACME, kind: "order", ref_id: "once", ...holder }];
  const database = { rows: async () => rows as never };
  const lookup = new RefIdLookup(database, clock, new Decider(BOUNDS));
  const outcomes: AnyOutcome[] = [];
  const decide = () => accept("done", {});
  const command = { queueKey: ACME, caller: { house: "engine" }, dependsOn: [], claims: [claim], decide };
  const resolve = (outcome: AnyOutcome) => void outcomes.push(outcome);
  const callbacks = { resolve, reject: () => undefined, onComplete: () => undefined };
  const pending = new PendingCommand(command as never, 0 as Instant, callbacks);
  const [ready] = await lookup.lookUp([pending]);
  return { lookup, pending, mayClaim: ready === pending, outcomes };
}

const FREE = { mayClaim: true, outcomes: [], likely: false };
const TAKEN = { mayClaim: false, outcomes: [{ kind: "exists", id: OTHER }], likely: true };

test.each([
  ["nobody", undefined, FREE],
  ["the command's own record", { id: OWN, closed_at: null }, FREE],
  ["another record that is open", { id: OTHER, closed_at: null }, TAKEN],
  ["one that was closed a while ago", { id: OTHER, closed_at: CLOSED_BEFORE - 1 }, FREE],
  ["one that was closed just then", { id: OTHER, closed_at: CLOSED_BEFORE }, TAKEN],
  ["one that was closed lately", { id: OTHER, closed_at: CLOSED_BEFORE + 1 }, TAKEN],
])("a ref_id that %s holds", async (_name, holder, expected) => {
  expect(await lookedUp(CLAIM, holder)).toEqual(expected);
});

test("a record of a kind that never releases its ref_id holds it for ever", async () => {
  const { released: _released, ...claim } = CLAIM;
  expect(await lookedUp(claim, { id: OTHER, closed_at: 0 })).toEqual(TAKEN);
});

test("a ref_id that is expected to be taken says nothing about what else its customer sends", async () => {
  const expected = { ...TAKEN, likely: false };
  expect(await lookedUp({ ...CLAIM, likelyTaken: true }, { id: OTHER, closed_at: null })).toEqual(expected);
});

test("what a customer sends is expected to be taken for ten seconds after it has repeated a ref_id", async () => {
  let now = 1_000 as Instant;
  const { lookup } = await lookUp(CLAIM, { id: OTHER, closed_at: null }, { now: () => now });
  const isLikely = (at: number): boolean => {
    now = at as Instant;
    lookup.removeExpired();
    return lookup.isLikelyTaken([{ ...CLAIM, refId: "another" }]);
  };
  expect([isLikely(10_999), isLikely(11_000)]).toEqual([true, false]);
});

test("what one customer repeats says nothing about another", async () => {
  const { lookup } = await lookUp(CLAIM, { id: OTHER, closed_at: null });
  expect([ACME, OTHER].map((customerId) => lookup.isLikelyTaken([{ ...CLAIM, customerId }]))).toEqual([true, false]);
});

test("a command that finds its ref_id released again and again, and others first with it each time, gives up after five", async () => {
  const { lookup, pending, mayClaim } = await lookUp(CLAIM, { id: OTHER, closed_at: CLOSED_BEFORE - 1 });
  const found = [mayClaim];
  while (!pending.isComplete && found.length < 10) found.push((await lookup.lookUp([pending])).has(pending));
  expect(found).toEqual([true, true, true, true, true, false]);
});
