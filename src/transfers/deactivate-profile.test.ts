import { expect, test } from "vitest";
import { TESTER } from "../../test/support/movements.ts";
import { accountRow, profileOf, profileRow, stateOf } from "../../test/support/states.ts";
import type { CustomerId } from "../customers/customer-id.ts";
import { profileKey, profileTable } from "../customers/profiles/profiles.ts";
import { entry, type ProfileId } from "../ledger/accounts.ts";
import { amountOf } from "../money/amount.ts";
import { USD } from "../money/asset.ts";
import type { Instant } from "../std/clock.ts";
import { IdSource } from "../std/id.ts";
import { deactivateCommand, findInactiveCommand } from "./deactivate-profile.ts";

const NOW = 5_000 as Instant;
const acme = "acme" as CustomerId & string;
const home = profileOf(acme, { kind: "DEFAULT" });

test.each([
  [NOW - 1, NOW],
  [NOW + 1, NOW + 1],
])("deactivating a profile that was updated at %d sets updated_at to %d: it never goes back", async (at, expected) => {
  const profile = profileOf(acme, { updatedAt: at as Instant });
  const database = { rows: async () => [{ ...home, customer_id: acme, last_deactivation: "0" }] };
  const parts = { database: database as never, catalogue: { listAssets: () => [] } as never, ids: new IdSource() };
  const { decide } = await deactivateCommand(parts, acme, profile.id, TESTER);
  const inactive = { ...profile, status: "INACTIVE", updatedAt: expected, lastDeactivation: profile.version + 1n };
  expect(decide(stateOf(profileRow(profile), profileRow(home)), NOW)).toEqual({
    kind: "done",
    value: inactive,
    changes: { journals: [], records: [], states: [{ table: profileTable, row: inactive }] },
  });
});

test("a profile that another request has deactivated meanwhile stays as that has left it", async () => {
  const profile = profileOf(acme, { status: "INACTIVE", lastDeactivation: 3n });
  const database = { rows: async () => [{ ...home, customer_id: acme, last_deactivation: "0" }] };
  const parts = { database: database as never, catalogue: { listAssets: () => [] } as never, ids: new IdSource() };
  const { decide } = await deactivateCommand(parts, acme, profile.id, TESTER);
  const unchanged = { kind: "done", value: profile, changes: {} };
  expect(decide(stateOf(profileRow(profile), profileRow(home)), NOW)).toEqual(unchanged);
});

test("a profile that is inactive already is found without a lock and without its accounts", () => {
  const inactive = profileOf(acme, { status: "INACTIVE" });
  const command = findInactiveCommand(acme, inactive.id, TESTER);
  expect([command.lock, command.dependsOn]).toEqual([undefined, [profileKey(inactive.id)]]);
  expect(command.decide(stateOf(profileRow(inactive)), NOW)).toEqual({ kind: "done", value: inactive, changes: {} });
  const active = profileOf(acme);
  const ofActive = findInactiveCommand(acme, active.id, TESTER);
  expect(ofActive.decide(stateOf(profileRow(active)), NOW)).toMatchObject({ rejection: { code: "still_active" } });
  const notFound = { rejection: { code: "profile_not_found", profileId: inactive.id } };
  const ofOther = findInactiveCommand("other" as CustomerId & string, inactive.id, TESTER);
  expect(ofOther.decide(stateOf(profileRow(inactive)), NOW)).toMatchObject(notFound);
});

const CENT = "0.01";
const JUST_LESS = "0.009999999999999999";

/** docs/contract/accounts.md#deactivation, rules 1 and 2: USD has two decimals, so a remainder is less than a cent. */
test.each<[string, Parameters<typeof accountRow>[2], string | undefined]>([
  ["nothing", {}, undefined],
  ["just less than the least amount", { available: JUST_LESS }, undefined],
  ["the least amount", { available: CENT }, CENT],
  ["the least amount in two parts", { available: "0.005", trading: "0.005" }, CENT],
  ["a remainder held by an order", { trading: "0.001" }, "0.001"],
  ["a remainder held by a conversion", { pending: "0.001" }, "0.001"],
])("a profile that has %s is empty, or the rejection names the amount", async (_name, parts, held) => {
  const profile = profileOf(acme);
  const catalogue = { listAssets: () => [{ code: USD, kind: "fiat", precision: 2 }] };
  const database = { rows: async () => [{ ...home, customer_id: acme, last_deactivation: "0" }] };
  const all = { database: database as never, catalogue: catalogue as never, ids: new IdSource() };
  const { decide } = await deactivateCommand(all, acme, profile.id, TESTER);
  const rows = [profileRow(profile), profileRow(home), accountRow(profile, USD, parts), accountRow(home, USD, {})];
  const decision = decide(stateOf(...rows), NOW);
  if (held !== undefined) {
    const amount = amountOf(held);
    expect(decision).toEqual({
      kind: "rejected",
      rejection: { code: "profile_not_empty", profileId: profile.id, because: "holds_money", asset: USD, amount },
    });
    return;
  }
  const moved = parts.available === undefined ? [] : [amountOf(`-${parts.available}`), amountOf(parts.available)];
  expect(decision.kind === "done" && decision.changes.journals?.flatMap(({ entries }) => entries)).toEqual(
    moved.map((amount, i) => entry([profile.id, home.id][i] as ProfileId, USD, amount)),
  );
});
